// SPDX-License-Identifier: Apache-2.0
// Short vectors of double and float for the matrix micro-kernels.
#pragma once

#include "sim/math/kernels/lanes.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace zyfa::sim::ZYFA_SIM_ISA {

template <int Width>
struct VectorTypes;
template <>
struct VectorTypes<4> {
    using Double = double __attribute__((vector_size(32)));
    using Float = float __attribute__((vector_size(16)));
    using Mask = std::int32_t __attribute__((vector_size(16)));
};
template <>
struct VectorTypes<8> {
    using Double = double __attribute__((vector_size(64)));
    using Float = float __attribute__((vector_size(32)));
    using Mask = std::int32_t __attribute__((vector_size(32)));
};

/// Doubles that the widest vector of this instruction set holds.
#if defined(__AVX512F__)
inline constexpr int widest = 8;
#else
inline constexpr int widest = 4;
#endif

template <int Width>
struct Doubles {
    using Types = VectorTypes<Width>;
    typename Types::Double v;

    static ZYFA_SIM_INLINE Doubles load(const double* p) {
        Doubles r;
        __builtin_memcpy(&r.v, p, sizeof r.v);
        return r;
    }
    static ZYFA_SIM_INLINE Doubles broadcast(double x) { return {typename Types::Double{} + x}; }
    static ZYFA_SIM_INLINE Doubles from_floats(const std::uint32_t* p) {
        typename Types::Float f;
        __builtin_memcpy(&f, p, sizeof f);
        return {__builtin_convertvector(f, typename Types::Double)};
    }
    /// Rounds to float (nearest even); every NaN becomes the canonical one.
    ZYFA_SIM_INLINE void to_floats(std::uint32_t* p) const {
        const auto f = __builtin_convertvector(v, typename Types::Float);
        using Mask = typename Types::Mask;
        const Mask bits = __builtin_bit_cast(Mask, f);
        const Mask ordered = f == f;
        const Mask r = (bits & ordered) | (~ordered & static_cast<std::int32_t>(canonical_nan));
        __builtin_memcpy(p, &r, sizeof r);
    }
    friend ZYFA_SIM_INLINE Doubles operator+(Doubles a, Doubles b) { return {a.v + b.v}; }
    friend ZYFA_SIM_INLINE Doubles operator*(Doubles a, Doubles b) { return {a.v * b.v}; }
};

/// a * b + c where a * b is exact in double, so that one rounding and two give the same bits and a host
/// without fused operations may use two.
template <int Width>
ZYFA_SIM_INLINE Doubles<Width> add_exact_product(Doubles<Width> a, Doubles<Width> b, Doubles<Width> c) {
#if defined(__AVX512F__)
    if constexpr (Width == 8)
        return {_mm512_fmadd_pd(a.v, b.v, c.v)};
#endif
#if defined(__FMA__)
    if constexpr (Width == 4)
        return {_mm256_fmadd_pd(a.v, b.v, c.v)};
#endif
    return {a.v * b.v + c.v};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
