// SPDX-License-Identifier: Apache-2.0
// FP64 arithmetic and conversions (CDNA4 ISA, VOP1, VOP2 and VOP3 opcode tables).
#include "sim/valu/kernels/division.hpp"
#include "sim/valu/kernels/scale.hpp"
#include "sim/valu/kernels/select.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

constexpr auto add = [](double a, double b) { return a + b; };
constexpr auto mul = [](double a, double b) { return a * b; };
constexpr auto fma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };
// Hardware gives estimates of about 2^-29 relative (LLVM's expansions of division and square root refine
// them); here they are correctly rounded.
constexpr auto rcp = [](double x) { return 1.0 / x; };
constexpr auto rsq = [](double x) { return 1.0 / __builtin_sqrt(x); };
constexpr auto root = [](double x) { return __builtin_sqrt(x); };
constexpr auto quiet = [](double x, double r) { return is_nan(x) ? quieted(x) : r; };
constexpr auto floor64 = [](double x, bool) { return quiet(x, floor_of(x)); };
constexpr auto ceil64 = [](double x, bool) { return quiet(x, ceil_of(x)); };
constexpr auto trunc64 = [](double x, bool) { return quiet(x, trunc_of(x)); };
constexpr auto rndne64 = [](double x, bool) { return quiet(x, rndne_of(x)); };
constexpr auto fract64 = [](double x) {
    const double r = x - floor_of(x), limit = double_of(0x3FEFFFFFFFFFFFFFu);
    return r > limit ? limit : r;
};
constexpr auto frexp_mant64 = [](double x, bool) { return frexp_mantissa(x); };

ZYFA_SIM_INLINE i32 to_i32(double x) {
    const double bounded = x > -2147483648.0 ? x < 2147483647.0 ? x : 2147483647.0 : -2147483648.0;
    return is_nan(x) ? 0 : static_cast<i32>(bounded);
}
ZYFA_SIM_INLINE Word to_u32(double x) {
    const double bounded = x > 0.0 ? x < 4294967295.0 ? x : 4294967295.0 : 0.0;
    return static_cast<Word>(static_cast<i64>(bounded));
}

/// MODE's FP32 fields apply to the FP32 side.
struct Narrow {
    const Word* s;
    float* r;
    Word64 in;
    Word out;
};
void narrow_lanes(Narrow& n) {
    for (unsigned lane = 0; lane < lanes; ++lane)
        n.r[lane] = flush(static_cast<float>(flush(read<double>(n.s, lane), n.in)), n.out);
}
void f64_to_f32(ValuCall& call) {
    float values[lanes];
    Narrow n{call.s[0], values, flush_inputs<double>(*call.mode), flush_outputs<float>(*call.mode)};
    with_rounding<Narrow>(call.mode->round32, narrow_lanes, n);
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, values[lane]);
    modify_all(call, result);
    commit(call, result);
}
void f32_to_f64(ValuCall& call) {
    const Word in = flush_inputs<float>(*call.mode);
    Result<double> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float x = flush(read<float>(call.s[0], lane), in);
        result.set(lane, static_cast<double>(is_nan(x) ? quieted(x) : x));
    }
    modify_all(call, result);
    commit(call, result);
}
template <auto f>
void int_to_f64(ValuCall& call) {
    Result<double> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, signature<f>::template at<f>(call, lane));
    modify_all(call, result);
    commit(call, result);
}

void ldexp_f64(ValuCall& call) {
    const auto in = flush_inputs<double>(*call.mode), out = flush_outputs<double>(*call.mode);
    Result<double> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const double x = flush(read<double>(call.s[0], lane), in);
        const double r = scaled(x, static_cast<i32>(call.s[1][lane]));
        result.set(lane, flush(is_nan(x) ? quieted(x) : r, out));
    }
    modify_all(call, result);
    commit(call, result);
}

