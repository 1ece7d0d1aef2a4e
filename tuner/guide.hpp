// SPDX-License-Identifier: Apache-2.0
// The timing model as a guide: the simulator, beside whatever device a tuning measures on, times the
// candidates first, and those that it finds slow are not measured.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "tuner/search.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

/// Two candidates are each modelled with an error of `model_error` (timing.hpp): beyond twice that, one is
/// slower.
inline constexpr double guide_margin = 0.1;

struct Guidance {
    std::vector<double>
        ms;           ///< of each point, simulated; 0: rejected, or not reached; infinite: it cannot run
    std::string note; ///< on what the model ran
    std::size_t modelled = 0;
};

struct GuideInput {
    const runtime::DeviceInfo& device; ///< what the tuning measures on
    jit::Assembler& assembler;
    const templates::Template& form;
    const Problem& problem;
    const TuningInputs& inputs; ///< in the strides of the problem
    double budget_s = 0;        ///< of the whole tuning; the guide takes at most half of it
    std::function<bool()> go_on;
    std::function<void(const std::string& what, std::size_t done)> progress;
};

/// Times the points in their order on the simulator, one launch each. Large problems are cut
/// (representative.hpp); where heads or batch entries were left out, the modelled chip is made smaller by as
/// much, so that a compute unit has as much to do as on the whole one. Throws Error{no_device} where there is
/// no simulator.
Guidance model_times(const GuideInput& input, const std::vector<SearchPoint>& points);

/// Marks the points that the model puts more than `margin` behind its best as pruned (never the default),
/// and orders the rest by modelled time: the default, the model's best (as a hint), the others, those that it
/// has not timed, those that are pruned or rejected.
std::vector<SearchPoint> prune(std::vector<SearchPoint> points, const Guidance& guidance,
                               double margin = guide_margin);

} // namespace zyfa::tuner
