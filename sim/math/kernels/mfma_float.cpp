// SPDX-License-Identifier: Apache-2.0
// Matrix instructions with FP16, BF16, FP8, FP6 and FP4 inputs. Reading (docs/simulator-numerics.md):
// products are exact, their sum over k is taken in double in ascending k (f8f6f4: per 32-k block, the scaled
// blocks then summed in ascending order), C is added last in double, and the result is rounded once to FP32,
// to nearest even. MODE has no influence; subnormals are kept.
#include "sim/math/kernels/layout.hpp"
#include "sim/math/kernels/mfma_table.hpp"
#include "sim/math/kernels/vector.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// A tile of D is 4 rows by `columns` columns: up to 2 vectors, kept in registers over the k loop.
template <int N>
struct Tile {
    static constexpr int width = N < widest ? N : widest, vectors = N / width >= 2 ? 2 : 1;
    static constexpr int columns = width * vectors;
    using V = Doubles<width>;
    V sum[4][vectors];

    ZYFA_SIM_INLINE void clear() {
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
            for (int j = 0; j < vectors; ++j)
                sum[r][j] = V::broadcast(0.0);
    }
    /// Adds sum over k of a[k][r] * b[k][column].
    template <int K>
    ZYFA_SIM_INLINE void add_dot(const double* a, const float* b) {
        for (int k = 0; k < K; ++k) {
            V column[vectors];
#pragma GCC unroll 2
            for (int j = 0; j < vectors; ++j)
                column[j] = V::from_floats(b + k * columns + j * width);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) {
                const V x = V::broadcast(a[k * 4 + r]);
#pragma GCC unroll 2
                for (int j = 0; j < vectors; ++j)
                    sum[r][j] = V::add_exact_product(x, column[j], sum[r][j]);
            }
        }
    }
    /// Adds scale * other, the scale being a power of two or NaN: factor * row_scale[r] *
    /// column_scale[column].
    ZYFA_SIM_INLINE void add_scaled(const Tile& other, double factor, const double* row_scale,
                                    const double* column_scale) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
            for (int j = 0; j < vectors; ++j) {
                const V scale = V::broadcast(factor * row_scale[r]) * V::load(column_scale + j * width);
                sum[r][j] = sum[r][j] + other.sum[r][j] * scale;
            }
    }
    ZYFA_SIM_INLINE void add(const Tile& other, double factor) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
            for (int j = 0; j < vectors; ++j)
                sum[r][j] = sum[r][j] + other.sum[r][j] * V::broadcast(factor);
    }
    /// Adds C, rounds and stores; `word` is the place of row 0, column 0 in C and D. The sums times factor, a
    /// power of two, are what is stored.
    ZYFA_SIM_INLINE void store(const MfmaCall& call, int word, double factor) const {
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 2
            for (int j = 0; j < vectors; ++j) {
                const int at = word + r * 64 + j * width;
                const V c = call.c ? V::from_bits(call.c + at) : V::broadcast(float_of(call.c_constant));
                (factor == 1.0 ? sum[r][j] + c : sum[r][j] * V::broadcast(factor) + c).to_floats(call.d + at);
            }
    }
};

template <class FormatA, class FormatB, int W, int Blocks, int K>
void dense(const MfmaCall& call) {
    using T = Tile<W>;
    using At = Accumulator<W>;
    using Ks = Contiguous<K * W * Blocks / 64>;
    alignas(64) double a[Blocks * K * W];
    alignas(64) float b[Blocks * K * W];
    decode_operand<FormatA, W, Blocks, K, Ks, 4>(call.a, a);
    decode_operand<FormatB, W, Blocks, K, Ks, T::columns>(call.b, b);
    constexpr double factor = 1.0 / (static_cast<double>(tile_scale<FormatA>) * tile_scale<FormatB>);
    for (int block = 0; block < Blocks; ++block)
        for (int column = 0; column < W; column += T::columns)
            for (int row = 0; row < W; row += 4) {
                T tile;
                tile.clear();
                tile.template add_dot<K>(a + Tiles<W, K, 4>::at(block, row, 0),
                                         b + Tiles<W, K, T::columns>::at(block, column, 0));
                tile.store(call, At::reg(block, row / 4) * 64 + At::lane(block, row / 4) + column, factor);
            }
}

/// Decodes an f8f6f4 operand by its format selector (cbsz for A, blgp for B).
template <int W, int K, int Columns, class Value>
void decode_f8f6f4(unsigned format, const std::uint32_t* regs, Value* out) {
    switch (format) {
    case 0:
        return decode_operand<E4M3, W, 1, K, Chunked<64 / W>, Columns>(regs, out);
    case 1:
        return decode_operand<E5M2, W, 1, K, Chunked<64 / W>, Columns>(regs, out);
    case 2:
        return decode_operand<E2M3, W, 1, K, Contiguous<32>, Columns>(regs, out);
    case 3:
        return decode_operand<E3M2, W, 1, K, Contiguous<32>, Columns>(regs, out);
    default:
        return decode_operand<E2M1, W, 1, K, Contiguous<32>, Columns>(regs, out);
    }
}

