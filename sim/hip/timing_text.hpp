// SPDX-License-Identifier: Apache-2.0
// Timing reports of a launch as text, with the disassembly of the code object it ran.
#pragma once

#include <string>

#include "sim/hip/device.hpp"

namespace zyfa::sim::hip {

std::string timing_json(const LastLaunch& launch, bool instructions);
std::string perfetto_trace(const LastLaunch& launch);

} // namespace zyfa::sim::hip
