// SPDX-License-Identifier: Apache-2.0
// nan_exact: NaN in V where some rows of the wave do not see the key. Their probability is 0, and the matrix
// unit would make 0 * NaN = NaN of it. e4m3 has no Inf (OCP 8-bit floating point specification).
#include "templates/attention/fp8_blocks.hpp"

#include <array>

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

void emit_find_special(Emitter& e, const Fp8Kernel& k) {
    const VReg a = k.v.t[0], any = k.v.t[1];
    const VReg f = k.v.fragments.sub(0, 8 * k.geometry.pv_products());
    const SReg magnitude = k.work.scratch[1], one = k.work.scratch[2];
    e.s_mov_b32(magnitude, Literal{0x7f7f7f7f});
    e.s_mov_b32(one, Literal{0x01010101});
    e.v_mov_b32(any, 0);
    for (unsigned r = 0; r < f.count; ++r) {
        e.v_and_b32(a, magnitude, f[r], r == 0 ? "any NaN in V? Codes 0x7f and 0xff" : "");
        e.v_add_u32(a, one, a);
        e.v_or_b32(any, any, a);
    }
    e.v_and_b32(any, Literal{0x80808080}, any);
    e.v_cmp("ne_u32", vcc, 0, any);
    e.s_cmp("lg_u64", vcc, 0);
    e.s_cselect_b32(k.work.scratch[0], mode_special, 0);
    e.s_or_b32(k.wave.mode, k.wave.mode, k.work.scratch[0]);
}

namespace {

/// Replaces NaN in x (four e4m3) by 0; kind gets 1.0 where it was, else 0.
void emit_classify_value(Emitter& e, VReg x, VReg kind, SReg magnitude, SReg one, SReg code_one, SReg byte,
                         VReg t) {
    e.v_and_b32(t, magnitude, x);
    e.v_add_u32(t, one, t);
    e.v_lshrrev_b32(t, 7, t);
    e.v_and_b32(t, one, t, "1 where NaN");
    e.v_mul_lo_u32(kind, t, code_one);
    e.v_mul_lo_u32(t, t, byte);
    e.v_bfi_b32(x, t, 0, x);
}

} // namespace

void emit_pv_special(Emitter& e, const Fp8Kernel& k) {
    e.remark(
        "V with NaN replaced by 0 goes through the product as usual. Beside it, a product of where NaN was");
    e.remark("with which rows see the key counts, for each element of O, the visible ones.");
    const Fp8Registers& v = k.v;
    const SReg t = k.work.scratch, magnitude = t[4], one = t[5], code_one = t[6], byte = t[7],
               mask = t.sub(8, 2);
    const VReg limit = v.t[0], zero = v.t[1], a = v.t[2];
    // Gaps of P, 24 registers each: row sums, then operands "seen" of both halves, "kind" and constants in
    // the first, the count in the second.
    const std::array<VReg, 2> seen{v.gap(0).sub(0, 8), v.gap(1).sub(0, 8)};
    const VReg kind = v.gap(0).sub(8, 8), ones = v.gap(0).sub(16, 4), count = v.gap(1).sub(8, 16);
    emit_row_sums(e, k);
    emit_add_row_sums(e, k);
    emit_visible_limit(e, k, limit, t.sub(0, 2));
    e.s_mov_b32(magnitude, Literal{0x7f7f7f7f});
    e.s_mov_b32(one, Literal{0x01010101});
    e.s_mov_b32(code_one, 0x38, "e4m3 1.0");
    e.s_mov_b32(byte, Literal{0xff});
    e.remark("1.0 where the row sees the key: of four keys in a register the first ones");
    e.v_mov_b32(zero, 0);
    for (unsigned n = 0; n < 4; ++n)
        e.v_mov_b32(ones[n], Literal{0x38383838u >> (24 - 8 * n)});
    for (unsigned half = 0; half < G::halves; ++half) {
        for (unsigned r = 0; r < 8; ++r) {
            const VReg d = seen[half][r];
            e.v_mov_b32(d, zero);
            for (unsigned n = 0; n < 4; ++n) {
                e.v_cmp("le_i32", mask, 32 * (r / 4) + 8 * (r % 4) + n, limit);
                e.v_cndmask_b32(d, d, ones[n], mask);
            }
        }
        e.v_subrev_u32(limit, 64, limit);
    }
    const VReg nan = limit;
    e.v_mov_b32(nan, Literal{0x7fc00000});
    for (unsigned tile = 0; tile < k.geometry.column_tiles(); ++tile) {
        for (unsigned half = 0; half < G::halves; ++half) {
            const VReg fragment = v.fragment(half * k.geometry.column_tiles() + tile);
            for (unsigned r = 0; r < 8; ++r)
                emit_classify_value(e, fragment[r], kind[r], magnitude, one, code_one, byte, a);
            e.mfma(mfma_32x32x64_fp8, count, kind, seen[half], half == 0 ? Source(0) : Source(count),
                   "count visible NaN");
            e.mfma_scale(mfma_scale_32x32x64_fp8, v.output(tile), fragment, v.probabilities(half),
                         v.output(tile), v.scales, 2, v.scales, half, "O^T += 2^-o V^T P^T");
        }
        for (unsigned r = 0; r < 16; ++r) {
            e.v_cmp("neq_f32", vcc, 0, count[r]);
            e.v_cndmask_b32(v.output(tile)[r], v.output(tile)[r], nan, vcc,
                            "rows that see none keep every bit");
        }
    }
}

} // namespace zyfa::templates::attention
