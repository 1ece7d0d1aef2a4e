// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/toggles.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace zyfa::sim::timing {

MatrixKind matrix_kind(const Instruction& mfma) {
    const MfmaOp& op = *mfma.mfma;
    const bool wide = op.m == 32;
    if (op.f8f6f4) {
        constexpr unsigned fp6 = 2; // formats 0 and 1 are FP8 and BF8 (CDNA4 ISA, CBSZ and BLGP)
        const bool narrow = (mfma.control & 0xff) >= fp6 && (mfma.control >> 16 & 0xff) >= fp6;
        return narrow ? MatrixKind::fp4_16x16 : wide ? MatrixKind::fp8_32x32 : MatrixKind::fp8_16x16;
    }
    if (op.mnemonic.ends_with("bf16") || op.mnemonic.ends_with("_f16"))
        return wide ? MatrixKind::bf16_32x32 : MatrixKind::bf16_16x16;
    return MatrixKind::other;
}

void ToggleMeter::see(const Wave& wave, const Instruction& mfma) {
    Operands& last = last_[wave.id % 4];
    const unsigned kind = static_cast<unsigned>(matrix_kind(mfma));
    for (unsigned n = 0; n < 2; ++n) {
        const Operand& operand = mfma.src[n];
        if (operand.kind != OperandKind::vgpr)
            continue;
        const unsigned words = std::min<unsigned>(operand.words, 8);
        const std::uint32_t* now = wave.v + operand.value;
        std::uint32_t* before = last.bits[n];
        if (last.seen) {
            std::uint64_t changed = 0;
            for (unsigned at = 0; at < words * lanes; at += 2) {
                std::uint64_t a, b;
                std::memcpy(&a, now + at, sizeof a);
                std::memcpy(&b, before + at, sizeof b);
                changed += static_cast<unsigned>(std::popcount(a ^ b));
            }
            changed_[kind] += changed;
            compared_[kind] += std::uint64_t{words} * lanes * 32;
        }
        std::memcpy(before, now, sizeof(std::uint32_t) * words * lanes);
    }
    last.seen = true;
}

std::array<double, matrix_kinds> ToggleMeter::shares() const {
    std::array<double, matrix_kinds> shares{};
    for (unsigned kind = 0; kind < matrix_kinds; ++kind)
        if (compared_[kind] != 0)
            shares[kind] = static_cast<double>(changed_[kind]) / static_cast<double>(compared_[kind]);
    return shares;
}

} // namespace zyfa::sim::timing
