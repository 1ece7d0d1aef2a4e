// SPDX-License-Identifier: Apache-2.0
// Matrix instructions: registers to sim/math's micro-kernels. EXEC is ignored (CDNA4 ISA, MFMA).
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>

namespace zyfa::sim {

void execute_matrix(Wave& w, const Instruction& i) {
    MfmaCall call;
    const auto registers = [&](const Operand& o) -> const std::uint32_t* {
        return (o.kind == OperandKind::lanes ? w.pool : w.v) + o.value;
    };
    call.d = w.v + i.dst.value;
    call.a = registers(i.src[0]);
    call.b = registers(i.src[1]);
    if (i.mfma->sparse) {
        call.index = registers(i.src[2]);
        call.c = call.d;
    } else if (i.src[2].kind == OperandKind::vgpr) {
        call.c = registers(i.src[2]);
    } else {
        call.c_constant = i.src[2].value;
    }
    if (i.mfma->scaled) {
        call.scale_a = registers(i.src[3]);
        call.scale_b = registers(i.sdst);
        call.scale_byte_a =
            static_cast<std::uint8_t>((i.modifiers.op_sel_hi & 1) << 1 | (i.modifiers.op_sel & 1));
        call.scale_byte_b =
            static_cast<std::uint8_t>((i.modifiers.op_sel_hi & 2) | (i.modifiers.op_sel >> 1 & 1));
    }
    call.cbsz = i.control & 0xff;
    call.abid = i.control >> 8 & 0xff;
    call.blgp = i.control >> 16 & 0xff;
    call.denorm32 = w.mode.denorm32;
    if ((i.flags & flag::copy_sources) != 0) {
        std::uint32_t* a = w.thread->temporary[0];
        std::copy_n(call.a, i.src[0].words * lanes, a);
        call.a = a;
        std::uint32_t* b = w.thread->temporary[1];
        std::copy_n(call.b, i.src[1].words * lanes, b);
        call.b = b;
        if (call.c != nullptr && call.c != call.d) {
            std::uint32_t* c = w.thread->temporary[2];
            std::copy_n(call.c, i.dst.words * lanes, c);
            call.c = c;
        }
    }
    i.function.mfma(call);
}

} // namespace zyfa::sim
