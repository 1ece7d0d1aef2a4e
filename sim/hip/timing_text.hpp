// SPDX-License-Identifier: Apache-2.0
// Timing reports of a launch as text, with the disassembly of the code object it ran.
#pragma once

#include <string>

#include "sim/hip/device.hpp"

namespace zyfa::sim::hip {

std::string timing_json(const LastLaunch& launch, bool instructions);
std::string grid_json(const LastLaunch& launch);
std::string perfetto_trace(const LastLaunch& launch);
/// SVG of SIMD 0 in a window; begin below 0: around the barrier in the middle.
std::string picture(const LastLaunch& launch, long long begin, unsigned long long cycles);
/// The code of the first timed workgroup with counts and stalls beside it.
std::string listing(const LastLaunch& launch);

} // namespace zyfa::sim::hip
