// SPDX-License-Identifier: Apache-2.0
// Exact P with scale and maximum folded into QK (MatrixWork::fold), so that no multiply-add per score is
// left.
//
// The scale is f * 2^e with 1 <= f < 2. QK is a scaled MFMA whose block scale is 2^e and whose accumulator
// starts at -M (registers `start`), M the row's maximum in use, in units of 2^e: it gives x / f with x the
// distance to the maximum in base-2 units. Where f is 1 (softmax_scale times the descales times log2(e) is a
// power of two), P is 2^x right away; else one multiplication per score is left. The power of two per 64 keys
// is then the conversion's scale. M is that of the blocks before: where a row grows by more than tau, what it
// grew by is subtracted afterwards.
// A block is left relative to 0 ("raw"), and its maximum subtracted from the scores, where M is not at hand
// or too large: the first block of a tile that the wave sees keys of (M is the previous tile's), and blocks
// after a maximum beyond the fast path's scores or while a row has seen no key. Which one a block is, was
// said when `start` was set: k.large.
#include "templates/attention/fp8_blocks.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

namespace {

/// `start` = -M, or 0 where the next block's scores are to be raw (k.large).
void emit_start(Emitter& e, const Fp8Kernel& k, VReg scratch) {
    const SReg subtract = k.work.scratch[0];
    e.s_cmp("lg_u32", k.large, 0);
    e.s_cselect_b32(subtract, 0, Float{1.0f});
    e.v_mul_f32(scratch, subtract, k.v.maximum);
    for (unsigned r = 0; r < k.v.start.count; ++r)
        e.v_sub_f32(k.v.start[r], 0, scratch, r == 0 ? "where QK of the next block starts" : "");
}

/// VCC: rows whose maximum is too large for the fast path. square: scratch.
void emit_find_large(Emitter& e, const Fp8Kernel& k, VReg square) {
    e.v_mul_f32(square, k.code_scale, k.v.maximum);
    e.v_mul_f32(square, square, square);
    e.v_cmp("lt_f32", vcc, Float{largest_fast_score * largest_fast_score}, square,
            "a maximum too large for the fast path?");
}

} // namespace

void emit_fold_constants(Emitter& e, const Fp8Kernel& k, VReg a) {
    const SReg bits = k.work.scratch[0];
    e.s_and_b32(bits, k.work.score_scale, Literal{0x007fffff});
    e.s_or_b32(k.code_scale, bits, Literal{0x3f800000}, "f of the score scale f * 2^e");
    e.s_lshl_b32(bits, k.work.score_scale, 1);
    e.s_and_b32(bits, bits, Literal{0xff000000});
    e.v_mov_b32(a, bits);
    e.v_or_b32(k.v.scales, a, k.v.scales, "2^e as E8M0");
    emit_raw_next(e, k);
}

void emit_raw_next(Emitter& e, const Fp8Kernel& k) {
    e.s_mov_b32(k.large, state_raw);
    for (unsigned r = 0; r < k.v.start.count; ++r)
        e.v_mov_b32(k.v.start[r], 0, r == 0 ? "scores of the next block start from 0" : "");
}

void emit_load_q(Emitter& e, const Fp8Kernel& k) {
    emit_load_q<Fp8Kernel>(e, k);
    if (k.folds())
        emit_raw_next(e, k);
}

void emit_grow(Emitter& e, const Fp8Kernel& k) {
    const Fp8Registers& v = k.v;
    const VReg growth = v.t[5], block_maximum = v.t[4], a = v.t[2];
    e.v_cndmask_b32(growth, 0, block_maximum, vcc, "rows that move: by how much; 0 for the others");
    e.v_add_f32(a, growth, v.maximum);
    e.v_sub_f32(growth, a, v.maximum, "by how much the maximum grows where FP32 rounds it");
    e.v_mov_b32(v.maximum, a);
    e.v_mul_f32(a, k.code_scale, growth);
    e.v_exp_f32(v.factor, -Source(a), "2^(old - new); exactly 1 for the others");
    for (const VReg maximum : {v.t[0], v.t[1]})
        e.v_sub_f32(maximum, maximum, growth, "maxima of the halves");
    for (unsigned r = 0; r < v.s.count; ++r)
        e.v_sub_f32(v.s[r], v.s[r], growth);
    emit_find_large(e, k, a);
    e.s_cmp("lg_u64", vcc, 0);
    e.s_cselect_b32(k.large, state_raw, k.large);
    emit_start(e, k, a);
}

