// SPDX-License-Identifier: Apache-2.0
// The softmax of one block: mask, running maximum with lazy rescaling, probabilities.
//
// Every row's bits depend on that row's scores only: a rescale is entered when any row of the wave asks for
// one, but inside it only rows whose own maximum grew by more than tau move; the others are multiplied by
// exactly 1. So neither the other rows of a wave nor a NaN among them can change a row.
#include "templates/attention/bf16_blocks.hpp"

#include <array>

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

constexpr Literal minus_infinity{0xff800000};

/// Score register r of a tile holds key score_key(r) + 4 * (lane / 32) of the tile's 32.
constexpr unsigned score_key(unsigned r) {
    return 8 * (r / 4) + r % 4;
}

struct Scratch {
    VReg first, second, block_maximum, growth, partial0, partial1;
    explicit Scratch(const Bf16Registers& v)
        : first(v.t[0]), second(v.t[1]), block_maximum(v.t[2]), growth(v.t[3]), partial0(v.t[5]),
          partial1(v.t[6]) {}
};

} // namespace

void emit_visible_limit(Emitter& e, const Bf16Kernel& k, VReg limit, SReg scratch) {
    const WorkRegisters& w = k.work;
    const SReg a = scratch[0], b = scratch[1];
    e.s_sub_i32(a, w.seq_kv, k.first_key);
    e.s_sub_i32(a, a, 1, "last key there is, counted from the block's first");
    if (k.options.causal) {
        e.s_add_i32(b, w.tile[1], k.wave.row);
        e.s_add_i32(b, b, w.diagonal, "key j is visible to row i if j <= i + seq_kv - seq_q");
        e.s_sub_i32(b, b, k.first_key);
        e.v_add_u32(limit, b, k.v.lane_row);
        e.v_min_i32(limit, a, limit);
    } else {
        e.v_mov_b32(limit, a);
    }
    e.v_sub_u32(limit, limit, k.v.lane_key, "last visible key, less what the lane adds");
}

void emit_mask(Emitter& e, const Bf16Kernel& k) {
    const WorkRegisters& w = k.work;
    const VReg limit = k.v.t[0], hidden = k.v.t[1];
    emit_visible_limit(e, k, limit, w.scratch.sub(0, 2));
    e.v_mov_b32(hidden, minus_infinity);
    // Four compares ahead of their selects: the masks go through scalar registers.
    constexpr unsigned group = 4;
    const unsigned count = 16 * G::key_tiles;
    for (unsigned first = 0; first < count; first += group) {
        for (unsigned r = first; r < first + group; ++r)
            e.v_cmp("le_i32", w.scratch.sub(4 + 2 * (r % group), 2), 32 * (r / 16) + score_key(r % 16),
                    limit);
        for (unsigned r = first; r < first + group; ++r)
            e.v_cndmask_b32(k.v.s[r], hidden, k.v.s[r], w.scratch.sub(4 + 2 * (r % group), 2));
    }
}

void emit_maximum(Emitter& e, const Bf16Kernel& k) {
    const Scratch t(k.v);
    const VReg s = k.v.s;
    const std::array<VReg, 2> chain{t.first, t.second};
    e.v_max3_f32(chain[0], s[0], s[1], s[2], "row maximum of the lane's scores; NaN is ignored here");
    e.v_max3_f32(chain[1], s[3], s[4], s[5]);
    for (unsigned r = 6, turn = 0; r < s.count; r += 2, turn ^= 1)
        e.v_max3_f32(chain[turn], chain[turn], s[r], s[r + 1]);
    e.v_max_f32(t.first, t.first, t.second);
    e.v_mov_b32(t.second, t.first);
    e.v_permlane32_swap_b32(t.first, t.second, "lanes l and l + 32 share a query");
    e.v_max_f32(t.first, t.first, t.second);
    e.v_mul_f32(t.block_maximum, k.work.score_scale, t.first, "in base-2 units");
    e.v_sub_f32(t.growth, t.block_maximum, k.v.maximum);
    e.v_cmp("lt_f32", vcc, Float{k.options.tau}, t.growth, "grew by more than tau?");
}

