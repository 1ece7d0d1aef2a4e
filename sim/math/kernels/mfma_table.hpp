// SPDX-License-Identifier: Apache-2.0
// Rows of the matrix operation tables.
#pragma once

#include "sim/math/kernels/broadcast.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// A W x W x K operation of `Blocks` blocks with operand elements of BitsA and BitsB. Passes: LLVM
/// SISchedule.td for gfx950 (ReleaseAtCycle of the XDL and MAI write resources).
template <MfmaFunction kernel, int W, int Blocks, int K, int BitsA, int BitsB = BitsA, int BitsD = 32>
constexpr MfmaOp dense_row(std::string_view mnemonic, int passes, bool xdl = true) {
    constexpr int registers_a = Blocks * W * K * BitsA / 32 / 64,
                  registers_b = Blocks * W * K * BitsB / 32 / 64;
    MfmaOp op{mnemonic,
              with_broadcast<kernel, W, Blocks, registers_a, registers_b>,
              W,
              W,
              K,
              static_cast<std::uint8_t>(passes),
              Blocks * W * W * BitsD / 32 / 64};
    op.xdl = xdl;
    op.a_registers = registers_a;
    op.b_registers = registers_b;
    return op;
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