void emit_raw_block(Emitter& e, const Fp8Kernel& k) {
    const Fp8Registers& v = k.v;
    const VReg a = v.t[2], b = v.t[3], block_maximum = v.t[4], growth = v.t[5];
    const SReg nan = k.work.scratch.sub(4, 2), waiting = k.work.scratch.sub(6, 2), flag = k.work.scratch[4],
               coarse = nan;
    const bool lasting = k.options.tau > free_growth;
    e.label(".Lraw");
    e.remark("---- a block of raw scores: the maximum is taken from them, which is exact where it matters");
    for (unsigned tile = 0; tile < G::key_tiles; ++tile)
        emit_tile_maximum(e, k, tile);
    emit_block_maximum(e, k);
    e.v_cmp("u_f32", nan, block_maximum, block_maximum);
    e.s_cmp("lg_u64", nan, 0);
    e.s_cbranch_scc1(".Lnan_scores");
    e.v_sub_f32(growth, block_maximum, v.maximum);
    e.v_mul_f32(growth, k.code_scale, growth, "in base-2 units");
    if (lasting)
        emit_coarse(e, k, coarse, growth, a, b);
    e.v_cmp("eq_f32", waiting, 0, v.sum, "rows that have seen no key take any maximum");
    e.v_mov_b32(a, Float{-3e38f});
    e.v_mov_b32(b, Float{k.options.tau});
    e.v_cndmask_b32(a, b, a, waiting);
    e.v_cmp("nge_f32", vcc, a, growth, "grew by more than tau?");
    if (lasting)
        e.s_or_b64(vcc, vcc, coarse);
    e.v_cndmask_b32(growth, 0, growth, vcc);
    e.v_max_f32(growth, 0, growth, "where a first maximum is negative, what is multiplied is 0");
    e.v_exp_f32(v.factor, -Source(growth), "2^(old - new); exactly 1 for rows that do not move");
    e.v_cndmask_b32(v.maximum, v.maximum, block_maximum, vcc);
    e.v_cndmask_b32(a, a, 0, vcc);
    e.v_cmp("gt_f32", waiting, 0, a, "rows that still wait for a key");
    emit_find_large(e, k, b);
    e.s_or_b64(waiting, waiting, vcc);
    e.s_cmp("lg_u64", waiting, 0);
    e.s_cselect_b32(k.large, state_raw, 0);
    e.s_and_b32(flag, k.work.next[0], 1 << flag_first, "or the next block begins a tile?");
    e.s_cmp("lg_u32", flag, 0);
    e.s_cselect_b32(k.large, state_raw, k.large);
    for (unsigned r = 0; r < v.s.count; ++r)
        e.v_sub_f32(v.s[r], v.s[r], v.maximum);
    for (const VReg maximum : {v.t[0], v.t[1]})
        e.v_sub_f32(maximum, maximum, v.maximum, "maxima of the halves");
    emit_start(e, k, a);
    e.s_branch(".Lrescale_accumulator");
}

void emit_conversion_scales(Emitter& e, const Fp8Kernel& k) {
    const VReg o = k.v.t[2], code = k.v.t[3];
    // 2^23 + n has n in its low bits, for integers n below 2^23.
    const float magic = 8388608.0f - k.probability.sigma;
    for (unsigned half = 0; half < G::halves; ++half) {
        e.v_mul_f32(o, k.code_scale, k.v.t[half], "binades from the half's maximum to the row's");
        e.v_floor_f32(o, -Source(o));
        e.v_max_f32(o, 0, o);
        e.v_min_f32(o, Float{100.0f}, o, "beyond, 2^x would lose its last binades to zero");
        e.v_sub_f32(code, Float{127.0f}, o);
        e.v_add_f32(k.v.t[half], Float{magic}, code);
        e.v_cvt_pk_u8_f32(k.v.scales, code, half, k.v.scales, "E8M0 code of 2^-o");
        e.v_lshlrev_b32(k.v.t[half], 23, k.v.t[half], "2^-(o + sigma)");
    }
    e.s_cmp("eq_u32", k.code_scale, Literal{0x3f800000});
    e.s_cbranch_scc1(".Lunit_scale", "the scale is a power of two");
    for (unsigned r = 0; r < k.v.s.count; ++r)
        e.v_mul_f32(k.v.s[r], k.code_scale, k.v.s[r]);
    e.label(".Lunit_scale");
}

void emit_folded_probabilities(Emitter& e, const Fp8Kernel& k) {
    const VReg s = k.v.s;
    constexpr unsigned pack_lag = 3; // behind the exponentials
    for (unsigned step = 0; step < s.count + pack_lag; ++step) {
        if (step < s.count)
            e.v_exp_f32(s[step], s[step]);
        if (const unsigned r = step - pack_lag; step >= pack_lag && r % 2 == 1)
            e.v_cvt_scalef32_pk_fp8_f32(k.v.packed(r / 32, r % 32 / 16, r % 16 / 4), s[r - 1], s[r],
                                        k.v.t[r / 32], r % 4 == 3,
                                        r % 32 == 31 ? "P^T operand of 64 keys complete" : "");
    }
}

} // namespace zyfa::templates::attention
