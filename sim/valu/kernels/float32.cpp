// SPDX-License-Identifier: Apache-2.0
// FP32 arithmetic, selection and transcendentals (CDNA4 ISA, VOP1, VOP2 and VOP3 opcode tables).
#include "sim/math/kernels/transcendental.hpp"
#include "sim/valu/kernels/apply.hpp"
#include "sim/valu/kernels/select.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

// ---- Transcendentals: subnormal inputs read as 0 and subnormal results become 0, whatever MODE says (LLVM
// AMDGPU lowering of exp2, log2, rcp; measured for v_exp on a sibling chip by AMD's rocjitsu).

template <auto f>
void trans32(ValuCall& call) {
    constexpr Word always = FloatBits<float>::magnitude;
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, flush(f(flush(read<float>(call.s[0], lane), always)), always));
    modify_all(call, result);
    commit(call, result);
}

ZYFA_SIM_INLINE float exp32(float x) {
    const double clamped = x < -200.0f ? -200.0 : x > 200.0f ? 200.0 : static_cast<double>(x);
    const float r = static_cast<float>(exp2_of(clamped));
    return is_nan(x) ? quieted(x) : r;
}
ZYFA_SIM_INLINE float log32(float x) {
    const float r = static_cast<float>(log2_of(static_cast<double>(x)));
    const Word bits = bits_of(x);
    const Word special = (bits & 0x7FFFFFFFu) == 0 ? 0xFF800000u        // +-0
                         : is_nan(x)               ? bits | 0x00400000u // NaN
                         : bits == 0x7F800000u     ? bits               // +Inf
                                                   : canonical_nan;     // negative
    const bool ordinary = bits - 1 < 0x7F7FFFFFu;
    return ordinary ? r : float_of(special);
}
ZYFA_SIM_INLINE float rcp32(float x) {
    return is_nan(x) ? quieted(x) : 1.0f / x;
}
ZYFA_SIM_INLINE float nan_or(float x, float r) {
    return is_nan(x) ? quieted(x) : is_nan(r) ? float_of(canonical_nan) : r;
}
ZYFA_SIM_INLINE float rsq32(float x) {
    return nan_or(x, static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))));
}
ZYFA_SIM_INLINE float sqrt32(float x) {
    return nan_or(x, __builtin_sqrtf(x));
}
// Valid to 256 turns (CDNA4 ISA); beyond, sin gives 0 and cos 1.
ZYFA_SIM_INLINE float sin32(float x) {
    const bool far = !(x >= -256.0f && x <= 256.0f);
    const float r = static_cast<float>(sin_turns(far ? 0.0 : static_cast<double>(x)));
    return is_nan(x)                                   ? quieted(x)
           : (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u ? float_of(canonical_nan)
           : far                                       ? 0.0f
                                                       : r;
}
ZYFA_SIM_INLINE float cos32(float x) {
    const bool far = !(x >= -256.0f && x <= 256.0f);
    const float r = static_cast<float>(cos_turns(far ? 0.0 : static_cast<double>(x)));
    return is_nan(x)                                   ? quieted(x)
           : (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u ? float_of(canonical_nan)
           : far                                       ? 1.0f
                                                       : r;
}

constexpr auto add = [](float a, float b) { return a + b; };
constexpr auto sub = [](float a, float b) { return a - b; };
constexpr auto subrev = [](float a, float b) { return b - a; };
constexpr auto mul = [](float a, float b) { return a * b; };
constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
/// 0 * anything = 0.
constexpr auto mul_legacy = [](float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; };

constexpr ValuOp ops[] = {
    row("v_add_f32", f32op<add>, f32, f32, f32, two_cycle),
    row("v_sub_f32", f32op<sub>, f32, f32, f32, two_cycle),
    row("v_subrev_f32", f32op<subrev>, f32, f32, f32, two_cycle),
    row("v_mul_f32", f32op<mul>, f32, f32, f32, two_cycle),
    row("v_mul_legacy_f32", f32op<mul_legacy>, f32, f32, f32, two_cycle),
    row("v_fma_f32", f32op<fma>, f32, f32, f32, f32, two_cycle),
    reads_d(row("v_fmac_f32", f32op_d<fma>, f32, f32, f32, two_cycle)),
    row("v_max_f32", select_op<float, max_num<float>>, f32, f32, f32),
    row("v_min_f32", select_op<float, min_num<float>>, f32, f32, f32),
    row("v_max3_f32", select_op<float, max3_num<float>>, f32, f32, f32, f32),
    row("v_min3_f32", select_op<float, min3_num<float>>, f32, f32, f32, f32),
    row("v_med3_f32", select_op<float, med3_num<float>>, f32, f32, f32, f32),
    row("v_maximum3_f32", select_op<float, maximum3<float>>, f32, f32, f32, f32),
    row("v_minimum3_f32", select_op<float, minimum3<float>>, f32, f32, f32, f32),
    trans(row("v_exp_f32", trans32<exp32>, f32, f32)),
    trans(row("v_exp_legacy_f32", trans32<exp32>, f32, f32)),
    trans(row("v_log_f32", trans32<log32>, f32, f32)),
    trans(row("v_log_legacy_f32", trans32<log32>, f32, f32)),
    trans(row("v_rcp_f32", trans32<rcp32>, f32, f32)),
    trans(row("v_rcp_iflag_f32", trans32<rcp32>, f32, f32)),
    trans(row("v_rsq_f32", trans32<rsq32>, f32, f32)),
    trans(row("v_sqrt_f32", trans32<sqrt32>, f32, f32)),
    trans(row("v_sin_f32", trans32<sin32>, f32, f32)),
    trans(row("v_cos_f32", trans32<cos32>, f32, f32)),
};

} // namespace

Span<ValuOp> float32_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
