// SPDX-License-Identifier: Apache-2.0
// Which instructions are measured, how, and what the numbers mean.
#pragma once

#include <string>
#include <vector>

#include "cli/microbench_kernels.hpp"

namespace zyfa::cli::microbench {

enum class Operands { zeros, gaussian_e4m3, gaussian_bf16, random_bits };

/// How a case's number comes from the waves' times.
enum class Measure {
    cost,     ///< cycles of a pipe per instruction: two waves issue independent copies
    cycles,   ///< cycles per instruction of one wave (latency of dependent ones)
    port,     ///< LDS port cycles per instruction: four waves on two ports
    slowdown, ///< time of the second role's waves beside the first over their time alone
    clock,    ///< shader clock in GHz that the device settles at
};

struct Case {
    std::string group, name;
    Measure measure = Measure::cost;
    Kernel kernel;
    Operands operands = Operands::gaussian_e4m3;
    unsigned lds_pitch = 4; ///< bytes between the addresses of neighbouring lanes
};

std::vector<Case> all_cases();

} // namespace zyfa::cli::microbench
