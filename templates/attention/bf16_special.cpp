// SPDX-License-Identifier: Apache-2.0
// nan_exact: Inf and NaN in V where some rows of the wave do not see the key. Their probability is 0, and the
// matrix unit would make 0 * NaN = NaN of it.
#include <array>

#include "templates/attention/bf16_blocks.hpp"
#include "templates/attention/bf16_stages.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

/// a = what v_pk_maximum3_f16 makes of the fragments f; it keeps NaN.
void emit_maximum_of(Emitter& e, VReg f, VReg a, VReg b) {
    e.v_pk_maximum3_f16(a, f[0], f[1], f[2], "any Inf or NaN in V?");
    e.v_pk_maximum3_f16(b, f[3], f[4], f[5]);
    for (unsigned r = 6; r < f.count; r += 2) {
        const VReg chain = r % 4 == 2 ? a : b;
        e.v_pk_maximum3_f16(chain, chain, f[r], f[r + 1]);
    }
    e.v_pk_maximum3_f16(a, a, b, b);
}

void emit_note_special(Emitter& e, const Bf16Kernel& k, VReg a, VReg b) {
    e.v_lshrrev_b32(b, 16, a);
    e.v_cmp("u_f16", vcc, a, b, "NaN in either half");
    e.s_cmp("lg_u64", vcc, 0);
    e.s_cselect_b32(k.work.scratch[0], mode_special, 0);
    e.s_or_b32(k.wave.mode, k.wave.mode, k.work.scratch[0]);
}

} // namespace

// Read as FP16, every non-finite BF16 number (exponent 255) is a NaN, and so are finite ones from 2^121 up;
// those take the slow way for nothing, which is as correct.

void emit_find_special(Emitter& e, const Bf16Kernel& k) {
    const VReg a = k.v.t[0], b = k.v.t[1];
    emit_maximum_of(e, k.v.fragments.sub(0, 4 * k.geometry.pv_products()), a, b);
    emit_note_special(e, k, a, b);
}

void emit_find_special(Emitter& e, const Bf16StageKernel& k) {
    const VReg a = k.v.t[0], b = k.v.t[1], first = k.v.t[2];
    const VReg f = k.v.fragments.sub(0, 4 * k.geometry.pv_products() / 2);
    emit_read_v_half(e, k, 0);
    emit_maximum_of(e, f, first, b);
    emit_read_v_half(e, k, 1);
    emit_maximum_of(e, f, a, b);
    e.v_pk_maximum3_f16(a, a, first, first);
    emit_note_special(e, k, a, b);
}

namespace {

/// Constants of both 16-bit halves, in scalar registers.
struct PackedConstants {
    SReg below_infinity, infinity, one, code_one, code_step;
    PackedConstants(Emitter& e, SReg t)
        : below_infinity(t[0]), infinity(t[1]), one(t[2]), code_one(t[3]), code_step(t[4]) {
        e.s_mov_b32(below_infinity, Literal{0x7f7f7f7f}, "largest finite BF16, twice");
        e.s_mov_b32(infinity, Literal{0x7f807f80});
        e.s_mov_b32(one, Literal{0x00010001});
        e.s_mov_b32(code_one, Literal{0x3f803f80}, "BF16 1.0");
        e.s_mov_b32(code_step, Literal{0x03800380}, "BF16 128.0 - BF16 1.0, as codes");
    }
};

/// Replaces Inf and NaN in x (two BF16) by 0 and says what was there: 1.0 for +Inf, 128.0 for -Inf, 129.0
/// (both) for NaN, else 0.
void emit_classify_value(Emitter& e, VReg x, VReg kind, const PackedConstants& c, VReg t) {
    const VReg magnitude = t[0], special = t[1], nan = t[2], negative = t[3];
    e.v_and_b32(magnitude, Literal{0x7fff7fff}, x);
    e.v_pk_sub_u16_clamp(special, magnitude, c.below_infinity);
    e.v_pk_min_u16(special, special, c.one, "1 where not finite");
    e.v_pk_sub_u16_clamp(nan, magnitude, c.infinity);
    e.v_pk_min_u16(nan, nan, c.one, "1 where NaN");
    e.v_pk_lshrrev_b16(negative, 15, x);
    e.v_and_or_b32(negative, special, negative, nan, "1 where -Inf or NaN");
    e.v_pk_mul_lo_u16(kind, special, c.code_one);
    e.v_pk_mad_u16(kind, negative, c.code_step, kind);
    e.v_add_u32(kind, nan, kind);
    e.v_pk_sub_i16(special, 0, special, "all ones where not finite");
    e.v_bfi_b32(x, special, 0, x);
}

} // namespace

