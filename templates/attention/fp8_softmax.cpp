// SPDX-License-Identifier: Apache-2.0
// The softmax of one block of 128 keys (paper Section IV-B): running maximum with lazy rescaling, a power of
// two per 64 keys, and probabilities as e4m3 codes, by one multiply-add (lean) or by the exponential (exact).
//
// Every row's bits depend on that row's scores only: a rescale is entered when any row of the wave asks for
// one, but inside it only rows whose own maximum grew by too much move (fp8_rescale.cpp); the others are
// multiplied by exactly 1. A NaN among a row's scores makes its sum NaN, and with it the row's output; the
// scores themselves are replaced, since a NaN in P would reach another query through the zeros of the row
// sum.
//
// The maximum is kept as QK gives it, without the softmax scale, and is some earlier score of the row
// exactly. P's code of the row maximum is at most 8 (tau + sigma + 7) - beta (lean) and P at most 2^(tau +
// sigma) (exact) where a half's exponent o is not negative: fp8_fwd.cpp keeps these below NaN.
#include "templates/attention/fp8_blocks.hpp"

#include <array>

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

void emit_tile_maximum(Emitter& e, const Fp8Kernel& k, unsigned tile) {
    const VReg s = k.v.scores(tile);
    const std::array<VReg, 2> chain = k.v.maximum_chain(tile / 2);
    unsigned r = 0;
    if (tile % 2 == 0) {
        e.v_maximum3_f32(chain[0], s[0], s[1], s[2],
                         tile == 0 ? "maxima of the lane's scores; NaN stays" : "");
        e.v_maximum3_f32(chain[1], s[3], s[4], s[5]);
        r = 6;
    }
    for (unsigned turn = tile % 2; r < 16; r += 2, turn ^= 1)
        e.v_maximum3_f32(chain[turn], chain[turn], s[r], s[r + 1]);
}

void emit_block_maximum(Emitter& e, const Fp8Kernel& k) {
    const Fp8Scratch t(k.v);
    for (unsigned half = 0; half < G::halves; ++half) {
        const std::array<VReg, 2> chain = k.v.maximum_chain(half);
        e.v_maximum3_f32(chain[0], chain[0], chain[1], chain[1]);
    }
    e.v_permlane32_swap_b32(t.half[0], t.half[1], "lanes l and l + 32 share a query");
    e.v_maximum3_f32(t.a, t.half[0], t.half[1], t.half[1], "lanes 0-31: first half; lanes 32-63: second");
    e.v_mov_b32(t.half[0], t.a);
    e.v_mov_b32(t.half[1], t.a);
    e.v_permlane32_swap_b32(t.half[0], t.half[1], "both to all lanes");
    e.v_maximum3_f32(t.block_maximum, t.half[0], t.half[1], t.half[1]);
}

void emit_maximum(Emitter& e, const Fp8Kernel& k) {
    const bool begun = k.probability.matrix_work == MatrixWork::maximum;
    for (unsigned tile = begun ? matrix_work_tiles : 0; tile < G::key_tiles; ++tile)
        emit_tile_maximum(e, k, tile);
    if (begun)
        e.label(".Lmaxima_found");
    emit_growth(e, k);
}

