// SPDX-License-Identifier: Apache-2.0
// Lazy rescaling of the FP8 kernels (paper Section IV-A): which rows take a new maximum, and what that
// multiplies.
//
// A row's probabilities are relative to its maximum in use, M. In the scores' own units M is exact, but a
// score's code begins from `base`, offset - scale * M in FP32, whose last place grows with M: at 2^24 base-2
// units it is a binade. So what a move of M multiplies by follows from the bases, not from the maxima. All
// probabilities of a row are then off by one factor, which O does not see, and LSE by no more than two of its
// own last places.
#include "templates/attention/fp8_blocks.hpp"

#include <algorithm>
#include <cmath>

namespace zyfa::templates::attention {

using namespace isa;

namespace {

/// d = log2 of what probabilities relative to `base` are to be multiplied by to be relative to M: 0 or more.
void emit_base_error(Emitter& e, const Fp8Kernel& k, VReg d, VReg base) {
    e.v_fma_f32(d, k.code_scale, k.v.maximum, base);
    e.v_sub_f32(d, Float{k.code_offset()}, d, "exact: the difference is small beside both");
    if (k.probability.lean)
        e.v_mul_f32(d, Float{0.125f}, d, "8 codes per binade");
}

} // namespace

void emit_base(Emitter& e, const Fp8Kernel& k, VReg base) {
    // Of a float, more than half its last place and less than one and a half.
    const SReg below = k.work.scratch[15];
    e.s_mov_b32(below, Float{0x1.4p-24f});
    e.v_mov_b32(base, Float{k.code_offset()});
    e.v_fma_f32(base, -Source(k.code_scale), k.v.maximum, base, "what a score's code begins from, and");
    e.v_fma_f32(base, -Source(base).magnitude(), below, base, "a place less: no code beyond the largest");
}

void emit_growth(Emitter& e, const Fp8Kernel& k) {
    const Fp8Scratch t(k.v);
    emit_block_maximum(e, k);
    if (k.folds()) {
        e.v_mul_f32(t.growth, k.code_scale, t.block_maximum, "in base-2 units");
    } else {
        e.v_sub_f32(t.growth, t.block_maximum, k.v.maximum);
        e.v_mul_f32(t.growth, k.work.score_scale, t.growth, "in base-2 units");
    }
    e.v_cmp("nge_f32", vcc, Float{std::min(k.options.tau, free_growth)}, t.growth,
            "grew by more than it may unseen, or NaN?");
}

void emit_coarse(Emitter& e, const Fp8Kernel& k, SReg coarse, VReg growth, VReg a, VReg b) {
    const Fp8Probability& p = k.probability;
    e.v_add_f32(a, Float{p.sigma}, growth);
    e.v_exp_f32(a, a, "probability of the row's new maximum");
    if (p.lean) {
        e.v_mul_f32(b, Float{8.0f}, growth);
        e.v_add_f32(b, Float{k.code_offset()}, b);
        e.v_cvt_pk_u8_f32(b, b, 0, 0, "its code");
    } else {
        e.v_cvt_pk_fp8_f32(b, a, a, false, "its code");
        e.v_and_b32(b, Literal{0xff}, b);
    }
    e.v_lshlrev_b32(b, 20, b);
    e.v_add_u32(b, Literal{120u << 23}, b, "the code's value (e4m3's bias is 7, FP32's 127)");
    e.v_sub_f32(b, b, a, "error of the rounding");
    e.v_mul_f32(a, Float{stale_error}, a);
    e.v_add_f32(a, Float{stale_error * std::exp2(p.sigma)}, a,
                "share of it and of the key at the maximum in use");
    e.v_cmp("lt_f32", vcc, Float{free_growth}, growth);
    e.v_cndmask_b32(b, 0, b, vcc);
    e.v_cmp("nle_f32", coarse, Source(b).magnitude(), a, "too coarse to keep the maximum?");
}

namespace {

/// Rows that VCC says take their new maximum.
void emit_move(Emitter& e, const Fp8Kernel& k) {
    const Fp8Scratch t(k.v);
    const SReg moving = k.work.scratch.sub(4, 2), large = k.work.scratch[6];
    e.v_cndmask_b32(t.growth, 0, t.growth, vcc, "rows that move: by how much; 0 for the others");
    e.v_cndmask_b32(t.b, 0, t.block_maximum, vcc);
    emit_base(e, k, t.a);
    e.s_mov_b64(moving, vcc);
    e.v_mul_f32(t.b, k.work.score_scale, t.b);
    e.v_mul_f32(t.b, t.b, t.b);
    e.v_cmp("lt_f32", vcc, Float{largest_fast_score * largest_fast_score}, t.b,
            "a maximum too large for the fast path?");
    e.s_cmp("lg_u64", vcc, 0);
    e.s_cselect_b32(large, state_large, k.large);
    e.s_cmp("lg_u32", large, 0);
    e.s_cbranch_scc1(".Lmove_large");
    e.v_cndmask_b32(k.v.maximum, k.v.maximum, t.block_maximum, moving, "rows that move take the new maximum");
    emit_base(e, k, t.b);
    e.v_sub_f32(t.b, t.b, t.a);
    if (k.probability.lean)
        e.v_mul_f32(t.b, Float{0.125f}, t.b, "8 codes per binade");
    e.v_exp_f32(k.v.factor, t.b, "2^(old - new); exactly 1 for rows that stay");
}

/// The same where a maximum is large. The slow path takes M itself from the scores: what is there, is made
/// relative to it, unless it is already.
void emit_move_large(Emitter& e, const Fp8Kernel& k) {
    const Fp8Scratch t(k.v);
    const SReg moving = k.work.scratch.sub(4, 2), large = k.work.scratch[6], first = k.work.scratch[7];
    e.label(".Lmove_large");
    emit_base_error(e, k, t.b, t.a);
    e.v_min_f32(t.b, Float{4.0f}, t.b, "of a maximum still below any score it is no number");
    e.s_cmp("lg_u32", k.large, 0);
    e.s_cselect_b32(first, 0, Float{1.0f});
    e.v_mul_f32(t.b, first, t.b);
    e.v_sub_f32(t.b, t.b, t.growth);
    e.v_exp_f32(k.v.factor, t.b, "2^(old - new)");
    e.v_cndmask_b32(k.v.maximum, k.v.maximum, t.block_maximum, moving);
    e.s_mov_b32(k.large, large);
    e.s_branch(".Lrescale_accumulator");
}

} // namespace

void emit_rescale(Emitter& e, const Fp8Kernel& k) {
    const Fp8Scratch t(k.v);
    const SReg nan = k.work.scratch.sub(4, 2), coarse = nan;
    e.v_cmp("u_f32", nan, t.block_maximum, t.block_maximum);
    e.s_cmp("lg_u64", nan, 0);
    e.s_cbranch_scc1(".Lnan_scores");
    if (k.options.tau > free_growth) {
        emit_coarse(e, k, coarse, t.growth, t.a, t.b);
        e.v_cmp("nge_f32", vcc, Float{k.options.tau}, t.growth, "grew by more than tau?");
        e.s_or_b64(vcc, vcc, coarse);
        e.s_cbranch_vccz(".Lrescaled_softmax");
    }
    if (k.folds())
        emit_grow(e, k);
    else
        emit_move(e, k);
    e.label(".Lrescale_accumulator");
    e.s_cmp("lg_u32", k.wave.fresh, 0);
    e.v_mul_f32(k.v.sum, k.v.factor, k.v.sum);
    e.s_cbranch_scc1(".Lrescaled_softmax", "the accumulator is still empty");
    const bool at_once = k.probability.rescale_in_softmax;
    for (unsigned r = 0; r < (at_once ? k.v.o.count : 16u); ++r)
        e.v_mul_f32(k.v.o[r], k.v.factor, k.v.o[r]);
    if (!at_once)
        e.s_or_b32(k.wave.mode, k.wave.mode, mode_rescale);
    e.label(".Lrescaled_softmax");
    if (!k.folds()) {
        e.s_cmp("lg_u32", k.large, 0);
        e.s_cbranch_scc1(".Llarge");
    }
    e.s_branch(".Lprobabilities");

    if (!k.folds())
        emit_move_large(e, k);

    e.label(".Lnan_scores");
    e.remark("---- NaN among the scores: the row's sum keeps it, the scores do not");
    e.v_add_f32(k.v.factor, k.v.sum, t.block_maximum, "NaN");
    e.v_cndmask_b32(k.v.sum, k.v.sum, k.v.factor, nan);
    e.v_mov_b32(t.a, Literal{0xff800000});
    for (unsigned r = 0; r < k.v.s.count; ++r)
        e.v_max_f32(k.v.s[r], t.a, k.v.s[r], r == 0 ? "the number, where one operand is NaN" : "");
    e.s_branch(k.softmax_entry);
}

void emit_part_reference(Emitter& e, const Fp8Kernel& k, VReg total, VReg a, VReg b,
                         const std::string& prefix) {
    const std::string relative = prefix + "_relative";
    e.s_cmp("lg_u32", k.large, 0);
    e.s_cbranch_scc1(relative, "it is relative to the maximum");
    emit_base(e, k, a);
    emit_base_error(e, k, b, a);
    e.v_cmp("lt_f32", vcc, Float{1.0f / 1024}, b);
    e.s_cbranch_vccz(relative, "nearly so");
    e.v_exp_f32(a, b);
    e.v_mul_f32(total, a, total);
    for (unsigned r = 0; r < k.v.o.count; ++r)
        e.v_mul_f32(k.v.o[r], a, k.v.o[r]);
    e.label(relative);
}

} // namespace zyfa::templates::attention
