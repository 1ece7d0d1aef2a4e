// SPDX-License-Identifier: Apache-2.0
// What the templates of the forward kernels share: which problems they serve, the schedule space of the
// common flow, launch plans.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "templates/asm/kernel_file.hpp"
#include "templates/attention/options.hpp"
#include "templates/template.hpp"

namespace zyfa::templates {

class ForwardTemplate : public Template {
  public:
    struct Shape {
        DType dtype = DType::bf16;
        unsigned dim_qk = 128, dim_v = 128, element_bytes = 2;
        std::string dimensions; ///< for people
        const char* symbol;     ///< in the kernel's name: "bf16"
        unsigned block_bits;    ///< log2 of the keys of a block
    };

    std::string_view name() const override { return name_; }
    std::string_view description() const override { return description_; }
    bool serves(const Problem& problem, std::string* why) const override;
    std::vector<ParameterSpec> space(const Problem& problem) const override;
    Schedule default_schedule(const Problem& problem) const override;
    std::optional<std::string> reject(const Problem& problem, const Schedule& schedule) const override;
    Kernel instantiate(const ProblemClass& problem_class, const Schedule& schedule) const override;
    LaunchPlan plan(const Problem& problem, const Schedule& schedule,
                    const DeviceShape& device) const override;

  protected:
    ForwardTemplate(Shape shape, std::string name, std::string description, std::span<const double> taus)
        : shape_(std::move(shape)), name_(std::move(name)), description_(std::move(description)),
          taus_(taus) {}

    /// The kernel's own parameters, put before the common ones.
    virtual std::vector<ParameterSpec> own_space(const Problem&) const { return {}; }
    /// What the lazy rescale's threshold may be with the template's default values.
    virtual ParameterSpec::Range tau_range(const Problem& problem) const = 0;
    /// Bounds of the continuous parameters. All values are present and numbers.
    virtual std::optional<std::string> reject_values(const Schedule& schedule) const = 0;
    virtual isa::KernelFile make_file(const std::string& symbol, const attention::ForwardOptions& options,
                                      const Schedule& schedule, std::vector<std::string> heading) const = 0;

  private:
    std::string kernel_name(const ProblemClass& c) const;
    attention::ForwardOptions options_of(const ProblemClass& c, const Schedule& schedule) const;

    Shape shape_;
    std::string name_, description_;
    std::span<const double> taus_; ///< the default first
};

} // namespace zyfa::templates
