// SPDX-License-Identifier: Apache-2.0
// The steps of IEEE division: v_div_scale, v_div_fmas, v_div_fixup for FP32 and FP64 (CDNA4 ISA,
// pseudo-code). v_div_fmas scales its result back by the power of two that v_div_scale applied; the direction
// follows from the size of the estimate (as the RDNA3 ISA writes it out; the CDNA text gives one factor only,
// with which no scaled division would come out right).
#pragma once

#include "sim/valu/kernels/fraction.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

template <class T>
struct Division;
template <>
struct Division<float> {
    static constexpr int scale = 64, far_apart = 96, tiny = 23, underflow = -150;
};
template <>
struct Division<double> {
    static constexpr int scale = 128, far_apart = 768, tiny = 53, underflow = -1075;
};

template <class T>
ZYFA_SIM_INLINE typename FloatBits<T>::Bits magnitude_bits(T x) {
    return bits_as<typename FloatBits<T>::Bits>(x) & FloatBits<T>::magnitude;
}
template <class T>
ZYFA_SIM_INLINE int exponent_field(T x) {
    return static_cast<int>(magnitude_bits(x) >> Parts<T>::mantissa);
}
template <class T>
ZYFA_SIM_INLINE T power_of_two(int e) {
    return bits_as<T>(static_cast<typename FloatBits<T>::Bits>(Parts<T>::bias + e) << Parts<T>::mantissa);
}
template <class T>
ZYFA_SIM_INLINE bool is_subnormal(T x) {
    return magnitude_bits(x) != 0 && exponent_field(x) == 0;
}

/// s0 is the denominator s1 or the numerator s2, whichever is to be scaled; mask_out says that v_div_fmas
/// must undo a scaling.
template <class T>
void div_scale(ValuCall& call) {
    using D = Division<T>;
    const auto in = flush_inputs<T>(*call.mode), out = flush_outputs<T>(*call.mode);
    Result<T> result;
    alignas(64) Word flags[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const T s0 = flush(read<T>(call.s[0], lane), in), d = flush(read<T>(call.s[1], lane), in),
                n = flush(read<T>(call.s[2], lane), in);
        const T up = power_of_two<T>(D::scale), down = power_of_two<T>(-D::scale);
        T r = s0;
        bool undo = false;
        const T quotient = n / d, inverse = T(1) / d;
        if (n == 0 || d == 0) {
            r = bits_as<T>(FloatBits<T>::canonical);
        } else if (exponent_field(n) - exponent_field(d) >= D::far_apart) {
            undo = true;
            if (s0 == d)
                r = s0 * up;
        } else if (is_subnormal(d)) {
            r = s0 * up;
        } else if (is_subnormal(inverse) && is_subnormal(quotient)) {
            // The ISA's text scales the denominator up here, which would overflow it; only down can give the
            // right quotient, which v_div_fmas then takes down as well.
            undo = true;
            if (s0 == d)
                r = s0 * down;
        } else if (is_subnormal(inverse)) {
            r = s0 * down;
        } else if (is_subnormal(quotient)) {
            undo = true;
            if (s0 == n)
                r = s0 * up;
        } else if (exponent_field(n) <= D::tiny) {
            r = s0 * up;
        }
        result.set(lane, flush(is_nan(r) ? quieted(r) : r, out));
        flags[lane] = undo;
    }
    call.mask_out = pack(flags) & call.exec;
    commit(call, result);
}

/// a * b + c, scaled where mask_in is set, with one rounding.
ZYFA_SIM_INLINE float scaled_fma(float a, float b, float c, bool scale) {
    if (!scale)
        return __builtin_fmaf(a, b, c);
    // The product is exact in double; the sum's error steers the rounding to odd, and scaling is exact.
    const double p = static_cast<double>(a) * static_cast<double>(b), z = static_cast<double>(c);
    const double s = p + z, zz = s - p, error = (p - (s - zz)) + (z - zz);
    const Word64 bits = bits_of(s);
    const bool inexact = error > 0 || error < 0, outward = (error > 0) == (s > 0);
    const double odd = double_of(inexact && !(bits & 1) ? (outward ? bits + 1 : bits - 1) : bits);
    return static_cast<float>(odd * power_of_two<double>(exponent_field(c) > 127 ? 64 : -64));
}
ZYFA_SIM_INLINE double scaled_fma(double a, double b, double c, bool scale) {
    const double r = __builtin_fma(a, b, c);
    if (!scale)
        return r;
    if (exponent_field(c) > 1023)
        return r * power_of_two<double>(128);
    const double error = __builtin_fma(a, b, c - r); // its sign: which side of r the sum lies
    const Word64 bits = bits_of(r);
    const bool inexact = error > 0 || error < 0, outward = (error > 0) == (r > 0);
    return double_of(inexact && !(bits & 1) ? (outward ? bits + 1 : bits - 1) : bits) *
           power_of_two<double>(-128);
}
template <class T>
void div_fmas(ValuCall& call) {
    const auto in = flush_inputs<T>(*call.mode), out = flush_outputs<T>(*call.mode);
    Result<T> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const T a = flush(read<T>(call.s[0], lane), in), b = flush(read<T>(call.s[1], lane), in),
                c = flush(read<T>(call.s[2], lane), in);
        result.set(lane, flush(scaled_fma(a, b, c, call.mask_in >> lane & 1), out));
    }
    choose_nans(result, call.s, 3);
    modify_all(call, result);
    commit(call, result);
}

/// The special cases of a division; s0 quotient, s1 denominator, s2 numerator.
template <class T>
void div_fixup(ValuCall& call) {
    using B = FloatBits<T>;
    using Bits = typename B::Bits;
    const auto in = flush_inputs<T>(*call.mode), out = flush_outputs<T>(*call.mode);
    Result<T> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const T q = flush(read<T>(call.s[0], lane), in), d = flush(read<T>(call.s[1], lane), in),
                n = flush(read<T>(call.s[2], lane), in);
        const Bits sign = (bits_as<Bits>(d) ^ bits_as<Bits>(n)) & ~B::magnitude, md = magnitude_bits(d),
                   mn = magnitude_bits(n);
        Bits r;
        if (is_nan(n))
            r = bits_as<Bits>(quieted(n));
        else if (is_nan(d))
            r = bits_as<Bits>(quieted(d));
        else if ((md == 0 && mn == 0) || (md == B::infinity && mn == B::infinity))
            r = B::canonical | ~B::magnitude; // the pseudo-code names this one: negative
        else if (md == 0 || mn == B::infinity)
            r = sign | B::infinity;
        else if (md == B::infinity || mn == 0)
            r = sign;
        else if (exponent_field(n) - exponent_field(d) < Division<T>::underflow)
            r = sign;       // below half of the smallest subnormal
        else if (is_nan(q)) // the quotient overflowed inside the refinement (Inf - Inf); the pseudo-code is
                            // silent
            r = sign | B::infinity;
        else
            r = sign | magnitude_bits(q);
        result.set(lane, flush(bits_as<T>(r), out));
    }
    modify_all(call, result);
    commit(call, result);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
