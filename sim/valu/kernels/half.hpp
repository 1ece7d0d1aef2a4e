// SPDX-License-Identifier: Apache-2.0
// FP16 arithmetic through FP32: inputs convert exactly; the FP32 result is either exact or rounded to odd, so
// that the one rounding to FP16, in MODE's direction, is right (24 bits are more than 11 + 2).
#pragma once

#include "sim/math/kernels/encode.hpp"
#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// x moved to the odd neighbour on the side of the error that rounding to x left out.
ZYFA_SIM_INLINE float sticky(float x, float error) {
    const Word bits = bits_of(x), left_out = bits_of(error), inward = (bits ^ left_out) >> 31;
    const Word odd = (bits - (inward & ~bits & 1)) | 1;              // an odd x stays
    const bool inexact = (left_out & 0x7FFFFFFFu) - 1 < 0x7F7FFFFFu; // neither 0 nor, for an infinite x, NaN
    return float_of(pick(inexact, odd, bits));
}
/// a + b rounded to odd (Knuth's two-sum gives the error).
ZYFA_SIM_INLINE float add_odd(float a, float b) {
    const float s = a + b, bb = s - a;
    return sticky(s, (a - (s - bb)) + (b - bb));
}
/// a * b + c for FP16 values: the product is exact in FP32.
ZYFA_SIM_INLINE float fma_odd(float a, float b, float c) {
    return add_odd(a * b, c);
}
/// A double to FP32, rounded to odd.
ZYFA_SIM_INLINE float odd_from(double x) {
    const float f = static_cast<float>(x);
    const double error = x - static_cast<double>(f);
    return sticky(f, static_cast<float>(static_cast<i32>(error > 0.0) - static_cast<i32>(error < 0.0)));
}

/// What MODE says about FP16.
struct HalfMode {
    Word in, out; ///< masks that flush subnormals
    Round round;
    bool saturate, ieee;
    explicit HalfMode(const FloatMode& m)
        : in(m.denorm64 & 1 ? 0 : 0x7FFFu), out(m.denorm64 & 2 ? 0 : 0x7FFFu),
          round(static_cast<Round>(m.round64)), saturate(m.fp16_ovfl), ieee(m.ieee) {}
};
ZYFA_SIM_INLINE Word flush_half(Word bits, Word mask) {
    return pick((bits & 0x7C00) != 0, bits, bits & ~mask);
}
/// Half `high` of a word as FP32.
ZYFA_SIM_INLINE float half_of(Word word, unsigned shift, Word flush_mask) {
    return F16::to_float(flush_half(word >> shift & 0xFFFF, flush_mask));
}
ZYFA_SIM_INLINE Word to_half(float x, const HalfMode& m) {
    return flush_half(Encode<F16>::rounded(bits_of(x), m.round, m.saturate), m.out);
}

/// The result where it is a NaN: the first NaN operand, quieted, or the canonical NaN.
ZYFA_SIM_INLINE float settle_nan(float r, float a, float b, float c) {
    const float nan = pick(is_nan(a), quieted(a),
                           pick(is_nan(b), quieted(b), pick(is_nan(c), quieted(c), float_of(canonical_nan))));
    return pick(is_nan(r), nan, r);
}

/// Calls f with as many operands as it takes; `ieee` last if it takes that.
template <auto f, bool WithIeee>
ZYFA_SIM_INLINE float apply_half(float a, float b, float c, bool ieee) {
    constexpr unsigned arity = signature<f>::arity - (WithIeee ? 1 : 0);
    if constexpr (WithIeee) {
        if constexpr (arity == 1)
            return f(a, ieee);
        else if constexpr (arity == 2)
            return f(a, b, ieee);
        else
            return f(a, b, c, ieee);
    } else {
        if constexpr (arity == 1)
            return settle_nan(f(a), a, a, a);
        else if constexpr (arity == 2)
            return settle_nan(f(a, b), a, b, b);
        else
            return settle_nan(f(a, b, c), a, b, c);
    }
}

/// What happens to the half of d that an operation does not write. Most of GFX9's 16-bit operations clear it;
/// those that have op_sel keep it (LLVM GCNSubtarget::zeroesHigh16BitsOfDest).
enum class OtherHalf { clear, keep };

ZYFA_SIM_INLINE Word place_half(Word d, Word value, unsigned shift, bool keep) {
    const Word kept = -static_cast<Word>(keep) & ~(0xFFFFu << shift);
    return (d & kept) | (value & 0xFFFF) << shift;
}

/// One FP16 operation a lane. FromD: d is the last source. Legacy forms clear the low half only when they
/// write the low one: with op_sel they keep it.
template <auto f, OtherHalf other = OtherHalf::clear, bool WithIeee = false, bool FromD = false>
void half_op(ValuCall& call) {
    constexpr unsigned arity = signature<f>::arity - (WithIeee ? 1 : 0);
    const HalfMode mode(*call.mode);
    const unsigned shift[3] = {call.op_sel & 1 ? 16u : 0u, call.op_sel & 2 ? 16u : 0u,
                               call.op_sel & 4 ? 16u : 0u};
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    const bool keep = other == OtherHalf::keep || to != 0, modified = call.omod != 0 || call.clamp;
    const Word* last = FromD ? call.d : call.s[2];
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float a = half_of(call.s[0][lane], shift[0], mode.in);
        const float b = arity > 1 ? half_of(call.s[1][lane], shift[1], mode.in) : a;
        const float c = arity > 2 ? half_of(last[lane], shift[2], mode.in) : a;
        const float r = apply_half<f, WithIeee>(a, b, c, mode.ieee);
        result.set(lane, place_half(call.d[lane], to_half(r, mode), to, keep));
    }
    if (modified)
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const float r = modify(half_of(result.words[lane], to, 0), call, call.mode->denorm64);
            result.set(lane, place_half(result.words[lane], to_half(r, mode), to, true));
        }
    commit(call, result);
}

/// Two FP16 operations a lane; op_sel and op_sel_hi pick the halves that feed the low and the high result.
template <auto f, bool WithIeee = false, bool FromD = false>
void packed_half_op(ValuCall& call) {
    constexpr unsigned arity = signature<f>::arity - (WithIeee ? 1 : 0);
    const HalfMode mode(*call.mode);
    const Word* s[3] = {call.s[0], call.s[1], FromD ? call.d : call.s[2]};
    Result<Word> result;
    Word half[2][lanes];
    for (unsigned high = 0; high < 2; ++high) {
        const unsigned select = high ? call.op_sel_hi : call.op_sel, negate = high ? call.neg_hi : call.neg;
        unsigned shift[3];
        Word sign[3];
        for (unsigned n = 0; n < 3; ++n) {
            shift[n] = select >> n & 1 ? 16 : 0;
            sign[n] = negate >> n & 1 ? 0x80000000u : 0;
        }
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const auto operand = [&](unsigned n) {
                return float_of(bits_of(half_of(s[n][lane], shift[n], mode.in)) ^ sign[n]);
            };
            const float a = operand(0), b = arity > 1 ? operand(1) : a, c = arity > 2 ? operand(2) : a;
            half[high][lane] = to_half(apply_half<f, WithIeee>(a, b, c, mode.ieee), mode);
        }
        if (call.clamp)
            for (unsigned lane = 0; lane < lanes; ++lane)
                half[high][lane] =
                    to_half(modify(half_of(half[high][lane], 0, 0), call, call.mode->denorm64), mode);
    }
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, half[0][lane] | half[1][lane] << 16);
    commit(call, result);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