namespace {

/// The parts of `width` registers move down by one place, the first one to the end.
void emit_rotate(Emitter& e, VReg registers, unsigned width, unsigned parts, VReg temporary) {
    for (unsigned i = 0; i < width; ++i) {
        e.v_mov_b32(temporary, registers[i]);
        for (unsigned part = 0; part + 1 < parts; ++part)
            e.v_mov_b32(registers[width * part + i], registers[width * (part + 1) + i]);
        e.v_mov_b32(registers[width * (parts - 1) + i], temporary);
    }
}

/// Where PV with special values finds its operands, and the registers it may use.
struct SpecialOperands {
    std::array<VReg, G::pv_steps> fragments; ///< V of a column tile, one per 16 keys
    std::array<VReg, G::pv_steps> seen;      ///< free: B operands of the counting product
    VReg count;                              ///< free, 16
};

/// `begin` and `next`: what a column tile's fragments need before and behind its products. They may use
/// scratch 7 and are told which register numbers the column tiles, down from column_tiles().
template <typename Begin, typename Next>
void emit_pv_special(Emitter& e, const Bf16Kernel& k, const SpecialOperands& operands, Begin&& begin,
                     Next&& next) {
    e.remark(
        "V with Inf and NaN replaced by 0 goes through the product as usual. Beside it, a product of what");
    e.remark(
        "was there (1 for +Inf, 128 for -Inf, 129 for NaN) with which rows see the key counts, for each");
    e.remark(
        "element of O, the visible ones. One column tile at a time; the tiles rotate through one place.");
    const Bf16Geometry& g = k.geometry;
    const Bf16Registers& v = k.v;
    const SReg t = k.work.scratch, turn = t[8], mask = t.sub(10, 2), mask_high = t.sub(12, 2);
    const VReg kind = v.t.sub(0, 4), temporary = v.t.sub(4, 4), limit = v.t[8], low = v.t[9], both = v.t[10],
               zero = v.t[11];
    const VReg count = operands.count;
    emit_visible_limit(e, k, limit, t.sub(0, 2));
    const PackedConstants constants(e, t);

    e.remark("B operands of the counting product: 1.0 where the row sees the key");
    e.v_mov_b32(low, Literal{0x3f80});
    e.v_mov_b32(both, Literal{0x3f803f80});
    e.v_mov_b32(zero, 0);
    for (unsigned step = 0; step < G::pv_steps; ++step)
        for (unsigned pair = 0; pair < 4; ++pair) {
            const int key = static_cast<int>(16 * step + 8 * (pair / 2) + 2 * (pair % 2));
            const VReg d = operands.seen[step][pair];
            e.v_cmp("le_i32", mask, key, limit);
            e.v_cmp("le_i32", mask_high, key + 1, limit);
            e.v_cndmask_b32(d, zero, low, mask);
            e.v_cndmask_b32(d, d, both, mask_high);
        }

    const std::string loop = ".Lspecial_column_tile";
    e.s_mov_b32(turn, g.column_tiles());
    e.label(loop);
    begin();
    for (unsigned step = 0; step < G::pv_steps; ++step) {
        const VReg fragment = operands.fragments[step];
        for (unsigned i = 0; i < 4; ++i)
            emit_classify_value(e, fragment[i], kind[i], constants, temporary);
        e.mfma(mfma_32x32x16_bf16, count, kind, operands.seen[step], step == 0 ? Source(0) : Source(count),
               "count visible Inf and NaN");
        e.mfma(mfma_32x32x16_bf16, v.output(0), fragment, v.probabilities(step), v.output(0),
               "O^T += V^T P^T");
    }
    e.s_mov_b32(t[6], 200, "2^200 times anything of at least 1 / 128 is Inf");
    for (unsigned r = 0; r < 16; ++r) {
        const VReg o = v.output(0)[r], c = count[r], positive = temporary[0], negative = temporary[1];
        e.v_mul_f32(negative, Float{1.0f / 128}, c,
                    r == 0 ? "count = n(+Inf) + 128 n(-Inf); NaN is both" : "");
        e.v_fract_f32(positive, negative);
        e.v_sub_f32(negative, negative, positive);
        e.v_ldexp_f32(positive, positive, t[6], "+Inf, or 0");
        e.v_ldexp_f32(negative, negative, t[6]);
        e.v_sub_f32(positive, positive, negative);
        e.v_add_f32(positive, positive, o);
        e.v_cmp("neq_f32", vcc, 0, c);
        e.v_cndmask_b32(o, o, positive, vcc, "rows that see none keep every bit");
    }
    e.remark("next column tile; after four turns everything is where it was");
    emit_rotate(e, v.o, 16, g.column_tiles(), temporary[0]);
    next(turn);
    e.s_sub_u32(turn, turn, 1);
    e.s_cmp("lg_u32", turn, 0);
    e.s_cbranch_scc1(loop);
}

} // namespace

