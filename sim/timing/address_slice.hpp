// SPDX-License-Identifier: Apache-2.0
// A kernel reduced to what its memory addresses need: where it goes and what it loads, not what it computes.
//
// Kept are vector loads, barriers, branches, and, found by liveness, all that these need. A branch on a
// vector comparison of loaded data (a rescale that some rows call for) is replaced by the way that a measured
// workgroup took more often, and scalar registers are told that such comparisons hold for no lane. Whether
// the addresses are then those of the kernel is for the caller to check (grid_launch.cpp does). What was
// dropped leaves its pipes' occupancy behind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/instruction.hpp"
#include "sim/timing/report.hpp"

namespace zyfa::sim::timing {

struct AddressSlice {
    /// What one instruction of `code` stands for: itself and dropped ones of its basic block.
    struct Cost {
        std::uint32_t instructions = 0;
        std::array<std::uint32_t, pipes> cycles{};
    };
    std::vector<Instruction> code;
    std::vector<Cost> costs; ///< of code's instructions
    std::size_t entry = 0;   ///< in code
    std::string refused;     ///< why the kernel cannot be reduced; empty: it was
};

/// `entry`: index of the kernel's first instruction. `whole_waves`: no wave starts with lanes missing.
/// `measured`: how often branches were taken (TimingReport::profile).
AddressSlice address_slice(std::span<const Instruction> code, std::size_t entry, bool whole_waves,
                           const std::map<std::uint32_t, InstructionProfile>& measured);

} // namespace zyfa::sim::timing
