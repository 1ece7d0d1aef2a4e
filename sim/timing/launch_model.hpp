// SPDX-License-Identifier: Apache-2.0
// From measured workgroups to the time of a launch: which share a compute unit, which wait for one, and at
// what clock.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/engine.hpp"
#include "sim/timing/report.hpp"

namespace zyfa::sim::timing {

struct LaunchTime {
    double cycles = 0;
    double clock_ghz = 0;
    double load = 0;   ///< of the current limit at the maximum clock (clock_model.hpp)
    Activity activity; ///< of the average SIMD of the device over the launch
};

/// `estimates`: cycles of every workgroup by the cost model, in linear order; replaced by what the
/// reports measured, or scaled as the measured ones turned out against their estimates. `per_unit`:
/// workgroups that fit a compute unit. `memory_stretch`: times as long for waits on memory that the reports
/// do not hold (grid_launch.hpp). Needs at least one report.
LaunchTime model_launch(std::span<double> estimates,
                        std::span<const std::shared_ptr<const TimingReport>> reports,
                        const DeviceConfig& device, unsigned per_unit, double memory_stretch = 1);

} // namespace zyfa::sim::timing
