// SPDX-License-Identifier: Apache-2.0
// Block-scaled conversions between FP32, FP16, BF16 and FP8, BF8, FP6, BF6, FP4 (CDNA4 ISA,
// V_CVT_SCALEF32_*), and the stochastic conversions to FP16 and BF16. The scale is a float of which only the
// exponent counts: E8M0. Towards the small format the value is divided by 2^(exponent - 127), from it
// multiplied. Scaling is exact in double; one rounding follows, to nearest even or stochastic. FP6, BF6 and
// FP4 saturate (they have no other value for an overflow); FP8 and BF8 overflow as v_cvt_pk_fp8_f32 does, by
// FP16_OVFL. A scale of 255 gives NaN where the target has one.
#include "sim/valu/kernels/half.hpp"
#include "sim/valu/kernels/scale.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

// ---- The wide side: FP32, FP16 or BF16 elements

struct Wide32 {
    static constexpr int bits = 32;
    static ZYFA_SIM_INLINE float value(Word code) { return float_of(code); }
    static ZYFA_SIM_INLINE Word code(double x, bool) { return bits_of(static_cast<float>(x)); }
};
struct Wide16 {
    static constexpr int bits = 16;
    static ZYFA_SIM_INLINE float value(Word code) { return F16::to_float(code); }
    static ZYFA_SIM_INLINE Word code(double x, bool saturate) {
        return Encode<F16>::nearest(bits_of(odd_from(x)), saturate);
    }
};
struct WideBrain {
    static constexpr int bits = 16;
    static ZYFA_SIM_INLINE float value(Word code) { return float_of(code << 16); }
    static ZYFA_SIM_INLINE Word code(double x, bool) { return bf16_nearest(bits_of(odd_from(x))); }
};
/// Element n of consecutive registers.
template <int Bits>
ZYFA_SIM_INLINE Word element_at(const Word* regs, unsigned n, unsigned lane) {
    const unsigned bit = n * Bits, word = bit / 32, shift = bit % 32;
    Word64 wide = regs[word * lanes + lane];
    if (shift + Bits > 32)
        wide |= static_cast<Word64>(regs[(word + 1) * lanes + lane]) << 32;
    return static_cast<Word>(wide >> shift) & (Bits == 32 ? ~0u : (1u << Bits % 32) - 1);
}
template <int Bits>
ZYFA_SIM_INLINE void put_element(Word* regs, unsigned n, unsigned lane, Word code) {
    const unsigned bit = n * Bits, word = bit / 32, shift = bit % 32;
    regs[word * lanes + lane] |= code << shift;
    if (shift + Bits > 32)
        regs[(word + 1) * lanes + lane] |= code >> (32 - shift);
}

// ---- Scaling

ZYFA_SIM_INLINE int scale_exponent(Word scale) {
    return static_cast<int>(scale >> 23 & 255);
}
/// FP32 bits of x / 2^(e - 127), its magnitude brought into FP32's normal range: no target code depends on
/// more.
ZYFA_SIM_INLINE Word divided(float x, int e) {
    const Word bits = bits_of(x);
    if (e == 255)
        return canonical_nan;
    if ((bits & 0x7FFFFFFFu) == 0 || (bits & 0x7F800000u) == 0x7F800000u)
        return bits;
    const double scaled_value = static_cast<double>(x) * exp2_exact(127 - e);
    const double magnitude = scaled_value < 0 ? -scaled_value : scaled_value;
    const Word sign = bits & 0x80000000u;
    if (magnitude >= 0x1p127)
        return sign | 0x7F000000u;
    if (magnitude < 0x1p-126)
        return sign | 0x00800000u;
    return bits_of(static_cast<float>(scaled_value));
}
ZYFA_SIM_INLINE double multiplied(float x, int e) {
    return e == 255 ? double_of(0x7FF8000000000000u) : static_cast<double>(x) * exp2_exact(e - 127);
}
/// The steps of v_prng_b32.
ZYFA_SIM_INLINE Word next_random(Word x) {
    return x << 1 ^ (x >> 31 ? 0xC5u : 0u);
}

template <class Narrow, class Wide>
ZYFA_SIM_INLINE Word narrowed(Word code, int e, bool saturate) {
    return Encode<Narrow>::nearest(divided(Wide::value(code), e), saturate);
}
template <class Narrow, class Wide>
ZYFA_SIM_INLINE Word narrowed_stochastic(Word code, Word random, int e, bool saturate) {
    return Encode<Narrow>::stochastic(divided(Wide::value(code), e), random, saturate);
}
template <class Narrow, class Wide>
ZYFA_SIM_INLINE Word widened(Word code, int e, bool saturate) {
    return Wide::code(multiplied(Narrow::to_float(code), e), saturate);
}

