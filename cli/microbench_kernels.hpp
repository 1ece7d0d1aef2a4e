// SPDX-License-Identifier: Apache-2.0
// Code objects of our own that measure single instructions, as the paper does (arXiv 2611.07496, Sections
// III-A and III-C): loops over a fixed block of instructions between two readings of s_memtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zyfa::cli::microbench {

/// What the waves of one SIMD execute: a block of instructions, `repeats` times. An empty block: the wave
/// ends at once.
struct Role {
    std::string block;
    std::uint32_t instructions = 0; ///< in the block
    std::uint32_t repeats = 0;
};

/// One workgroup of eight waves: waves 0 to 3 have the first role, waves 4 to 7, which share their SIMDs, the
/// second.
struct Kernel {
    std::string name;
    Role first, second;
};

/// Registers that blocks may count on: v[64:127] operands from memory (16 dwords of four sets that follow
/// each other for every lane), v8 an LDS address (the lane's, from memory), v[10:63] and v[128:255] for
/// results, s[20:21] the address of a line of zeros, LDS of 96 KiB.
std::string assembly(const Kernel& kernel);

/// `copies` instructions made from a pattern: {d} becomes a destination, {a} and {b} operands, all of `words`
/// registers and changing from copy to copy (`fixed`: operands stay).
Role independent(const std::string& pattern, unsigned words, std::uint32_t copies, std::uint32_t repeats,
                 bool fixed = false);

inline constexpr std::uint32_t operand_bytes_per_lane = 256, operand_bytes = 64 * operand_bytes_per_lane;

/// What each wave leaves behind: s_memtime before and after, s_memrealtime before and after.
struct WaveTimes {
    std::uint64_t begin = 0, end = 0, real_begin = 0, real_end = 0;
};
inline constexpr unsigned waves = 8;

} // namespace zyfa::cli::microbench
