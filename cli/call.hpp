// SPDX-License-Identifier: Apache-2.0
// One attention call through the library, with its device buffers between guard bands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/inputs.hpp"
#include "zyfa/context.hpp"

namespace zyfa::cli {

struct CallRequest {
    Mode mode = Mode::tune;
    double budget_s = 3;
    std::uint32_t repeat = 0; ///< timed launches; 0: 1 where simulated, else 20
    std::function<void(const std::string&, std::size_t, std::size_t)> progress;
};

struct CallResult {
    DeviceSummary device;
    Problem problem; ///< canonical, as the library saw it
    Explanation explanation;
    Counters counters;
    double launch_ms = 0; ///< wall clock of the first call, to its end on the device
    double kernel_ms = 0; ///< device time, median of the timed launches
    std::vector<std::byte> o, lse;
    std::string
        guard_damage; ///< what was written outside of the outputs, or into the inputs; empty if nothing
};

CallResult run_call(const CommonOptions& common, const Inputs& inputs, const CallRequest& request);

/// "off", "replay", "tune", "must_hit".
Mode mode_named(const std::string& name);

} // namespace zyfa::cli
