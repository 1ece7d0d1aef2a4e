// SPDX-License-Identifier: Apache-2.0
// A picture of a window of one SIMD's time, in the manner of the paper's Figures 2 and 7: what its waves do,
// and which pipes are busy.
#pragma once

#include <string>

#include "sim/timing/report.hpp"

namespace zyfa::sim::timing {

/// Events of SIMD 0 in [begin, begin + cycles). Needs events.
std::string to_svg(const TimingReport& report, Cycle begin, Cycle cycles);

/// Where a window shows the steady state: the barrier in the middle of the run (or its middle).
Cycle middle(const TimingReport& report);

} // namespace zyfa::sim::timing