void emit_rescale(Emitter& e, const Bf16Kernel& k, const std::string& done) {
    const Scratch t(k.v);
    e.v_cndmask_b32(t.growth, 0, t.growth, vcc, "rows that move: by how much; 0 for the others");
    e.v_exp_f32(k.v.factor, -Source(t.growth), "2^(old - new); exactly 1 for the others");
    e.v_cndmask_b32(k.v.maximum, k.v.maximum, t.block_maximum, vcc, "rows that move take the new maximum");
    e.s_cmp("lg_u32", k.wave.fresh, 0);
    e.v_mul_f32(k.v.sum, k.v.factor, k.v.sum);
    e.s_cbranch_scc1(done, "the accumulator is still empty");
    for (unsigned r = 0; r < 16; ++r)
        e.v_mul_f32(k.v.o[r], k.v.factor, k.v.o[r]);
    e.s_or_b32(k.wave.mode, k.wave.mode, mode_rescale);
}

void emit_rescale_rest(Emitter& e, const Bf16Kernel& k) {
    for (unsigned r = 16; r < k.v.o.count; ++r)
        e.v_mul_f32(k.v.o[r], k.v.factor, k.v.o[r], r % 16 == 0 ? "rescale" : "");
}

void emit_probabilities(Emitter& e, const Bf16Kernel& k) {
    const Scratch t(k.v);
    const VReg s = k.v.s;
    const unsigned count = s.count;
    // A pipeline of single instructions: each score's FMA, exponential, sum and conversion lie a few
    // instructions apart, so that no result is waited for.
    constexpr unsigned exp_lag = 2, add_lag = 4, pack_lag = 6;
    for (unsigned step = 0; step < count + pack_lag; ++step) {
        if (step < count)
            e.v_fma_f32(s[step], s[step], k.work.score_scale, -Source(k.v.maximum),
                        step == 0 ? "score in base-2 units - maximum" : "");
        if (const unsigned r = step - exp_lag; step >= exp_lag && r < count)
            e.v_exp_f32(s[r], s[r]);
        if (const unsigned r = step - add_lag; step >= add_lag && r < count) {
            const VReg partial = r % 2 ? t.partial1 : t.partial0;
            if (r == 2 || r == 3)
                e.v_add_f32(partial, s[r - 2], s[r], "row sum of unrounded probabilities");
            else if (r > 3)
                e.v_add_f32(partial, partial, s[r]);
        }
        if (const unsigned r = step - pack_lag; step >= pack_lag && r % 2 == 1 && r < count)
            e.v_cvt_pk_bf16_f32(s[r / 8 * 8 + r % 8 / 2], s[r - 1], s[r],
                                r % 8 == 7 ? "P^T operand of 16 keys complete" : "");
    }
    e.v_add_f32(t.partial0, t.partial0, t.partial1);
    e.v_add_f32(k.v.sum, k.v.sum, t.partial0);
}

void emit_cursor_work(Emitter& e, const Bf16Kernel& k) {
    e.s_mov_b32(k.wave.live, k.wave.next_live);
    e.s_mov_b32(k.wave.state, k.wave.next_state);
    emit_advance(e, k.work, k.options, k.geometry.qk_row_bytes(), k.geometry.v_row_bytes(),
                 k.work.scratch.sub(0, 3));
}

void emit_next_block_work(Emitter& e, const Bf16Kernel& k) {
    const SReg t = k.work.scratch.sub(4, 4);
    emit_classify(e, k.work, k.wave, k.options, t);
    e.s_mul_i32(t[0], k.wave.slot_out, k.geometry.k().bytes());
    e.s_mul_i32(t[1], k.wave.slot_out, k.geometry.v().bytes());
    e.s_add_u32(k.wave.slot_out, k.wave.slot_out, 1);
    e.s_cmp("eq_u32", k.wave.slot_out, G::slots);
    e.s_cselect_b32(k.wave.slot_out, 0, k.wave.slot_out);
}

void emit_next_addresses(Emitter& e, const Bf16Kernel& k) {
    const SReg t = k.work.scratch.sub(4, 4);
    e.v_add_u32(k.v.k_read, t[0], k.v.k_lane, "slot that the next matrix phase reads");
    e.v_add_u32(k.v.v_read, t[1], k.v.v_lane);
}

} // namespace zyfa::templates::attention