namespace {

/// biases (scratch.half) and scales of the two halves from their maxima.
void emit_scales(Emitter& e, const Fp8Kernel& k, const Fp8Scratch& t, bool shifted) {
    const Fp8Probability& p = k.probability;
    const VReg base = t.growth, o = t.a, scale = t.b;
    if (shifted)
        e.v_mov_b32(base, Float{k.code_offset()});
    else
        emit_base(e, k, base);
    for (unsigned half = 0; half < G::halves; ++half) {
        e.v_sub_f32(o, k.v.maximum, t.half[half]);
        e.v_mul_f32(o, k.work.score_scale, o, "binades from the row maximum down to the half's");
        e.v_floor_f32(o, o);
        e.v_max_f32(o, 0, o);
        e.v_min_f32(o, Float{120.0f}, o, "beyond, the bias would lose its fraction");
        e.v_sub_f32(scale, Float{127.0f}, o);
        if (p.lean) {
            e.v_add_f32(o, o, o);
            e.v_fma_f32(t.half[half], o, Float{4.0f}, base, "8 codes per binade");
        } else {
            e.v_add_f32(t.half[half], o, base);
        }
        e.v_cvt_pk_u8_f32(k.v.scales, scale, half, k.v.scales, "E8M0 code of 2^-o");
    }
}

void emit_lean(Emitter& e, const Fp8Kernel& k, const Fp8Scratch& t) {
    const VReg s = k.v.s;
    constexpr unsigned lag = 4; // between a score's multiply-add and its conversion
    for (unsigned step = 0; step < s.count + lag; ++step) {
        if (step < s.count)
            e.v_fma_f32(s[step], s[step], k.code_scale, t.half[step / 32],
                        step == 0 ? "8 (x + o + sigma + 7) - beta" : "");
        if (step < lag)
            continue;
        const unsigned r = step - lag, half = r / 32, c = r % 32 / 16, group = r % 16 / 4, byte = r % 4;
        const VReg d = k.v.packed(half, c, group);
        e.v_cvt_pk_u8_f32(d, s[r], byte, byte == 0 ? Source(0) : Source(d),
                          r % 32 == 31 ? "P^T operand of 64 keys complete" : "");
    }
}

void emit_exact(Emitter& e, const Fp8Kernel& k, const Fp8Scratch& t) {
    const VReg s = k.v.s;
    constexpr unsigned exp_lag = 2, pack_lag = 5;
    for (unsigned step = 0; step < s.count + pack_lag; ++step) {
        if (step < s.count)
            e.v_fma_f32(s[step], s[step], k.code_scale, t.half[step / 32], step == 0 ? "x + o + sigma" : "");
        if (const unsigned r = step - exp_lag; step >= exp_lag && r < s.count)
            e.v_exp_f32(s[r], s[r]);
        if (const unsigned r = step - pack_lag; step >= pack_lag && r % 2 == 1 && r < s.count)
            e.v_cvt_pk_fp8_f32(k.v.packed(r / 32, r % 32 / 16, r % 16 / 4), s[r - 1], s[r], r % 4 == 3,
                               r % 32 == 31 ? "P^T operand of 64 keys complete" : "");
    }
}

} // namespace

void emit_probabilities(Emitter& e, const Fp8Kernel& k, bool shifted) {
    const Fp8Scratch t(k.v);
    emit_scales(e, k, t, shifted);
    if (k.probability.lean)
        emit_lean(e, k, t);
    else
        emit_exact(e, k, t);
}

void emit_to_softmax(Emitter& e, const Fp8Kernel& k) {
    e.label(k.softmax_entry);
    if (k.folds()) {
        e.s_and_b32(k.work.scratch[0], k.wave.state, state_raw);
        e.s_cbranch_scc0(".Lmaximum");
        emit_raw_block(e, k);
        return;
    }
    const bool begun = k.probability.matrix_work == MatrixWork::maximum;
    if (begun) // masked since, or of a large score
        for (unsigned tile = 0; tile < G::key_tiles; ++tile)
            emit_tile_maximum(e, k, tile);
    e.s_cmp("lg_u32", k.large, 0);
    e.s_cbranch_scc0(begun ? ".Lmaxima_found" : ".Lmaximum");
    e.remark("---- large scores: the maximum is taken from the scores before they are scaled");
    if (!begun)
        for (unsigned tile = 0; tile < G::key_tiles; ++tile)
            emit_tile_maximum(e, k, tile);
    emit_growth(e, k);
    e.s_cbranch_vccnz(".Lrescale");
    e.label(".Llarge");
    for (unsigned r = 0; r < k.v.s.count; ++r)
        e.v_sub_f32(k.v.s[r], k.v.s[r], k.v.maximum);
    emit_probabilities(e, k, true);
    emit_cursor_work(e, k);
    e.s_branch(".Lsoftmax_done");
}

void emit_cursor_work(Emitter& e, const Fp8Kernel& k) {
    e.s_mov_b32(k.wave.live, k.wave.next_live);
    e.s_or_b32(k.wave.state, k.wave.next_state, k.large);
    emit_advance_descriptors(e, k.work, k.options);
}

} // namespace zyfa::templates::attention
