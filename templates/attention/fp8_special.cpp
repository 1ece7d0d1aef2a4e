// SPDX-License-Identifier: Apache-2.0
// nan_exact: NaN in V where some rows of the wave do not see the key. Their probability is 0, and the matrix
// unit would make 0 * NaN = NaN of it. e4m3 has no Inf (OCP 8-bit floating point specification).
#include "templates/attention/fp8_blocks.hpp"

#include <array>

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

namespace {

/// Where the search for NaN in V leaves its products.
VReg found(const Fp8Kernel& k) {
    return k.v.t.sub(0, 4);
}

/// Products of all V fragments with zeros and ones, in whatever order: a NaN among them makes one in the sum.
/// They cost the vector pipe nothing, and the other wave, whose matrix phase is shorter than the softmax
/// phase of a masked block, a quarter of a matrix phase.
void emit_search(Emitter& e, const Fp8Kernel& k) {
    e.s_setprio(2, "above the other wave's matrix phase");
    for (unsigned i = 0; i < k.geometry.pv_products(); ++i)
        e.mfma(mfma_16x16x128_fp8_fp4, found(k), k.v.fragment(i), k.v.selector,
               i == 0 ? Source(0) : Source(found(k)), i == 0 ? "any NaN in V?" : "");
    e.s_setprio(k.options.softmax_priority());
}

/// Scores of unseen keys in one tile of 32 = -inf, where rows differ. mask: 8 SGPRs.
void emit_mask_tile(Emitter& e, const Fp8Kernel& k, unsigned tile, VReg limit, VReg hidden, SReg mask) {
    constexpr unsigned group = 4; // compares ahead of their selects: the masks go through scalar registers
    const VReg s = k.v.scores(tile);
    for (unsigned first = 0; first < s.count; first += group) {
        for (unsigned r = first; r < first + group; ++r)
            e.v_cmp("le_i32", mask.sub(2 * (r % group), 2), 32 * (tile % 2) + score_key(r), limit);
        for (unsigned r = first; r < first + group; ++r)
            e.v_cndmask_b32(s[r], hidden, s[r], mask.sub(2 * (r % group), 2));
    }
}

} // namespace

void emit_mask(Emitter& e, const Fp8Kernel& k) {
    const WorkRegisters& w = k.work;
    if (k.options.nan_exact && k.options.causal)
        emit_search(e, k);
    const VReg limit = k.v.t[4], far_limit = k.v.factor, hidden = k.v.t[5];
    const SReg lowest = w.scratch[2], highest = w.scratch[3];
    emit_visible_limit(e, k, limit, w.scratch.sub(0, 2));
    e.remark("keys, counted from the block's first, that the wave's first and last row see up to");
    if (k.options.causal) {
        e.s_min_i32(lowest, w.scratch[0], w.scratch[1]);
        e.s_add_i32(highest, w.scratch[1], G::rows - 1);
        e.s_min_i32(highest, w.scratch[0], highest);
    } else {
        e.s_mov_b32(lowest, w.scratch[0]);
        e.s_mov_b32(highest, w.scratch[0]);
    }
    e.v_mov_b32(hidden, Literal{0xff800000});
    e.v_subrev_u32(far_limit, 64, limit, "the compared key stays an inline constant");
    // Tiles that all rows see come first, then those that the mask cuts (two at most), then those that none
    // sees.
    for (unsigned tile = G::key_tiles - 1; tile > 0; --tile) {
        e.s_cmp("ge_i32", lowest, 32 * tile - 1);
        e.s_cbranch_scc1(".Lmask_from_" + std::to_string(tile));
    }
    for (unsigned tile = 0; tile < G::key_tiles; ++tile) {
        if (tile > 0)
            e.label(".Lmask_from_" + std::to_string(tile));
        if (tile > 0) {
            e.s_cmp("lt_i32", highest, 32 * tile);
            e.s_cbranch_scc1(".Lhide_from_" + std::to_string(tile));
        }
        emit_mask_tile(e, k, tile, tile < 2 ? limit : far_limit, hidden, w.scratch.sub(4, 8));
    }
    e.s_branch(".Lmasked");
    for (unsigned tile = 1; tile < G::key_tiles; ++tile) {
        e.label(".Lhide_from_" + std::to_string(tile));
        for (unsigned r = 0; r < 16; ++r)
            e.v_mov_b32(k.v.scores(tile)[r], hidden);
    }
    e.label(".Lmasked");
}

void emit_find_special(Emitter& e, const Fp8Kernel& k) {
    const VReg sum = found(k), any = k.v.t[4];
    e.v_maximum3_f32(any, sum[0], sum[1], sum[2]);
    e.v_maximum3_f32(any, any, sum[3], sum[3]);
    e.v_cmp("u_f32", vcc, any, any);
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