// ---- To the small format

/// Where a result of 8 or 16 bits goes: op_sel bit 3 picks the half, bits 3:2 the byte.
template <class Narrow>
ZYFA_SIM_INLINE Word merged(Word d, Word value, unsigned op_sel, bool pair) {
    const unsigned width = Narrow::bits * (pair ? 2 : 1);
    const unsigned shift = width == 16 ? (op_sel & 8 ? 16 : 0) : 8 * (op_sel >> 2 & 3);
    const Word mask = (width == 16 ? 0xFFFFu : 0xFFu) << shift;
    return (d & ~mask) | value << shift;
}
/// Two FP32 sources and a scale.
template <class Narrow>
void pk_from_f32(ValuCall& call) {
    const bool saturate = call.mode->fp16_ovfl;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const int e = scale_exponent(call.s[2][lane]);
        const Word pair = narrowed<Narrow, Wide32>(call.s[0][lane], e, saturate) |
                          narrowed<Narrow, Wide32>(call.s[1][lane], e, saturate) << Narrow::bits;
        result.set(lane, merged<Narrow>(call.d[lane], pair, call.op_sel, true));
    }
    commit(call, result);
}
/// A source of two 16-bit elements and a scale.
template <class Narrow, class Wide>
void pk_from_16(ValuCall& call) {
    const bool saturate = call.mode->fp16_ovfl;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const int e = scale_exponent(call.s[1][lane]);
        const Word pair = narrowed<Narrow, Wide>(call.s[0][lane] & 0xFFFF, e, saturate) |
                          narrowed<Narrow, Wide>(call.s[0][lane] >> 16, e, saturate) << Narrow::bits;
        result.set(lane, merged<Narrow>(call.d[lane], pair, call.op_sel, true));
    }
    commit(call, result);
}
/// One element, a random word, a scale.
template <class Narrow, class Wide>
void sr_one(ValuCall& call) {
    const bool saturate = call.mode->fp16_ovfl;
    const unsigned from = Wide::bits == 16 && (call.op_sel & 1) ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word code = call.s[0][lane] >> from & (Wide::bits == 32 ? ~0u : 0xFFFFu);
        const Word byte = narrowed_stochastic<Narrow, Wide>(code, call.s[1][lane],
                                                            scale_exponent(call.s[2][lane]), saturate);
        result.set(lane, merged<Narrow>(call.d[lane], byte, call.op_sel, false));
    }
    commit(call, result);
}
/// N elements from consecutive registers, a random word that steps from element to element, a scale.
template <class Narrow, class Wide, unsigned N>
ZYFA_SIM_INLINE void sr_elements(const ValuCall& call, unsigned lane, Word* out) {
    Word random = call.s[1][lane];
    const int e = scale_exponent(call.s[2][lane]);
    for (unsigned n = 0; n < N; ++n) {
        const Word code = element_at<Wide::bits>(call.s[0], n, lane);
        put_element<Narrow::bits>(out, n, lane,
                                  narrowed_stochastic<Narrow, Wide>(code, random, e, call.mode->fp16_ovfl));
        random = next_random(random);
    }
}
template <class Narrow, class Wide>
void sr_pk(ValuCall& call) {
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        alignas(64) Word pair[lanes] = {};
        sr_elements<Narrow, Wide, 2>(call, lane, pair);
        result.set(lane, merged<Narrow>(call.d[lane], pair[lane], call.op_sel, true));
    }
    commit(call, result);
}
template <class Narrow, class Wide>
void sr_pk32(ValuCall& call) {
    alignas(64) Word result[Narrow::bits * lanes] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        sr_elements<Narrow, Wide, 32>(call, lane, result);
    commit(call, result, Narrow::bits);
}
template <class Narrow, class Wide>
void pk32_from_16(ValuCall& call) {
    alignas(64) Word result[Narrow::bits * lanes] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned n = 0; n < 32; ++n)
            put_element<Narrow::bits>(result, n, lane,
                                      narrowed<Narrow, Wide>(element_at<16>(call.s[0], n, lane),
                                                             scale_exponent(call.s[1][lane]), true));
    commit(call, result, Narrow::bits);
}
/// Elements of s0 and s1 alternate.
template <class Narrow>
void two_pk16_from_f32(ValuCall& call) {
    alignas(64) Word result[Narrow::bits * lanes] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned n = 0; n < 32; ++n)
            put_element<Narrow::bits>(result, n, lane,
                                      narrowed<Narrow, Wide32>(call.s[n % 2][n / 2 * lanes + lane],
                                                               scale_exponent(call.s[2][lane]), true));
    commit(call, result, Narrow::bits);
}

