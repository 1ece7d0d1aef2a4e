// SPDX-License-Identifier: Apache-2.0
// Templates bf16_fwd_d128 and bf16_fwd_d192: the paper's BF16 kernels (Sections IV-A, IV-D).
#include "templates/bf16_fwd.hpp"

#include <array>
#include <utility>

#include "templates/attention/bf16_kernel.hpp"
#include "templates/forward_template.hpp"

namespace zyfa::templates {

namespace {

/// The paper's thresholds come first (Section IV-A): 0.5 at dimension 128, 8 at 192.
constexpr std::array<double, 6> tau_grid_d128{0.5, 0.0, 1.0, 2.0, 4.0, 8.0},
    tau_grid_d192{8.0, 0.0, 0.5, 1.0, 2.0, 4.0};

constexpr std::array<std::pair<const char*, attention::Bf16Pipeline>, 2> pipelines{
    {{"two_phase", attention::Bf16Pipeline::two_phase},
     {"eight_stage", attention::Bf16Pipeline::eight_stage}}};

class Bf16Forward final : public ForwardTemplate {
  public:
    Bf16Forward(const attention::Bf16Geometry& geometry, std::string name, const std::string& dimensions,
                std::span<const double> taus)
        : ForwardTemplate({DType::bf16, geometry.dim_qk, geometry.dim_v, 2, "BF16, " + dimensions, "bf16", 6},
                          std::move(name),
                          "BF16 forward, " + dimensions +
                              ": 8-wave ping-pong, 64-key blocks of K and V through LDS",
                          taus),
          geometry_(geometry) {}

  protected:
    /// Probabilities exceed 1 by up to 2^tau. BF16 and FP32 share their exponent range; 2^64 leaves 2^63 for
    /// the sum over keys.
    std::vector<ParameterSpec> own_space(const Problem&) const override {
        if (geometry_.dim_qk == 128)
            return {};
        ParameterSpec pipeline{
            "pipeline",
            "order of a block's work: a matrix phase and a softmax phase, or four memory and "
            "four compute stages (paper Section IV-D)",
            {},
            false};
        for (const auto& [text, value] : pipelines)
            pipeline.grid.emplace_back(std::string(text));
        return {pipeline};
    }
    ParameterSpec::Range tau_range(const Problem&) const override { return {0, 64}; }
    std::optional<std::string> reject_values(const Schedule& schedule) const override {
        const double value = schedule.number("tau");
        if (!(value >= 0 && value <= 64))
            return "tau is " + to_string(schedule.parameters.at("tau")) + "; accepted: 0 to 64";
        return std::nullopt;
    }
    isa::KernelFile make_file(const std::string& symbol, const attention::ForwardOptions& options,
                              const Schedule& schedule, std::vector<std::string> heading) const override {
        auto pipeline = attention::Bf16Pipeline::two_phase;
        for (const auto& [text, value] : pipelines)
            if (schedule.parameters.contains("pipeline") && schedule.text("pipeline") == text)
                pipeline = value;
        return attention::make_bf16_kernel(symbol, geometry_, options, pipeline, std::move(heading));
    }

  private:
    attention::Bf16Geometry geometry_;
};

} // namespace

const Template& bf16_fwd_d128() {
    static const Bf16Forward instance(attention::bf16_d128, "bf16_fwd_d128", "head dimension 128",
                                      tau_grid_d128);
    return instance;
}

const Template& bf16_fwd_d192() {
    static const Bf16Forward instance(attention::bf16_d192, "bf16_fwd_d192",
                                      "query-key dimension 192, value dimension 128", tau_grid_d192);
    return instance;
}

} // namespace zyfa::templates