/// scale[k block][row or column]: lane (i, g) holds the scale of k block g.
ZYFA_SIM_INLINE void decode_scale(const std::uint32_t* reg, unsigned byte, double* out) {
    for (unsigned lane = 0; lane < lanes; ++lane)
        out[lane] = e8m0_to_double(reg[lane] >> (8 * byte) & 255);
}

template <int W, int K, bool Scaled>
void f8f6f4(const MfmaCall& call) {
    using T = Tile<W>;
    using At = Accumulator<W>;
    alignas(64) double a[K * W], scale_a[lanes], scale_b[lanes];
    alignas(64) float b[K * W];
    decode_f8f6f4<W, K, 4>(call.cbsz, call.a, a);
    decode_f8f6f4<W, K, T::columns>(call.blgp, call.b, b);
    const double factor =
        (call.cbsz == 0 ? 1.0 / tile_scale<E4M3> : 1.0) * (call.blgp == 0 ? 1.0 / tile_scale<E4M3> : 1.0);
    if constexpr (Scaled) {
        decode_scale(call.scale_a, call.scale_byte_a, scale_a);
        decode_scale(call.scale_b, call.scale_byte_b, scale_b);
    }
    for (int column = 0; column < W; column += T::columns)
        for (int row = 0; row < W; row += 4) {
            T total;
            total.clear();
            for (int block = 0; block < K / 32; ++block) {
                T tile;
                tile.clear();
                tile.template add_dot<32>(a + Tiles<W, K, 4>::at(0, row, 32 * block),
                                          b + Tiles<W, K, T::columns>::at(0, column, 32 * block));
                if constexpr (Scaled)
                    total.add_scaled(tile, factor, scale_a + block * W + row, scale_b + block * W + column);
                else
                    total.add(tile, factor);
            }
            total.store(call, At::reg(0, row / 4) * 64 + At::lane(0, row / 4) + column, 1.0);
        }
}

template <int W, int K, bool Scaled>
constexpr MfmaOp f8f6f4_row(std::string_view mnemonic, int passes) {
    MfmaOp op{mnemonic, f8f6f4<W, K, Scaled>, W, W, K, static_cast<std::uint8_t>(passes), W * W / 64};
    op.scaled = Scaled;
    op.f8f6f4 = true;
    op.a_registers = op.b_registers = 8;
    return op;
}
template <class FormatA, class FormatB, int W, int Blocks, int K>
constexpr MfmaOp float_row(std::string_view mnemonic, int passes) {
    return dense_row<dense<FormatA, FormatB, W, Blocks, K>, W, Blocks, K, FormatA::bits, FormatB::bits>(
        mnemonic, passes);
}

constexpr MfmaOp ops[] = {
    float_row<BF16, BF16, 32, 1, 16>("v_mfma_f32_32x32x16_bf16", 8),
    float_row<F16, F16, 32, 1, 16>("v_mfma_f32_32x32x16_f16", 8),
    float_row<BF16, BF16, 16, 1, 32>("v_mfma_f32_16x16x32_bf16", 4),
    float_row<F16, F16, 16, 1, 32>("v_mfma_f32_16x16x32_f16", 4),
    float_row<BF16, BF16, 32, 1, 8>("v_mfma_f32_32x32x8_bf16", 8),
    float_row<F16, F16, 32, 1, 8>("v_mfma_f32_32x32x8_f16", 8),
    float_row<BF16, BF16, 16, 1, 16>("v_mfma_f32_16x16x16_bf16", 4),
    float_row<F16, F16, 16, 1, 16>("v_mfma_f32_16x16x16_f16", 4),
    float_row<BF16, BF16, 32, 2, 4>("v_mfma_f32_32x32x4_2b_bf16", 16),
    float_row<F16, F16, 32, 2, 4>("v_mfma_f32_32x32x4_2b_f16", 16),
    float_row<BF16, BF16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16", 8),
    float_row<F16, F16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_f16", 8),
    float_row<BF16, BF16, 4, 16, 4>("v_mfma_f32_4x4x4_16b_bf16", 2),
    float_row<F16, F16, 4, 16, 4>("v_mfma_f32_4x4x4_16b_f16", 2),
    float_row<E4M3, E4M3, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_fp8", 8),
    float_row<E4M3, E5M2, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_bf8", 8),
    float_row<E5M2, E4M3, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_fp8", 8),
    float_row<E5M2, E5M2, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_bf8", 8),
    float_row<E4M3, E4M3, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_fp8", 4),
    float_row<E4M3, E5M2, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_bf8", 4),
    float_row<E5M2, E4M3, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_fp8", 4),
    float_row<E5M2, E5M2, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_bf8", 4),
    f8f6f4_row<32, 64, false>("v_mfma_f32_32x32x64_f8f6f4", 16),
    f8f6f4_row<16, 128, false>("v_mfma_f32_16x16x128_f8f6f4", 8),
    f8f6f4_row<32, 64, true>("v_mfma_scale_f32_32x32x64_f8f6f4", 16),
    f8f6f4_row<16, 128, true>("v_mfma_scale_f32_16x16x128_f8f6f4", 8),
};

} // namespace

Span<MfmaOp> mfma_float_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
