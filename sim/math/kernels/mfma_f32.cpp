// SPDX-License-Identifier: Apache-2.0
// Matrix instructions with FP32 and FP64 inputs: fused multiply-adds in ascending k, starting from C, each
// rounded to nearest even (MMA-Sim, arXiv 2511.10909, found that of CDNA3's FP32 form). FP32 obeys MODE's
// denormal field; FP64 keeps subnormals.
#include "sim/math/kernels/layout.hpp"
#include "sim/math/kernels/mfma_table.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

ZYFA_SIM_INLINE float flushed(float x, std::uint32_t magnitude_mask) {
    const std::uint32_t bits = bits_of(x);
    return float_of((bits & 0x7F800000u) ? bits : bits & ~magnitude_mask);
}
ZYFA_SIM_INLINE std::uint32_t canonical(float x) {
    return x == x ? bits_of(x) : canonical_nan;
}

/// Element k of row or column i of a block lies in lane i + W * (block + Blocks * k): one element a lane.
template <int W, int Blocks, int K>
void f32_kernel(const MfmaCall& call) {
    static_assert(W * Blocks * K == 64);
    const std::uint32_t in = call.denorm32 & 1 ? 0 : 0x7FFFFFFFu, out = call.denorm32 & 2 ? 0 : 0x7FFFFFFFu;
    float a[lanes], b[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        a[lane] = flushed(float_of(call.a[lane]), in);
        b[lane] = flushed(float_of(call.b[lane]), in);
    }
    using At = Accumulator<W>;
    for (int block = 0; block < Blocks; ++block)
        for (int row = 0; row < W; ++row) {
            const int word = (At::reg(block, row / 4) + row % 4) * 64 + At::lane(block, row / 4);
            float sum[W];
            for (int j = 0; j < W; ++j)
                sum[j] = flushed(float_of(call.c ? call.c[word + j] : call.c_constant), in);
            for (int k = 0; k < K; ++k) {
                const int first = W * (block + Blocks * k);
                const float x = a[first + row];
                for (int j = 0; j < W; ++j)
                    sum[j] = flushed(__builtin_fmaf(x, b[first + j], sum[j]), out);
            }
            for (int j = 0; j < W; ++j)
                call.d[word + j] = canonical(sum[j]);
        }
}

ZYFA_SIM_INLINE double pair(const std::uint32_t* regs, int lane) {
    return double_of(regs[lane] | static_cast<std::uint64_t>(regs[lane + 64]) << 32);
}
/// Row i of D: 16x16: register pair i / 4, lanes 16 * (i % 4) + j; 4x4: lanes 16 * i + 4 * block + j. blgp
/// holds the signs of A, B and C.
template <int W, int Blocks>
void f64_kernel(const MfmaCall& call) {
    constexpr int K = 64 / (W * Blocks);
    const double sign_a = call.blgp & 1 ? -1.0 : 1.0, sign_b = call.blgp & 2 ? -1.0 : 1.0,
                 sign_c = call.blgp & 4 ? -1.0 : 1.0;
    double a[lanes], b[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        a[lane] = sign_a * pair(call.a, static_cast<int>(lane));
        b[lane] = sign_b * pair(call.b, static_cast<int>(lane));
    }
    for (int block = 0; block < Blocks; ++block)
        for (int row = 0; row < W; ++row) {
            const int word = W == 16 ? 128 * (row / 4) + 16 * (row % 4) : 16 * row + 4 * block;
            for (int j = 0; j < W; ++j) {
                // A constant C is the high word of a double (inline constants of 64-bit operands).
                double sum = sign_c * (call.c ? pair(call.c, word + j)
                                              : double_of(static_cast<std::uint64_t>(call.c_constant) << 32));
                for (int k = 0; k < K; ++k) {
                    const int first = W * (block + Blocks * k);
                    sum = __builtin_fma(a[first + row], b[first + j], sum);
                }
                const std::uint64_t bits = sum == sum ? bits_of(sum) : 0x7FF8000000000000u;
                call.d[word + j] = static_cast<std::uint32_t>(bits);
                call.d[word + j + 64] = static_cast<std::uint32_t>(bits >> 32);
            }
        }
}

/// blgp are signs here, not a lane pattern.
template <MfmaFunction kernel, int W, int Blocks>
constexpr MfmaOp f64_row(std::string_view mnemonic, int passes) {
    MfmaOp op = dense_row<kernel, W, Blocks, 64 / (W * Blocks), 64, 64, 64>(mnemonic, passes, false);
    op.function = kernel;
    return op;
}

constexpr MfmaOp ops[] = {
    dense_row<f32_kernel<32, 2, 1>, 32, 2, 1, 32>("v_mfma_f32_32x32x1_2b_f32", 16, false),
    dense_row<f32_kernel<16, 4, 1>, 16, 4, 1, 32>("v_mfma_f32_16x16x1_4b_f32", 8, false),
    dense_row<f32_kernel<4, 16, 1>, 4, 16, 1, 32>("v_mfma_f32_4x4x1_16b_f32", 2, false),
    dense_row<f32_kernel<32, 1, 2>, 32, 1, 2, 32>("v_mfma_f32_32x32x2_f32", 16, false),
    dense_row<f32_kernel<16, 1, 4>, 16, 1, 4, 32>("v_mfma_f32_16x16x4_f32", 8, false),
    f64_row<f64_kernel<16, 1>, 16, 1>("v_mfma_f64_16x16x4_f64", 16),
    f64_row<f64_kernel<4, 4>, 4, 4>("v_mfma_f64_4x4x4_4b_f64", 4),
};

} // namespace

Span<MfmaOp> mfma_f32_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
