// SPDX-License-Identifier: Apache-2.0
// A schedule template turns (problem class, schedule) into a Kernel, and (problem, schedule, device shape)
// into a LaunchPlan. It does not know how a kernel is assembled or timed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.hpp"
#include "core/schedule.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::templates {

/// Layout version of the kernel-argument block that all attention kernels share; part of a binary's identity.
inline constexpr std::uint32_t kernarg_abi = 1;

/// Assembly text and what a launch must know of it.
struct Kernel {
    std::string name;     ///< symbol; stable, says what it is: "zyfa_fwd_bf16_d128_causal"
    std::string assembly; ///< complete file for the LLVM assembler, with comments
    std::string target = "gfx950";
    std::uint32_t workgroup_size = 512, lds_bytes = 0, vgprs = 0, agprs = 0, sgprs = 0, kernarg_bytes = 0;
};

/// What a 4- or 8-byte slot of the kernel-argument block takes from each call.
enum class KernargField : std::uint8_t { q, k, v, o, lse, score_scale, output_scale, workspace, counters };
struct KernargPatch {
    KernargField field;
    std::uint16_t offset;
};

/// Launch of one kernel for one exact problem: constants filled in, what varies per call listed as patches.
/// score_scale is softmax_scale * q_descale * k_descale * log2(e) as float; output_scale is v_descale as
/// float.
struct LaunchPlan {
    std::string kernel;
    std::array<std::uint32_t, 3> grid{1, 1, 1};  ///< workgroups
    std::array<std::uint32_t, 3> block{1, 1, 1}; ///< work-items
    std::uint32_t dynamic_lds = 0;
    std::vector<std::byte> kernarg;
    std::vector<KernargPatch> patches;

    /// Device memory that no other launch under way may share, where keys are split; otherwise 0. The
    /// workspace may hold anything. The counters must be 0, and are 0 again when the launch has ended.
    std::uint64_t workspace_bytes = 0, counter_bytes = 0;
};

struct DeviceShape {
    std::uint32_t compute_units = 256, xcds = 8, lds_bytes = 163840;
};

/// One axis of a template's schedule space: a switch, a categorical value, a count, or a number of a range.
struct ParameterSpec {
    struct Range {
        double low, high;
    };

    std::string name, description;
    std::vector<ParameterValue> grid; ///< named values to choose from, the default first
    bool changes_bits = false;        ///< whether output bits may depend on it (tau: yes; chiplet map: no)
    /// Continuous: every number of the range is a legal value, on the grid or off it, as far as reject() lets
    /// it go with the other parameters.
    std::optional<Range> range{};
};

class Template {
  public:
    virtual ~Template() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view description() const = 0;
    /// Whether this template computes the problem; if not, `why` says what would be accepted.
    virtual bool serves(const Problem& problem, std::string* why = nullptr) const = 0;
    virtual std::vector<ParameterSpec> space(const Problem& problem) const = 0;
    virtual Schedule default_schedule(const Problem& problem) const = 0;
    /// Reason why a schedule is not allowed (tau out of range, ...), checked before assembling; nullopt:
    /// allowed.
    virtual std::optional<std::string> reject(const Problem& problem, const Schedule& schedule) const = 0;
    virtual Kernel instantiate(const ProblemClass& problem_class, const Schedule& schedule) const = 0;
    virtual LaunchPlan plan(const Problem& problem, const Schedule& schedule,
                            const DeviceShape& device) const = 0;
};

/// All templates of this build.
std::span<const Template* const> all_templates();
/// The template that serves the problem; throws Error{unsupported} naming the argument and what is accepted.
const Template& template_for(const Problem& problem);
const Template& template_named(std::string_view name); ///< throws Error{invalid_argument}
/// Cartesian product of the space, the default schedule first, rejected points left out.
std::vector<Schedule> enumerate(const Template& t, const Problem& problem);

} // namespace zyfa::templates
