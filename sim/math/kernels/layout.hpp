// SPDX-License-Identifier: Apache-2.0
// Where matrix elements lie in registers (CDNA4 ISA, "Matrix Arithmetic Instructions"; AMD's matrix-core blog
// post; HipKittens and AITER kernels agree). Lane l of a shape with W rows (or columns) and B blocks:
//   row or column i = l % W, block = (l / W) % B, group g = l / (W * B), 64 / (W * B) groups in all.
#pragma once

#include "sim/math/kernels/decode.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Element e of a lane's operand registers, at lane offset `lane`.
template <int Bits>
ZYFA_SIM_INLINE std::uint32_t element(const std::uint32_t* regs, int e, int lane) {
    const int bit = e * Bits, reg = bit / 32, shift = bit % 32;
    const std::uint32_t low = regs[reg * 64 + lane] >> shift;
    if constexpr (32 % Bits == 0)
        return low;
    else // six-bit fields cross registers
        return shift + Bits <= 32 ? low : low | regs[(reg + 1) * 64 + lane] << (32 - shift);
}

/// k of element e in group g: E consecutive k per lane.
template <int E>
struct Contiguous {
    static constexpr int k(int g, int e) { return E * g + e; }
};
/// FP8 and BF8 operands of f8f6f4: two chunks of 16 bytes, each chunk spread over all groups.
template <int Groups>
struct Chunked {
    static constexpr int k(int g, int e) { return 16 * Groups * (e / 16) + 16 * g + e % 16; }
};

/// Decodes an A (or B) operand to out[block][k][row (column)], E elements a lane.
template <class Format, int W, int Blocks, int K, class KMap>
void decode_operand(const std::uint32_t* regs, double* out) {
    constexpr int groups = 64 / (W * Blocks), per_lane = K / groups;
    constexpr std::uint32_t mask = Format::bits == 32 ? ~0u : (1u << Format::bits % 32) - 1;
    for (int e = 0; e < per_lane; ++e)
        for (int chunk = 0; chunk < 64 / W; ++chunk) {
            double* row = out + ((chunk % Blocks) * K + KMap::k(chunk / Blocks, e)) * W;
            const int lane = chunk * W;
            for (int i = 0; i < W; ++i)
                row[i] =
                    static_cast<double>(Format::to_float(element<Format::bits>(regs, e, lane + i) & mask));
        }
}

/// C and D with 32-bit elements: four consecutive rows share a register group. First register and first lane
/// of rows 4*row_block..+3, column 0.
template <int W>
struct Accumulator {
    static constexpr int reg(int block, int row_block) {
        return W == 32 ? 16 * block + 4 * (row_block / 2) : W == 16 ? 4 * block : 0;
    }
    static constexpr int lane(int block, int row_block) {
        return W == 32 ? 32 * (row_block % 2) : W == 16 ? 16 * row_block : 4 * block;
    }
};

} // namespace zyfa::sim::ZYFA_SIM_ISA
