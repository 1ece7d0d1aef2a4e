// SPDX-License-Identifier: Apache-2.0
// Short vectors of double for the matrix micro-kernels: one register of the widest kind that the instruction
// set has.
#pragma once

#include "sim/math/kernels/lanes.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Doubles of one widest register.
#if defined(__AVX512F__)
inline constexpr int widest = 8;
#elif defined(__AVX2__)
inline constexpr int widest = 4;
#else
inline constexpr int widest = 2;
#endif

/// Portable form. to_floats rounds to FP32, nearest even, every NaN becoming the canonical one.
template <int Width>
struct Doubles {
    double v[Width];

    static ZYFA_SIM_INLINE Doubles load(const double* p) {
        Doubles r;
        for (int i = 0; i < Width; ++i)
            r.v[i] = p[i];
        return r;
    }
    static ZYFA_SIM_INLINE Doubles broadcast(double x) {
        Doubles r;
        for (int i = 0; i < Width; ++i)
            r.v[i] = x;
        return r;
    }
    static ZYFA_SIM_INLINE Doubles from_floats(const float* p) {
        Doubles r;
        for (int i = 0; i < Width; ++i)
            r.v[i] = static_cast<double>(p[i]);
        return r;
    }
    static ZYFA_SIM_INLINE Doubles from_bits(const std::uint32_t* p) {
        Doubles r;
        for (int i = 0; i < Width; ++i)
            r.v[i] = static_cast<double>(float_of(p[i]));
        return r;
    }
    ZYFA_SIM_INLINE void to_floats(std::uint32_t* p) const {
        for (int i = 0; i < Width; ++i) {
            const float f = static_cast<float>(v[i]);
            p[i] = f == f ? bits_of(f) : canonical_nan;
        }
    }
    friend ZYFA_SIM_INLINE Doubles operator+(Doubles a, Doubles b) {
        for (int i = 0; i < Width; ++i)
            a.v[i] += b.v[i];
        return a;
    }
    friend ZYFA_SIM_INLINE Doubles operator*(Doubles a, Doubles b) {
        for (int i = 0; i < Width; ++i)
            a.v[i] *= b.v[i];
        return a;
    }
    /// a * b + c where a * b is exact in double, so that one rounding and two give the same bits.
    static ZYFA_SIM_INLINE Doubles add_exact_product(Doubles a, Doubles b, Doubles c) { return a * b + c; }
};

#if defined(__AVX2__)
template <>
struct Doubles<4> {
    __m256d v;

    static ZYFA_SIM_INLINE Doubles load(const double* p) { return {_mm256_loadu_pd(p)}; }
    static ZYFA_SIM_INLINE Doubles broadcast(double x) { return {_mm256_set1_pd(x)}; }
    static ZYFA_SIM_INLINE Doubles from_floats(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
    static ZYFA_SIM_INLINE Doubles from_bits(const std::uint32_t* p) {
        return {_mm256_cvtps_pd(_mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
    }
    ZYFA_SIM_INLINE void to_floats(std::uint32_t* p) const {
        const __m128 f = _mm256_cvtpd_ps(v);
        const __m128 nan = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(canonical_nan)));
        const __m128 r = _mm_blendv_ps(f, nan, _mm_cmpunord_ps(f, f));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_castps_si128(r));
    }
    friend ZYFA_SIM_INLINE Doubles operator+(Doubles a, Doubles b) { return {_mm256_add_pd(a.v, b.v)}; }
    friend ZYFA_SIM_INLINE Doubles operator*(Doubles a, Doubles b) { return {_mm256_mul_pd(a.v, b.v)}; }
    static ZYFA_SIM_INLINE Doubles add_exact_product(Doubles a, Doubles b, Doubles c) {
        return {_mm256_fmadd_pd(a.v, b.v, c.v)};
    }
};
#endif

#if defined(__AVX512F__)
template <>
struct Doubles<8> {
    __m512d v;

    static ZYFA_SIM_INLINE Doubles load(const double* p) { return {_mm512_loadu_pd(p)}; }
    static ZYFA_SIM_INLINE Doubles broadcast(double x) { return {_mm512_set1_pd(x)}; }
    static ZYFA_SIM_INLINE Doubles from_floats(const float* p) {
        return {_mm512_cvtps_pd(_mm256_loadu_ps(p))};
    }
    static ZYFA_SIM_INLINE Doubles from_bits(const std::uint32_t* p) {
        return {
            _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))))};
    }
    ZYFA_SIM_INLINE void to_floats(std::uint32_t* p) const {
        const __m256 f = _mm512_cvtpd_ps(v);
        const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(canonical_nan)));
        const __m256 r = _mm256_blendv_ps(f, nan, _mm256_cmp_ps(f, f, _CMP_UNORD_Q));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_castps_si256(r));
    }
    friend ZYFA_SIM_INLINE Doubles operator+(Doubles a, Doubles b) { return {_mm512_add_pd(a.v, b.v)}; }
    friend ZYFA_SIM_INLINE Doubles operator*(Doubles a, Doubles b) { return {_mm512_mul_pd(a.v, b.v)}; }
    static ZYFA_SIM_INLINE Doubles add_exact_product(Doubles a, Doubles b, Doubles c) {
        return {_mm512_fmadd_pd(a.v, b.v, c.v)};
    }
};
#endif

} // namespace zyfa::sim::ZYFA_SIM_ISA
