// SPDX-License-Identifier: Apache-2.0
// Matrix instructions with 8-bit signed integers; 32-bit sums wrap.
#include "sim/math/kernels/layout.hpp"
#include "sim/math/kernels/mfma_table.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// Products of two pairs of 16-bit integers, added: the host's multiply-add works on pairs of neighbouring k.
ZYFA_SIM_INLINE std::uint32_t pair_dot(std::uint32_t a, std::uint32_t b) {
    const auto low = [](std::uint32_t x) { return static_cast<std::int32_t>(static_cast<std::int16_t>(x)); };
    const auto high = [](std::uint32_t x) { return static_cast<std::int32_t>(x) >> 16; };
    return static_cast<std::uint32_t>(low(a) * low(b) + high(a) * high(b));
}

/// sum[j] += a . b[j] over columns j.
template <int W>
ZYFA_SIM_INLINE void add_pair_dots(std::uint32_t a, const std::uint32_t* b, std::uint32_t* sum) {
#if defined(__AVX2__)
    if constexpr (W >= 8) {
        const __m256i x = _mm256_set1_epi32(static_cast<int>(a));
        for (int j = 0; j < W; j += 8) {
            const __m256i products = _mm256_madd_epi16(x, load_words(b + j));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(sum + j),
                                _mm256_add_epi32(load_words(sum + j), products));
        }
        return;
    }
#endif
    for (int j = 0; j < W; ++j)
        sum[j] += pair_dot(a, b[j]);
}

/// out[block][k / 2][i]: bytes k and k + 1 as 16-bit integers. Every lane holds E consecutive k.
template <int W, int Blocks, int K>
void decode_pairs(const std::uint32_t* regs, std::uint32_t* out) {
    constexpr int per_lane = K * W * Blocks / 64;
    for (int chunk = 0; chunk < 64 / W; ++chunk)
        for (int e = 0; e < per_lane; e += 2) {
            const int block = chunk % Blocks, k = per_lane * (chunk / Blocks) + e, shift = 8 * (e % 4);
            std::uint32_t* to = out + (block * (K / 2) + k / 2) * W;
            for (int i = 0; i < W; ++i) {
                const std::uint32_t both = regs[e / 4 * 64 + chunk * W + i] >> shift;
                const std::int32_t low = static_cast<std::int32_t>(both << 24) >> 24,
                                   high = static_cast<std::int32_t>(both << 16) >> 24;
                to[i] = (static_cast<std::uint32_t>(low) & 0xFFFFu) | static_cast<std::uint32_t>(high) << 16;
            }
        }
}

template <int W, int Blocks, int K>
void i8_kernel(const MfmaCall& call) {
    alignas(64) std::uint32_t a[Blocks * K / 2 * W], b[Blocks * K / 2 * W];
    decode_pairs<W, Blocks, K>(call.a, a);
    decode_pairs<W, Blocks, K>(call.b, b);
    using At = Accumulator<W>;
    for (int block = 0; block < Blocks; ++block)
        for (int row = 0; row < W; ++row) {
            const int word = (At::reg(block, row / 4) + row % 4) * 64 + At::lane(block, row / 4);
            alignas(64) std::uint32_t sum[W];
            for (int j = 0; j < W; ++j)
                sum[j] = call.c ? call.c[word + j] : call.c_constant;
            for (int k = 0; k < K / 2; ++k) {
                const int first = (block * (K / 2) + k) * W;
                add_pair_dots<W>(a[first + row], b + first, sum);
            }
            for (int j = 0; j < W; ++j)
                call.d[word + j] = sum[j];
        }
}

constexpr MfmaOp ops[] = {
    dense_row<i8_kernel<32, 1, 32>, 32, 1, 32, 8>("v_mfma_i32_32x32x32_i8", 8),
    dense_row<i8_kernel<16, 1, 64>, 16, 1, 64, 8>("v_mfma_i32_16x16x64_i8", 4),
    dense_row<i8_kernel<32, 1, 16>, 32, 1, 16, 8>("v_mfma_i32_32x32x16_i8", 8),
    dense_row<i8_kernel<16, 1, 32>, 16, 1, 32, 8>("v_mfma_i32_16x16x32_i8", 4),
    dense_row<i8_kernel<32, 2, 4>, 32, 2, 4, 8>("v_mfma_i32_32x32x4_2b_i8", 16),
    dense_row<i8_kernel<16, 4, 4>, 16, 4, 4, 8>("v_mfma_i32_16x16x4_4b_i8", 8),
    dense_row<i8_kernel<4, 16, 4>, 4, 16, 4, 8>("v_mfma_i32_4x4x4_16b_i8", 2),
};

} // namespace

Span<MfmaOp> mfma_i8_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
