// SPDX-License-Identifier: Apache-2.0
// Matrix instructions with FP16, BF16, FP8, FP6 and FP4 inputs. Reading (docs/simulator-numerics.md):
// products are exact, their sum over k is taken in double in ascending k (f8f6f4: per 32-k block, the scaled
// blocks then summed in ascending order), C is added last in double, and the result is rounded once to FP32,
// to nearest even. MODE has no influence; subnormals are kept.
#include "sim/math/kernels/kernels.hpp"
#include "sim/math/kernels/layout.hpp"
#include "sim/math/kernels/vector.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// Tile of 4 rows by up to 2 vectors of columns, kept in registers over the k loop.
template <int N>
inline constexpr int vector_width = N < widest ? N : widest;
template <int N>
inline constexpr int tile_vectors = N / vector_width<N> >= 2 ? 2 : 1;

/// Sum over k of a[k][row0 + r] * b[k][column0 + ...].
template <int M, int N, int K>
ZYFA_SIM_INLINE void dot_tile(const double* a, const double* b,
                              Doubles<vector_width<N>> (&sum)[4][tile_vectors<N>]) {
    using V = Doubles<vector_width<N>>;
    for (auto& row : sum)
        for (auto& v : row)
            v = V::broadcast(0.0);
    for (int k = 0; k < K; ++k) {
        V columns[tile_vectors<N>];
        for (int j = 0; j < tile_vectors<N>; ++j)
            columns[j] = V::load(b + k * N + j * vector_width<N>);
        for (int r = 0; r < 4; ++r) {
            const V x = V::broadcast(a[k * M + r]);
            for (int j = 0; j < tile_vectors<N>; ++j)
                sum[r][j] = add_exact_product(x, columns[j], sum[r][j]);
        }
    }
}

/// Adds C, rounds and stores one tile.
template <int N>
ZYFA_SIM_INLINE void store_tile(const MfmaCall& call, int word,
                                const Doubles<vector_width<N>> (&sum)[4][tile_vectors<N>]) {
    using V = Doubles<vector_width<N>>;
    for (int r = 0; r < 4; ++r)
        for (int j = 0; j < tile_vectors<N>; ++j) {
            const int at = word + r * 64 + j * vector_width<N>;
            const V c = call.c ? V::from_floats(call.c + at) : V::broadcast(float_of(call.c_constant));
            (sum[r][j] + c).to_floats(call.d + at);
        }
}

template <class FormatA, class FormatB, int W, int Blocks, int K>
void dense(const MfmaCall& call) {
    constexpr int per_lane = K * W * Blocks / 64;
    alignas(64) double a[Blocks * K * W], b[Blocks * K * W];
    decode_operand<FormatA, W, Blocks, K, Contiguous<per_lane>>(call.a, a);
    decode_operand<FormatB, W, Blocks, K, Contiguous<per_lane>>(call.b, b);
    constexpr int step = vector_width<W> * tile_vectors<W>;
    for (int block = 0; block < Blocks; ++block)
        for (int row_block = 0; row_block < W / 4; ++row_block)
            for (int column = 0; column < W; column += step) {
                Doubles<vector_width<W>> sum[4][tile_vectors<W>];
                dot_tile<W, W, K>(a + block * K * W + 4 * row_block, b + block * K * W + column, sum);
                using At = Accumulator<W>;
                store_tile<W>(call, At::reg(block, row_block) * 64 + At::lane(block, row_block) + column,
                              sum);
            }
}

/// Decodes an f8f6f4 operand by its format selector (cbsz for A, blgp for B).
template <int W, int K>
void decode_f8f6f4(unsigned format, const std::uint32_t* regs, double* out) {
    switch (format) {
    case 0:
        return decode_operand<E4M3, W, 1, K, Chunked<64 / W>>(regs, out);
    case 1:
        return decode_operand<E5M2, W, 1, K, Chunked<64 / W>>(regs, out);
    case 2:
        return decode_operand<E2M3, W, 1, K, Contiguous<32>>(regs, out);
    case 3:
        return decode_operand<E3M2, W, 1, K, Contiguous<32>>(regs, out);
    default:
        return decode_operand<E2M1, W, 1, K, Contiguous<32>>(regs, out);
    }
}

/// scale[block][row or column]: lane (i, g) holds the scale of k block g.
template <int W>
ZYFA_SIM_INLINE void decode_scale(const std::uint32_t* reg, unsigned byte, double* out) {
    for (unsigned lane = 0; lane < lanes; ++lane)
        out[lane] = e8m0_to_double(reg[lane] >> (8 * byte) & 255);
}

