// SPDX-License-Identifier: Apache-2.0
// A launch on the grid model: one workgroup measured on the cycle model, all others by their addresses.
#pragma once

#include <cstdint>

#include "sim/dispatch.hpp"
#include "sim/engine.hpp"
#include "sim/timing/line_stream.hpp"
#include "sim/timing/report.hpp"

namespace zyfa::sim::timing {

/// What a timed run of one workgroup leaves for the grid model.
struct MeasuredWorkgroup {
    const TimingReport& report;
    const LineStream& lines;        ///< what it asked memory for
    std::uint64_t instructions = 0; ///< of all its waves
    double estimate = 0;            ///< its cycles by the cost model
};

/// After a launch has run: its cycles with L2 misses, the Infinity Cache's and HBM's bandwidth over its
/// cycles without. 1 where the kernel cannot be cut down to its addresses: it must not run again for them.
double memory_stretch(const Dispatch& dispatch, const Memory& memory, const MeasuredWorkgroup& measured,
                      unsigned per_unit);

/// In place of running a launch; one of a short burst, whose clock is still the maximum when memory's
/// bandwidth is counted in cycles (the paper's kernel-only timing, Section V-B). Fills in cycles, seconds,
/// clock, load, the measured workgroup's report and the grid's. Outputs hold no results afterwards.
LaunchResult time_grid(const Dispatch& dispatch, const Memory& memory, const Launch& launch,
                       unsigned per_unit);

} // namespace zyfa::sim::timing