// ---- From the small format

/// The byte, or for a pair of FP8 the half, of the source that op_sel's low bits pick.
template <class Narrow, class Wide>
void one_to_wide(ValuCall& call) {
    const unsigned shift = 8 * (call.op_sel & 3), to = Wide::bits == 16 && (call.op_sel & 8) ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word r = widened<Narrow, Wide>(call.s[0][lane] >> shift & 255, scale_exponent(call.s[1][lane]),
                                             call.mode->fp16_ovfl);
        result.set(lane, Wide::bits == 32 ? r : place_half(call.d[lane], r, to, true));
    }
    commit(call, result);
}
template <class Narrow, class Wide>
void pk_to_wide(ValuCall& call) {
    const unsigned shift = Narrow::bits == 8 ? (call.op_sel & 1 ? 16 : 0) : 8 * (call.op_sel & 3);
    alignas(64) Word result[2 * lanes] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned n = 0; n < 2; ++n) {
            const Word code = call.s[0][lane] >> (shift + n * Narrow::bits) & ((1u << Narrow::bits) - 1);
            put_element<Wide::bits>(
                result, n, lane,
                widened<Narrow, Wide>(code, scale_exponent(call.s[1][lane]), call.mode->fp16_ovfl));
        }
    commit(call, result, Wide::bits / 16);
}
template <class Narrow, class Wide>
void pk32_to_wide(ValuCall& call) {
    alignas(64) Word result[Wide::bits * lanes] = {};
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned n = 0; n < 32; ++n)
            put_element<Wide::bits>(result, n, lane,
                                    widened<Narrow, Wide>(element_at<Narrow::bits>(call.s[0], n, lane),
                                                          scale_exponent(call.s[1][lane]),
                                                          call.mode->fp16_ovfl));
    commit(call, result, Wide::bits);
}

// ---- Stochastic FP32 to FP16 and BF16, into the half that op_sel bit 3 picks

void sr_f16_f32(ValuCall& call) {
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane,
                   place_half(call.d[lane],
                              Encode<F16>::stochastic(call.s[0][lane], call.s[1][lane], call.mode->fp16_ovfl),
                              to, true));
    commit(call, result);
}
void sr_bf16_f32(ValuCall& call) {
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word x = call.s[0][lane], magnitude = x & 0x7FFFFFFFu;
        const Word r = magnitude >= 0x7F800000u ? bf16_nearest(x) : (x + (call.s[1][lane] >> 16)) >> 16;
        result.set(lane, place_half(call.d[lane], r, to, true));
    }
    commit(call, result);
}

