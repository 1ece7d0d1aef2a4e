// SPDX-License-Identifier: Apache-2.0
// Rounding to integers, and taking floats apart, without the C library: the same on every host, and under any
// rounding direction of it.
#pragma once

#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

template <class T>
struct Parts;
template <>
struct Parts<float> {
    static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Parts<double> {
    static constexpr int mantissa = 52, bias = 1023;
};

/// Toward zero: the bits below the binary point are cleared.
template <class T>
ZYFA_SIM_INLINE T trunc_of(T x) {
    using B = FloatBits<T>;
    using Bits = typename B::Bits;
    const Bits bits = bits_as<Bits>(x), sign = bits & ~B::magnitude;
    const int exponent = static_cast<int>((bits & B::magnitude) >> Parts<T>::mantissa) - Parts<T>::bias;
    const int below = Parts<T>::mantissa - exponent; // fraction bits
    const int shift = pick(below < 0, 0, pick(below > Parts<T>::mantissa, Parts<T>::mantissa, below));
    const Bits kept = bits >> shift << shift;
    return bits_as<T>(pick(exponent < 0, sign, pick(below <= 0, bits, kept)));
}
template <class T>
ZYFA_SIM_INLINE T floor_of(T x) {
    const T t = trunc_of(x);
    const T r = pick(t > x, t - 1, t); // both exact
    // Down from -0.x is -1; a zero keeps x's sign.
    return pick(r == 0, bits_as<T>(bits_as<typename FloatBits<T>::Bits>(x) & ~FloatBits<T>::magnitude), r);
}
template <class T>
ZYFA_SIM_INLINE T ceil_of(T x) {
    return -floor_of(-x);
}
/// Nearest, ties to even.
template <class T>
ZYFA_SIM_INLINE T rndne_of(T x) {
    using B = FloatBits<T>;
    using Bits = typename B::Bits;
    const Bits sign = bits_as<Bits>(x) & ~B::magnitude;
    const T a = bits_as<T>(bits_as<Bits>(x) & B::magnitude), t = trunc_of(a), rest = a - t;
    const T half = t * T(0.5);
    const bool odd = trunc_of(half) != half;
    const T r = pick((rest > T(0.5)) | ((rest == T(0.5)) & odd), t + 1, t);
    return bits_as<T>(bits_as<Bits>(r) | sign);
}

/// x = mantissa * 2^exponent, mantissa in [1/2, 1); subnormals are normalised. Zero, Inf and NaN: x and 0.
template <class T>
ZYFA_SIM_INLINE bool splits(T x) {
    using B = FloatBits<T>;
    const auto magnitude = bits_as<typename B::Bits>(x) & B::magnitude;
    return magnitude != 0 && magnitude < B::infinity;
}
template <class T>
ZYFA_SIM_INLINE T normalised(T x, int& raised) {
    using B = FloatBits<T>;
    constexpr T up =
        bits_as<T>(static_cast<typename B::Bits>(Parts<T>::bias + 64) << Parts<T>::mantissa); // 2^64
    const bool subnormal = !(bits_as<typename B::Bits>(x) & B::infinity);
    raised = subnormal ? 64 : 0;
    return subnormal ? x * up : x;
}
template <class T>
ZYFA_SIM_INLINE T frexp_mantissa(T x) {
    using B = FloatBits<T>;
    using Bits = typename B::Bits;
    int raised;
    const Bits bits = bits_as<Bits>(normalised(x, raised));
    const T m =
        bits_as<T>((bits & ~B::infinity) | static_cast<Bits>(Parts<T>::bias - 1) << Parts<T>::mantissa);
    return splits(x) ? m : is_nan(x) ? quieted(x) : x;
}
template <class T>
ZYFA_SIM_INLINE i32 frexp_exponent(T x) {
    using B = FloatBits<T>;
    int raised;
    const auto bits = bits_as<typename B::Bits>(normalised(x, raised));
    const i32 e =
        static_cast<i32>((bits & B::magnitude) >> Parts<T>::mantissa) - (Parts<T>::bias - 1) - raised;
    return splits(x) ? e : 0;
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
