// SPDX-License-Identifier: Apache-2.0
// FP16 arithmetic, scalar and packed, and the mixed FP16/FP32 multiply-adds (CDNA4 ISA, VOP1, VOP2, VOP3 and
// VOP3P opcode tables).
#include "sim/math/kernels/transcendental.hpp"
#include "sim/valu/kernels/fraction.hpp"
#include "sim/valu/kernels/half.hpp"
#include "sim/valu/kernels/select.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

constexpr auto add = [](float a, float b) { return add_odd(a, b); };
constexpr auto sub = [](float a, float b) { return add_odd(a, -b); };
constexpr auto subrev = [](float a, float b) { return add_odd(b, -a); };
constexpr auto mul = [](float a, float b) { return a * b; };
constexpr auto fma = [](float a, float b, float c) { return fma_odd(a, b, c); };
/// Product rounded to FP16 before the addition (to nearest even: MODE's direction acts on the sum).
constexpr auto mad = [](float a, float b, float c) {
    return add_odd(F16::to_float(Encode<F16>::nearest(bits_of(a * b), false)), c);
};

// Transcendentals, correctly rounded; subnormals as MODE says.
constexpr auto rcp = [](float x) { return odd_from(1.0 / static_cast<double>(x)); };
constexpr auto rsq = [](float x) { return odd_from(1.0 / __builtin_sqrt(static_cast<double>(x))); };
constexpr auto root = [](float x) { return odd_from(__builtin_sqrt(static_cast<double>(x))); };
constexpr auto exp = [](float x) {
    const double clamped = x < -100.0f ? -100.0 : x > 100.0f ? 100.0 : static_cast<double>(x);
    return is_nan(x) ? x : odd_from(exp2_of(clamped));
};
constexpr auto log = [](float x) {
    const float r = odd_from(log2_of(static_cast<double>(x)));
    const float special = x == 0.0f ? float_of(0xFF800000u) : x > 0.0f ? x : float_of(canonical_nan);
    return x > 0.0f && bits_of(x) < 0x7F800000u ? r : is_nan(x) ? x : special;
};
constexpr auto sine = [](float x) {
    const bool far = !(x >= -256.0f && x <= 256.0f), infinite = (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u;
    const float r = odd_from(sin_turns(far ? 0.0 : static_cast<double>(x)));
    return is_nan(x) ? x : infinite ? float_of(canonical_nan) : far ? 0.0f : r;
};
constexpr auto cosine = [](float x) {
    const bool far = !(x >= -256.0f && x <= 256.0f), infinite = (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u;
    const float r = odd_from(cos_turns(far ? 0.0 : static_cast<double>(x)));
    return is_nan(x) ? x : infinite ? float_of(canonical_nan) : far ? 1.0f : r;
};

constexpr auto floor_half = [](float x) { return floor_of(x); };
constexpr auto ceil_half = [](float x) { return -floor_of(-x); };
constexpr auto trunc_half = [](float x) { return trunc_of(x); };
constexpr auto rndne_half = [](float x) { return rndne_of(x); };
/// Below 1: the largest FP16 below 1 bounds it, as LLVM's pattern for v_fract says.
constexpr auto fract_half = [](float x) {
    const float r = add_odd(x, -floor_of(x)), limit = float_of(0x3F7FE000u);
    return r > limit ? limit : r;
};
constexpr auto frexp_mant_half = [](float x) { return frexp_mantissa(x); };

void frexp_exp_i16_f16(ValuCall& call) {
    const HalfMode mode(*call.mode);
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane,
                   static_cast<Word>(frexp_exponent(half_of(call.s[0][lane], shift, mode.in))) & 0xFFFF);
    commit(call, result);
}
void ldexp_f16(ValuCall& call) {
    const HalfMode mode(*call.mode);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float x = half_of(call.s[0][lane], 0, mode.in);
        const i32 e = static_cast<i16>(call.s[1][lane]), bounded = e < -60 ? -60 : e > 60 ? 60 : e;
        const float r = x * float_of(static_cast<Word>(127 + bounded) << 23); // exact in FP32
        result.set(lane, to_half(is_nan(x) ? quieted(x) : modify(r, call, call.mode->denorm64), mode));
    }
    commit(call, result);
}
/// v_div_fixup_f16: s0 quotient, s1 denominator, s2 numerator (CDNA4 ISA, pseudo-code of V_DIV_FIXUP_F16).
constexpr auto div_fixup = [](float quotient, float d, float n, bool) {
    const Word sign = (bits_of(d) ^ bits_of(n)) & 0x80000000u;
    const Word md = bits_of(d) & 0x7FFFFFFFu, mn = bits_of(n) & 0x7FFFFFFFu, inf = 0x7F800000u;
    const Word r = mn > inf                                           ? bits_of(n) | 0x00400000u
                   : md > inf                                         ? bits_of(d) | 0x00400000u
                   : (md == 0 && mn == 0) || (md == inf && mn == inf) ? 0xFFC00000u
                   : md == 0 || mn == inf                             ? sign | inf
                   : md == inf || mn == 0 ? sign
                                          : sign | (bits_of(quotient) & 0x7FFFFFFFu);
    return float_of(r);
};

