// SPDX-License-Identifier: Apache-2.0
// The cbsz, abid and blgp modifiers of matrix instructions (AMD lab notes "AMD matrix cores"; CDNA3 ISA, MAI
// modifiers): A blocks shared within groups of 2^cbsz, B lanes swapped in groups of 16.
#pragma once

#include "sim/math/kernels/kernels.hpp"
#include "sim/math/kernels/lanes.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Lane whose A operand lane `lane` uses: of every 2^cbsz consecutive blocks all take block abid of the
/// group.
template <int W, int Blocks>
ZYFA_SIM_INLINE unsigned a_source(unsigned lane, unsigned cbsz, unsigned abid) {
    const unsigned block = lane / W % Blocks, group = 1u << cbsz;
    const unsigned source = (block & ~(group - 1)) + (abid & (group - 1));
    return lane + (source % Blocks - block) * W;
}
/// Lane whose B operand lane `lane` uses.
ZYFA_SIM_INLINE unsigned b_source(unsigned lane, unsigned blgp) {
    switch (blgp) {
    case 1:
    case 2:
        return lane % 32 + 32 * (blgp - 1);
    case 3:
        return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
        return lane % 16 + 16 * (blgp - 4);
    default:
        return lane;
    }
}

/// Runs `kernel` on permuted copies of the operands where a modifier is set.
template <MfmaFunction kernel, int W, int Blocks, int RegistersA, int RegistersB>
void with_broadcast(const MfmaCall& call) {
    const bool permute_a = Blocks > 1 && call.cbsz != 0;
    if (!permute_a && call.blgp == 0)
        return kernel(call);
    MfmaCall permuted = call;
    std::uint32_t a[RegistersA * lanes], b[RegistersB * lanes];
    if (permute_a) {
        for (unsigned word = 0; word < RegistersA * lanes; ++word)
            a[word] = call.a[word / lanes * lanes + a_source<W, Blocks>(word % lanes, call.cbsz, call.abid)];
        permuted.a = a;
    }
    if (call.blgp != 0) {
        for (unsigned word = 0; word < RegistersB * lanes; ++word)
            b[word] = call.b[word / lanes * lanes + b_source(word % lanes, call.blgp)];
        permuted.b = b;
    }
    kernel(permuted);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