void emit_pv_special(Emitter& e, const Bf16Kernel& k) {
    const Bf16Geometry& g = k.geometry;
    SpecialOperands operands;
    for (unsigned step = 0; step < G::pv_steps; ++step) {
        operands.fragments[step] = k.v.fragment(g.column_tiles() * step);
        operands.seen[step] = k.v.s.sub(8 * step + 4, 4); // the gaps that packing left
    }
    operands.count = k.v.fragments.sub(4 * g.pv_products(), 16);
    emit_pv_special(
        e, k, operands, [] {},
        [&](SReg) {
            for (unsigned step = 0; step < G::pv_steps; ++step)
                emit_rotate(e, k.v.fragments.sub(4 * g.column_tiles() * step, 4 * g.column_tiles()), 4,
                            g.column_tiles(), k.v.t[4]);
        });
}

void emit_pv_special(Emitter& e, const Bf16StageKernel& k) {
    const Bf16Geometry& g = k.geometry;
    const VReg address = k.v.factor;
    SpecialOperands operands;
    for (unsigned step = 0; step < G::pv_steps; ++step) {
        operands.fragments[step] = k.v.fragment(step);
        operands.seen[step] = k.v.fragment(8 + step);
    }
    operands.count = k.v.fragments.sub(16, 16);
    const SReg step_bytes = k.work.scratch[7];
    const unsigned along = v_read_constant(g.v(), 1, 0, 0), across = v_read_constant(g.v(), 2, 0, 0) - along;
    auto read = [&] {
        for (unsigned step = 0; step < G::pv_steps; ++step)
            for (unsigned half = 0; half < 2; ++half)
                e.ds_read_b64_tr_b16(operands.fragments[step].sub(2 * half, 2), address,
                                     v_read_constant(g.v(), 0, step, half), "V^T of the column tile");
    };
    e.v_mov_b32(address, k.v.v_read);
    emit_pv_special(e, k, operands, read, [&](SReg turn) {
        e.s_bitcmp1_b32(turn, 0);
        e.s_cselect_b32(step_bytes, across, along, "two column tiles lie in one chunk");
        e.v_add_u32(address, step_bytes, address);
    });
}

} // namespace zyfa::templates::attention