/// v_fma_mix: op_sel_hi says which sources are FP16 (then op_sel picks the half); neg_hi holds the abs bits.
/// One rounding to FP32, then one to FP16 where the result is FP16.
enum class MixResult { f32, low, high };
template <MixResult where>
void fma_mix(ValuCall& call) {
    const FloatMode& fm = *call.mode;
    const HalfMode mode(fm);
    alignas(64) Word operand[3][lanes];
    for (unsigned n = 0; n < 3; ++n) {
        const bool half = call.op_sel_hi >> n & 1, absolute = call.neg_hi >> n & 1,
                   negative = call.neg >> n & 1;
        const unsigned shift = call.op_sel >> n & 1 ? 16 : 0;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            Word x = half ? bits_of(half_of(call.s[n][lane], shift, mode.in)) : call.s[n][lane];
            x = absolute ? x & 0x7FFFFFFFu : x;
            operand[n][lane] = negative ? x ^ 0x80000000u : x;
        }
    }
    Result<float> sum;
    FloatLoop<float, ([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })>::evaluate(
        fm, operand[0], operand[1], operand[2], sum);
    if (where == MixResult::f32) {
        modify_all(call, sum);
        commit(call, sum);
        return;
    }
    const unsigned to = where == MixResult::high ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane,
                   place_half(call.d[lane], to_half(modify(sum.get(lane), call, call.mode->denorm64), mode),
                              to, true));
    commit(call, result);
}

void pack_b32_f16(ValuCall& call) {
    const HalfMode mode(*call.mode);
    const unsigned low = call.op_sel & 1 ? 16 : 0, high = call.op_sel & 2 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, flush_half(call.s[0][lane] >> low & 0xFFFF, mode.in) |
                             flush_half(call.s[1][lane] >> high & 0xFFFF, mode.in) << 16);
    commit(call, result);
}

constexpr OtherHalf clear = OtherHalf::clear, keep = OtherHalf::keep;

constexpr ValuOp ops[] = {
    row("v_add_f16", half_op<add>, f16, f16, f16),
    row("v_sub_f16", half_op<sub>, f16, f16, f16),
    row("v_subrev_f16", half_op<subrev>, f16, f16, f16),
    row("v_mul_f16", half_op<mul>, f16, f16, f16),
    reads_d(row("v_fma_f16", half_op<fma, keep>, f16, f16, f16, f16)),
    row("v_fma_legacy_f16", half_op<fma, clear>, f16, f16, f16, f16),
    reads_d(row("v_mad_f16", half_op<mad, keep>, f16, f16, f16, f16)),
    row("v_mad_legacy_f16", half_op<mad, clear>, f16, f16, f16, f16),
    reads_d(row("v_mac_f16", half_op<mad, keep, false, true>, f16, f16, f16)),
    row("v_max_f16", half_op<max_num<float>, clear, true>, f16, f16, f16),
    row("v_min_f16", half_op<min_num<float>, clear, true>, f16, f16, f16),
    reads_d(row("v_max3_f16", half_op<max3_num<float>, keep, true>, f16, f16, f16, f16)),
    reads_d(row("v_min3_f16", half_op<min3_num<float>, keep, true>, f16, f16, f16, f16)),
    reads_d(row("v_med3_f16", half_op<med3_num<float>, keep, true>, f16, f16, f16, f16)),
    reads_d(row("v_div_fixup_f16", half_op<div_fixup, keep, true>, f16, f16, f16, f16)),
    row("v_div_fixup_legacy_f16", half_op<div_fixup, clear, true>, f16, f16, f16, f16),
    trans(row("v_rcp_f16", half_op<rcp>, f16, f16)),
    trans(row("v_rsq_f16", half_op<rsq>, f16, f16)),
    trans(row("v_sqrt_f16", half_op<root>, f16, f16)),
    trans(row("v_exp_f16", half_op<exp>, f16, f16)),
    trans(row("v_log_f16", half_op<log>, f16, f16)),
    trans(row("v_sin_f16", half_op<sine>, f16, f16)),
    trans(row("v_cos_f16", half_op<cosine>, f16, f16)),
    row("v_floor_f16", half_op<floor_half>, f16, f16),
    row("v_ceil_f16", half_op<ceil_half>, f16, f16),
    row("v_trunc_f16", half_op<trunc_half>, f16, f16),
    row("v_rndne_f16", half_op<rndne_half>, f16, f16),
    row("v_fract_f16", half_op<fract_half>, f16, f16),
    row("v_frexp_mant_f16", half_op<frexp_mant_half>, f16, f16),
    row("v_frexp_exp_i16_f16", frexp_exp_i16_f16, b32, f16),
    row("v_ldexp_f16", ldexp_f16, f16, f16, b32),
    row("v_pack_b32_f16", pack_b32_f16, pk_f16, f16, f16),

    row("v_fma_mix_f32", fma_mix<MixResult::f32>, f32, f32, f32, f32),
    reads_d(row("v_fma_mixlo_f16", fma_mix<MixResult::low>, f16, f32, f32, f32)),
    reads_d(row("v_fma_mixhi_f16", fma_mix<MixResult::high>, f16, f32, f32, f32)),

    row("v_pk_add_f16", packed_half_op<add>, pk_f16, pk_f16, pk_f16),
    row("v_pk_mul_f16", packed_half_op<mul>, pk_f16, pk_f16, pk_f16),
    row("v_pk_fma_f16", packed_half_op<fma>, pk_f16, pk_f16, pk_f16, pk_f16),
    reads_d(row("v_pk_fmac_f16", packed_half_op<fma, false, true>, pk_f16, pk_f16, pk_f16)),
    row("v_pk_max_f16", packed_half_op<max_num<float>, true>, pk_f16, pk_f16, pk_f16),
    row("v_pk_min_f16", packed_half_op<min_num<float>, true>, pk_f16, pk_f16, pk_f16),
    row("v_pk_maximum3_f16", packed_half_op<maximum3<float>, true>, pk_f16, pk_f16, pk_f16, pk_f16),
    row("v_pk_minimum3_f16", packed_half_op<minimum3<float>, true>, pk_f16, pk_f16, pk_f16, pk_f16),
};

} // namespace

Span<ValuOp> float16_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
