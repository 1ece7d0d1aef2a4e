// SPDX-License-Identifier: Apache-2.0
// FP32 arithmetic, selection and transcendentals (CDNA4 ISA, VOP1, VOP2 and VOP3 opcode tables).
#include "sim/math/kernels/transcendental.hpp"
#include "sim/valu/kernels/division.hpp"
#include "sim/valu/kernels/scale.hpp"
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
    const float clamped = pick(x < -200.0f, -200.0f, pick(x > 200.0f, 200.0f, x));
    const float r = static_cast<float>(exp2_of(static_cast<double>(clamped)));
    return pick(is_nan(x), quieted(x), r);
}
ZYFA_SIM_INLINE float log32(float x) {
    const float r = static_cast<float>(log2_of(static_cast<double>(x)));
    const Word bits = bits_of(x), minus_infinity = 0xFF800000u, plus_infinity = 0x7F800000u;
    const Word positive = pick(bits == plus_infinity, plus_infinity, canonical_nan); // else: negative
    const Word special =
        pick(is_nan(x), bits | 0x00400000u, pick((bits & 0x7FFFFFFFu) == 0, minus_infinity, positive));
    const bool ordinary = bits - 1 < 0x7F7FFFFFu;
    return pick(ordinary, r, float_of(special));
}
ZYFA_SIM_INLINE float rcp32(float x) {
    return pick(is_nan(x), quieted(x), 1.0f / x);
}
ZYFA_SIM_INLINE float nan_or(float x, float r) {
    return pick(is_nan(x), quieted(x), pick(is_nan(r), float_of(canonical_nan), r));
}
ZYFA_SIM_INLINE float rsq32(float x) {
    return nan_or(x, static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))));
}
ZYFA_SIM_INLINE float sqrt32(float x) {
    return nan_or(x, __builtin_sqrtf(x));
}
// Valid to 256 turns (CDNA4 ISA); beyond, sin gives 0 and cos 1.
ZYFA_SIM_INLINE float periodic(float x, float r, bool far, float beyond) {
    const bool infinite = (bits_of(x) & 0x7FFFFFFFu) == 0x7F800000u;
    return pick(is_nan(x), quieted(x), pick(infinite, float_of(canonical_nan), pick(far, beyond, r)));
}
ZYFA_SIM_INLINE float sin32(float x) {
    const bool far = !((x >= -256.0f) & (x <= 256.0f));
    const double reduced = static_cast<double>(pick(far, 0.0f, x));
    return periodic(x, static_cast<float>(sin_turns(reduced)), far, 0.0f);
}
ZYFA_SIM_INLINE float cos32(float x) {
    const bool far = !((x >= -256.0f) & (x <= 256.0f));
    const double reduced = static_cast<double>(pick(far, 0.0f, x));
    return periodic(x, static_cast<float>(cos_turns(reduced)), far, 1.0f);
}

// ---- Rounding to integers and taking apart

ZYFA_SIM_INLINE float quiet(float x, float r) {
    return is_nan(x) ? quieted(x) : r;
}
constexpr auto floor32 = [](float x, bool) { return quiet(x, floor_of(x)); };
constexpr auto ceil32 = [](float x, bool) { return quiet(x, ceil_of(x)); };
constexpr auto trunc32 = [](float x, bool) { return quiet(x, trunc_of(x)); };
constexpr auto rndne32 = [](float x, bool) { return quiet(x, rndne_of(x)); };
constexpr auto frexp_mant32 = [](float x, bool) { return frexp_mantissa(x); };
/// Below 1 (LLVM's pattern for v_fract: min(x - floor(x), the float below 1)).
constexpr auto fract32 = [](float x) {
    const float r = x - floor_of(x), limit = float_of(0x3F7FFFFFu);
    return r > limit ? limit : r;
};
void frexp_exp_i32(ValuCall& call) {
    const Word in = flush_inputs<float>(*call.mode);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, static_cast<Word>(frexp_exponent(flush(read<float>(call.s[0], lane), in))));
    commit(call, result);
}

struct Ldexp {
    const Word *x, *e;
    Word in, out;
    float r[lanes];
};
void ldexp_lanes(Ldexp& l) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const i32 e = static_cast<i32>(l.e[lane]), bounded = e < -400 ? -400 : e > 400 ? 400 : e;
        const float x = flush(float_of(l.x[lane]), l.in);
        const float r =
            static_cast<float>(static_cast<double>(x) * exp2_exact(bounded)); // exact, then rounded once
        l.r[lane] = quiet(x, flush(r, l.out));
    }
}
void ldexp_f32(ValuCall& call) {
    Ldexp l{call.s[0], call.s[1], flush_inputs<float>(*call.mode), flush_outputs<float>(*call.mode), {}};
    with_rounding<Ldexp>(call.mode->round32, ldexp_lanes, l);
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, l.r[lane]);
    modify_all(call, result);
    commit(call, result);
}

// ---- Cube map coordinates (CDNA4 ISA, pseudo-code of V_CUBEID_F32 and its companions)

enum class Axis { x, y, z };
ZYFA_SIM_INLINE Axis major_axis(float x, float y, float z) {
    const Word ax = bits_of(x) & 0x7FFFFFFFu, ay = bits_of(y) & 0x7FFFFFFFu, az = bits_of(z) & 0x7FFFFFFFu;
    return az >= ax && az >= ay ? Axis::z : ay >= ax ? Axis::y : Axis::x;
}
constexpr auto cube_id = [](float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return axis == Axis::z   ? (z < 0 ? 5.0f : 4.0f)
           : axis == Axis::y ? (y < 0 ? 3.0f : 2.0f)
           : x < 0           ? 1.0f
                             : 0.0f;
};
constexpr auto cube_ma = [](float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return 2.0f * (axis == Axis::z ? z : axis == Axis::y ? y : x);
};
constexpr auto cube_sc = [](float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return axis == Axis::z ? (z < 0 ? -x : x) : axis == Axis::y ? x : x < 0 ? z : -z;
};
constexpr auto cube_tc = [](float x, float y, float z) {
    const Axis axis = major_axis(x, y, z);
    return axis == Axis::y ? (y < 0 ? -z : z) : -y;
};

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
    row("v_floor_f32", select_op<float, floor32>, f32, f32),
    row("v_ceil_f32", select_op<float, ceil32>, f32, f32),
    row("v_trunc_f32", select_op<float, trunc32>, f32, f32),
    row("v_rndne_f32", select_op<float, rndne32>, f32, f32),
    row("v_fract_f32", f32op<fract32>, f32, f32),
    row("v_frexp_mant_f32", select_op<float, frexp_mant32>, f32, f32),
    row("v_frexp_exp_i32_f32", frexp_exp_i32, b32, f32),
    row("v_ldexp_f32", ldexp_f32, f32, f32, b32),
    writes_mask(row("v_div_scale_f32", div_scale<float>, f32, f32, f32, f32)),
    reads_mask(row("v_div_fmas_f32", div_fmas<float>, f32, f32, f32, f32)),
    row("v_div_fixup_f32", div_fixup<float>, f32, f32, f32, f32),
    row("v_cubeid_f32", f32op<cube_id>, f32, f32, f32, f32),
    row("v_cubema_f32", f32op<cube_ma>, f32, f32, f32, f32),
    row("v_cubesc_f32", f32op<cube_sc>, f32, f32, f32, f32),
    row("v_cubetc_f32", f32op<cube_tc>, f32, f32, f32, f32),
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