/// 2/pi in binary, 1201 bits after the point, most significant word first (v_trig_preop_f64).
constexpr Word two_over_pi[] = {
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561,
    0xB7246E3A, 0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484,
    0xE99C7026, 0xB45F7E41, 0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F,
    0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF, 0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B,
    0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08, 0x56033046, 0xFC7B6BAB};
/// Bit i after the binary point, 0 the most significant; zero beyond the 1201 that the instruction holds.
ZYFA_SIM_INLINE Word64 two_over_pi_bit(unsigned i) {
    return i < 1201 ? two_over_pi[i / 32] >> (31 - i % 32) & 1 : 0;
}
void trig_preop_f64(ValuCall& call) {
    Result<double> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const int exponent = exponent_field(read<double>(call.s[0], lane));
        const unsigned shift =
            (call.s[1][lane] & 31) * 53 + (exponent > 1077 ? static_cast<unsigned>(exponent - 1077) : 0);
        Word64 bits = 0;
        for (unsigned i = 0; i < 53; ++i)
            bits = bits << 1 | two_over_pi_bit(shift + i);
        const int scale = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
        result.set(lane, scaled(static_cast<double>(static_cast<i64>(bits)), scale));
    }
    modify_all(call, result);
    commit(call, result);
}

constexpr ValuOp sixteen(ValuOp op) {
    op.pipe = sixteen_cycle;
    return op;
}

constexpr ValuOp ops[] = {
    row("v_add_f64", f64op<add>, f64, f64, f64),
    row("v_mul_f64", f64op<mul>, f64, f64, f64),
    row("v_fma_f64", f64op<fma>, f64, f64, f64, f64),
    reads_d(row("v_fmac_f64", f64op_d<fma>, f64, f64, f64)),
    row("v_max_f64", select_op<double, max_num<double>>, f64, f64, f64),
    row("v_min_f64", select_op<double, min_num<double>>, f64, f64, f64),
    sixteen(trans(row("v_rcp_f64", f64op<rcp>, f64, f64))),
    sixteen(trans(row("v_rsq_f64", f64op<rsq>, f64, f64))),
    sixteen(trans(row("v_sqrt_f64", f64op<root>, f64, f64))),
    row("v_floor_f64", select_op<double, floor64>, f64, f64),
    row("v_ceil_f64", select_op<double, ceil64>, f64, f64),
    row("v_trunc_f64", select_op<double, trunc64>, f64, f64),
    row("v_rndne_f64", select_op<double, rndne64>, f64, f64),
    row("v_fract_f64", f64op<fract64>, f64, f64),
    row("v_frexp_mant_f64", select_op<double, frexp_mant64>, f64, f64),
    row("v_frexp_exp_i32_f64", map<([](double x) { return frexp_exponent(x); })>, b32, f64),
    row("v_ldexp_f64", ldexp_f64, f64, f64, b32),
    writes_mask(row("v_div_scale_f64", div_scale<double>, f64, f64, f64, f64)),
    reads_mask(row("v_div_fmas_f64", div_fmas<double>, f64, f64, f64, f64)),
    row("v_div_fixup_f64", div_fixup<double>, f64, f64, f64, f64),
    row("v_trig_preop_f64", trig_preop_f64, f64, f64, b32),
    row("v_cvt_f32_f64", f64_to_f32, f32, f64),
    row("v_cvt_f64_f32", f32_to_f64, f64, f32),
    row("v_cvt_f64_i32", int_to_f64<([](i32 x) { return static_cast<double>(x); })>, f64, b32),
    row("v_cvt_f64_u32", int_to_f64<([](Word x) { return static_cast<double>(x); })>, f64, b32),
    row("v_cvt_i32_f64", map<([](double x) { return to_i32(x); })>, b32, f64),
    row("v_cvt_u32_f64", map<([](double x) { return to_u32(x); })>, b32, f64),
};

} // namespace

Span<ValuOp> float64_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