template <int W, int K, bool Scaled>
void f8f6f4(const MfmaCall& call) {
    alignas(64) double a[K * W], b[K * W], scale_a[lanes], scale_b[lanes];
    decode_f8f6f4<W, K>(call.cbsz, call.a, a);
    decode_f8f6f4<W, K>(call.blgp, call.b, b);
    if constexpr (Scaled) {
        decode_scale<W>(call.scale_a, call.scale_byte_a, scale_a);
        decode_scale<W>(call.scale_b, call.scale_byte_b, scale_b);
    }
    using V = Doubles<vector_width<W>>;
    constexpr int vectors = tile_vectors<W>, step = vector_width<W> * vectors;
    for (int row_block = 0; row_block < W / 4; ++row_block)
        for (int column = 0; column < W; column += step) {
            V total[4][vectors];
            for (auto& row : total)
                for (auto& v : row)
                    v = V::broadcast(0.0);
            for (int block = 0; block < K / 32; ++block) {
                V sum[4][vectors];
                dot_tile<W, W, 32>(a + block * 32 * W + 4 * row_block, b + block * 32 * W + column, sum);
                for (int r = 0; r < 4; ++r)
                    for (int j = 0; j < vectors; ++j) {
                        if constexpr (Scaled) {
                            const V row = V::broadcast(scale_a[block * W + 4 * row_block + r]);
                            const V col = V::load(scale_b + block * W + column + j * vector_width<W>);
                            sum[r][j] = sum[r][j] * (row * col);
                        }
                        total[r][j] = total[r][j] + sum[r][j];
                    }
            }
            using At = Accumulator<W>;
            store_tile<W>(call, At::reg(0, row_block) * 64 + At::lane(0, row_block) + column, total);
        }
}

constexpr MfmaOp op(std::string_view mnemonic, MfmaFunction function, int w, int k, int passes,
                    int registers) {
    MfmaOp o{mnemonic,
             function,
             static_cast<std::uint8_t>(w),
             static_cast<std::uint8_t>(w),
             static_cast<std::uint16_t>(k),
             static_cast<std::uint8_t>(passes),
             static_cast<std::uint8_t>(registers)};
    return o;
}
constexpr MfmaOp mx(std::string_view mnemonic, MfmaFunction function, int w, int k, int passes, int registers,
                    bool scaled) {
    MfmaOp o = op(mnemonic, function, w, k, passes, registers);
    o.f8f6f4 = true;
    o.scaled = scaled;
    return o;
}

// Passes: wait states that LLVM's GCNHazardRecognizer inserts, and SISchedule.td.
constexpr MfmaOp ops[] = {
    op("v_mfma_f32_32x32x16_bf16", dense<BF16, BF16, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_32x32x16_f16", dense<F16, F16, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_16x16x32_bf16", dense<BF16, BF16, 16, 1, 32>, 16, 32, 4, 4),
    op("v_mfma_f32_16x16x32_f16", dense<F16, F16, 16, 1, 32>, 16, 32, 4, 4),
    op("v_mfma_f32_32x32x8_bf16", dense<BF16, BF16, 32, 1, 8>, 32, 8, 8, 16),
    op("v_mfma_f32_32x32x8_f16", dense<F16, F16, 32, 1, 8>, 32, 8, 8, 16),
    op("v_mfma_f32_16x16x16_bf16", dense<BF16, BF16, 16, 1, 16>, 16, 16, 4, 4),
    op("v_mfma_f32_16x16x16_f16", dense<F16, F16, 16, 1, 16>, 16, 16, 4, 4),
    op("v_mfma_f32_32x32x16_fp8_fp8", dense<E4M3, E4M3, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_32x32x16_fp8_bf8", dense<E4M3, E5M2, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_32x32x16_bf8_fp8", dense<E5M2, E4M3, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_32x32x16_bf8_bf8", dense<E5M2, E5M2, 32, 1, 16>, 32, 16, 8, 16),
    op("v_mfma_f32_16x16x32_fp8_fp8", dense<E4M3, E4M3, 16, 1, 32>, 16, 32, 4, 4),
    op("v_mfma_f32_16x16x32_fp8_bf8", dense<E4M3, E5M2, 16, 1, 32>, 16, 32, 4, 4),
    op("v_mfma_f32_16x16x32_bf8_fp8", dense<E5M2, E4M3, 16, 1, 32>, 16, 32, 4, 4),
    op("v_mfma_f32_16x16x32_bf8_bf8", dense<E5M2, E5M2, 16, 1, 32>, 16, 32, 4, 4),
    mx("v_mfma_f32_32x32x64_f8f6f4", f8f6f4<32, 64, false>, 32, 64, 16, 16, false),
    mx("v_mfma_f32_16x16x128_f8f6f4", f8f6f4<16, 128, false>, 16, 128, 8, 4, false),
    mx("v_mfma_scale_f32_32x32x64_f8f6f4", f8f6f4<32, 64, true>, 32, 64, 16, 16, true),
    mx("v_mfma_scale_f32_16x16x128_f8f6f4", f8f6f4<16, 128, true>, 16, 128, 8, 4, true),
};

} // namespace

Span<MfmaOp> mfma_float_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
