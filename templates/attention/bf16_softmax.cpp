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

struct Scratch {
    VReg first, second, block_maximum, growth, partial0, partial1;
    explicit Scratch(const Bf16Registers& v)
        : first(v.t[0]), second(v.t[1]), block_maximum(v.t[2]), growth(v.t[3]), partial0(v.t[5]),
          partial1(v.t[6]) {}
};

} // namespace

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

void emit_rescale(Emitter& e, const Bf16Kernel& k) {
    const std::string done = ".Lprobabilities";
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
    e.s_branch(done);
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

} // namespace zyfa::templates::attention
