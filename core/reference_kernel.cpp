// SPDX-License-Identifier: Apache-2.0
// Written with GCC's vector extension, which clang shares: no intrinsics, and the same source serves the
// baseline and AVX2 with FMA. Which of the two runs is decided once per process; they differ by fp64 rounding
// only.
#include "core/reference_kernel.hpp"

#include <cstring>

#if defined(__x86_64__)
#define ZYFA_TARGET_AVX2 __attribute__((target("avx2,fma")))
#endif
#define ZYFA_INLINE inline __attribute__((always_inline))

namespace zyfa::reference_kernel {

namespace {

typedef double Lanes __attribute__((vector_size(32)));
constexpr std::int64_t lanes = 4;

ZYFA_INLINE void load(Lanes& to, const double* from) {
    std::memcpy(&to, from, sizeof to);
}

ZYFA_INLINE void store(double* to, const Lanes& from) {
    std::memcpy(to, &from, sizeof from);
}

template <int block>
ZYFA_INLINE void score_block(const double* q, const double* k, std::int64_t dim, double* out) {
    Lanes sums[block][2] = {};
    for (std::int64_t d = 0; d < dim; ++d) {
        Lanes low, high;
        load(low, q + d * tile_rows);
        load(high, q + d * tile_rows + lanes);
        for (int j = 0; j < block; ++j) {
            sums[j][0] += low * k[j * dim + d];
            sums[j][1] += high * k[j * dim + d];
        }
    }
    for (int j = 0; j < block; ++j) {
        store(out + j * tile_rows, sums[j][0]);
        store(out + j * tile_rows + lanes, sums[j][1]);
    }
}

ZYFA_INLINE void scores_body(const double* q, const double* k, std::int64_t keys, std::int64_t dim,
                             double* out) {
    std::int64_t j = 0;
    for (; j + 4 <= keys; j += 4)
        score_block<4>(q, k + j * dim, dim, out + j * tile_rows);
    for (; j < keys; ++j)
        score_block<1>(q, k + j * dim, dim, out + j * tile_rows);
}

/// Two rows by sixteen columns stay in registers over all keys.
ZYFA_INLINE void weigh_block(const double* p, const double* v, std::int64_t keys, std::int64_t dim,
                             double* o) {
    Lanes sums[2][4];
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c)
            load(sums[r][c], o + r * dim + c * lanes);
    for (std::int64_t j = 0; j < keys; ++j) {
        for (int c = 0; c < 4; ++c) {
            Lanes values;
            load(values, v + j * dim + c * lanes);
            sums[0][c] += values * p[j * tile_rows];
            sums[1][c] += values * p[j * tile_rows + 1];
        }
    }
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 4; ++c)
            store(o + r * dim + c * lanes, sums[r][c]);
}

ZYFA_INLINE void weigh_column(const double* p, const double* v, std::int64_t keys, std::int64_t dim,
                              double* o) {
    for (std::int64_t r = 0; r < tile_rows; ++r) {
        double sum = o[r * dim];
        for (std::int64_t j = 0; j < keys; ++j)
            sum += p[j * tile_rows + r] * v[j * dim];
        o[r * dim] = sum;
    }
}

ZYFA_INLINE void weigh_body(const double* p, const double* v, std::int64_t keys, std::int64_t dim,
                            double* o) {
    std::int64_t d = 0;
    for (; d + 4 * lanes <= dim; d += 4 * lanes)
        for (std::int64_t r = 0; r < tile_rows; r += 2)
            weigh_block(p + r, v + d, keys, dim, o + r * dim + d);
    for (; d < dim; ++d)
        weigh_column(p, v + d, keys, dim, o + d);
}

#ifdef ZYFA_TARGET_AVX2
ZYFA_TARGET_AVX2 void scores_avx2(const double* q, const double* k, std::int64_t keys, std::int64_t dim,
                                  double* out) {
    scores_body(q, k, keys, dim, out);
}

ZYFA_TARGET_AVX2 void weigh_avx2(const double* p, const double* v, std::int64_t keys, std::int64_t dim,
                                 double* o) {
    weigh_body(p, v, keys, dim, o);
}

bool has_avx2() {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
}
#endif

} // namespace

void scores(const double* q, const double* k, std::int64_t keys, std::int64_t dim, double* out) {
#ifdef ZYFA_TARGET_AVX2
    if (has_avx2())
        return scores_avx2(q, k, keys, dim, out);
#endif
    scores_body(q, k, keys, dim, out);
}

void weigh(const double* p, const double* v, std::int64_t keys, std::int64_t dim, double* o) {
#ifdef ZYFA_TARGET_AVX2
    if (has_avx2())
        return weigh_avx2(p, v, keys, dim, o);
#endif
    weigh_body(p, v, keys, dim, o);
}

} // namespace zyfa::reference_kernel