constexpr ValuOp ops[] = {
    reads_d(row("v_cvt_sr_f16_f32", sr_f16_f32, b32, f32, b32)),
    reads_d(row("v_cvt_sr_bf16_f32", sr_bf16_f32, b32, f32, b32)),

    reads_d(row("v_cvt_scalef32_pk_fp8_f32", pk_from_f32<E4M3>, b32, f32, f32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_bf8_f32", pk_from_f32<E5M2>, b32, f32, f32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_fp4_f32", pk_from_f32<E2M1>, b32, f32, f32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_fp8_f16", pk_from_16<E4M3, Wide16>, b32, pk_f16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_bf8_f16", pk_from_16<E5M2, Wide16>, b32, pk_f16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_fp4_f16", pk_from_16<E2M1, Wide16>, b32, pk_f16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_fp8_bf16", pk_from_16<E4M3, WideBrain>, b32, pk_b16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_bf8_bf16", pk_from_16<E5M2, WideBrain>, b32, pk_b16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_pk_fp4_bf16", pk_from_16<E2M1, WideBrain>, b32, pk_b16, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_fp8_f32", sr_one<E4M3, Wide32>, b32, f32, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_bf8_f32", sr_one<E5M2, Wide32>, b32, f32, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_fp8_f16", sr_one<E4M3, Wide16>, b32, f16, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_bf8_f16", sr_one<E5M2, Wide16>, b32, f16, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_fp8_bf16", sr_one<E4M3, WideBrain>, b32, f16, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_bf8_bf16", sr_one<E5M2, WideBrain>, b32, f16, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_pk_fp4_f32", sr_pk<E2M1, Wide32>, b32, pk_f32, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_pk_fp4_f16", sr_pk<E2M1, Wide16>, b32, pk_f16, b32, f32, eight_cycle)),
    reads_d(row("v_cvt_scalef32_sr_pk_fp4_bf16", sr_pk<E2M1, WideBrain>, b32, pk_b16, b32, f32, eight_cycle)),
    row("v_cvt_scalef32_sr_pk32_fp6_f32", sr_pk32<E2M3, Wide32>, b192, b1024, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_sr_pk32_bf6_f32", sr_pk32<E3M2, Wide32>, b192, b1024, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_sr_pk32_fp6_f16", sr_pk32<E2M3, Wide16>, b192, b512, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_sr_pk32_bf6_f16", sr_pk32<E3M2, Wide16>, b192, b512, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_sr_pk32_fp6_bf16", sr_pk32<E2M3, WideBrain>, b192, b512, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_sr_pk32_bf6_bf16", sr_pk32<E3M2, WideBrain>, b192, b512, b32, f32, sixteen_cycle),
    row("v_cvt_scalef32_2xpk16_fp6_f32", two_pk16_from_f32<E2M3>, b192, b512, b512, f32, sixteen_cycle),
    row("v_cvt_scalef32_2xpk16_bf6_f32", two_pk16_from_f32<E3M2>, b192, b512, b512, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_fp6_f16", pk32_from_16<E2M3, Wide16>, b192, b512, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_bf6_f16", pk32_from_16<E3M2, Wide16>, b192, b512, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_fp6_bf16", pk32_from_16<E2M3, WideBrain>, b192, b512, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_bf6_bf16", pk32_from_16<E3M2, WideBrain>, b192, b512, f32, sixteen_cycle),

    row("v_cvt_scalef32_f32_fp8", one_to_wide<E4M3, Wide32>, f32, b32, f32),
    row("v_cvt_scalef32_f32_bf8", one_to_wide<E5M2, Wide32>, f32, b32, f32),
    reads_d(row("v_cvt_scalef32_f16_fp8", one_to_wide<E4M3, Wide16>, b32, b32, f32)),
    reads_d(row("v_cvt_scalef32_f16_bf8", one_to_wide<E5M2, Wide16>, b32, b32, f32)),
    row("v_cvt_scalef32_pk_f32_fp8", pk_to_wide<E4M3, Wide32>, pk_f32, b32, f32),
    row("v_cvt_scalef32_pk_f32_bf8", pk_to_wide<E5M2, Wide32>, pk_f32, b32, f32),
    row("v_cvt_scalef32_pk_f32_fp4", pk_to_wide<E2M1, Wide32>, pk_f32, b32, f32),
    row("v_cvt_scalef32_pk_f16_fp8", pk_to_wide<E4M3, Wide16>, pk_f16, b32, f32),
    row("v_cvt_scalef32_pk_f16_bf8", pk_to_wide<E5M2, Wide16>, pk_f16, b32, f32),
    row("v_cvt_scalef32_pk_f16_fp4", pk_to_wide<E2M1, Wide16>, pk_f16, b32, f32),
    row("v_cvt_scalef32_pk_bf16_fp8", pk_to_wide<E4M3, WideBrain>, pk_b16, b32, f32),
    row("v_cvt_scalef32_pk_bf16_bf8", pk_to_wide<E5M2, WideBrain>, pk_b16, b32, f32),
    row("v_cvt_scalef32_pk_bf16_fp4", pk_to_wide<E2M1, WideBrain>, pk_b16, b32, f32),
    row("v_cvt_scalef32_pk32_f32_fp6", pk32_to_wide<E2M3, Wide32>, b1024, b192, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_f32_bf6", pk32_to_wide<E3M2, Wide32>, b1024, b192, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_f16_fp6", pk32_to_wide<E2M3, Wide16>, b512, b192, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_f16_bf6", pk32_to_wide<E3M2, Wide16>, b512, b192, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_bf16_fp6", pk32_to_wide<E2M3, WideBrain>, b512, b192, f32, sixteen_cycle),
    row("v_cvt_scalef32_pk32_bf16_bf6", pk32_to_wide<E3M2, WideBrain>, b512, b192, f32, sixteen_cycle),
};

} // namespace

Span<ValuOp> convert_scaled_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
