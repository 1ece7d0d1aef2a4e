// SPDX-License-Identifier: Apache-2.0
// A launch on the grid model instead of the interpreter: one workgroup measured on the cycle model, all
// others by their addresses.
#pragma once

#include "sim/dispatch.hpp"
#include "sim/engine.hpp"

namespace zyfa::sim::timing {

/// Fills in cycles, seconds, clock, load, the measured workgroup's report and the grid's. Outputs hold no
/// results afterwards.
LaunchResult time_grid(const Dispatch& dispatch, const Memory& memory, const Launch& launch,
                       unsigned per_unit);

} // namespace zyfa::sim::timing
