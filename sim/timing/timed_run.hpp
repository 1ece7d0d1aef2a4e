// SPDX-License-Identifier: Apache-2.0
// Runs one workgroup instruction by instruction in the order in which the compute-unit model issues them.
#pragma once

#include <atomic>

#include "sim/timing/report.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim::timing {

struct TimedRunOptions {
    Parameters parameters;
    bool keep_events = false;
    std::uint64_t instruction_limit = ~0ull; ///< per wave; beyond: FaultError "hang"
    const std::atomic<bool>* stop = nullptr; ///< as DeviceConfig::stop
    Cycle cycle_limit = ~0ull;               ///< where to stop; the report then covers the time up to there
    double clock_ghz = 2.4;                  ///< what s_memrealtime counts 100 MHz against
};

/// Executes the workgroup to its end (or the cycle limit), alone on a compute unit. Functional results are
/// those of an untimed run. FaultError as from run_workgroup; group.next_wave is then the wave at fault.
TimingReport run_timed(Workgroup& group, ThreadContext& thread, const TimedRunOptions& options);

} // namespace zyfa::sim::timing
