// SPDX-License-Identifier: Apache-2.0
// Sparse matrix instructions (SMFMAC): of every 4 consecutive k, A holds 2, chosen by 2-bit indices; D is
// also C. Sums as in mfma_float.cpp and mfma_i8.cpp, over the k present. Where A's elements, their indices
// and B's elements lie: AMD's functional simulator rocjitsu (ROCm/rocm-systems, mma/layout.h,
// "SmfmacLayout"); the manual leaves it open and no measurement is public.
#include "sim/math/kernels/layout.hpp"
#include "sim/math/kernels/mfma_table.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// Place of an A element: lane group, index nibble, element of the lane.
struct Place {
    int group, nibble, element;
};
/// Which of the four layouts.
enum class Layout { narrow16, wide16, narrow8, wide8 };

/// Slot s (0, 1) of the q-th group of four k.
template <Layout layout, int W, int K>
constexpr Place place_of(int q, int s) {
    if constexpr (layout == Layout::narrow16 || layout == Layout::wide16) {
        constexpr int per_lane = layout == Layout::narrow16 ? 2 : 4;
        return {q / per_lane, q % per_lane, 2 * (q % per_lane) + s};
    } else if constexpr (layout == Layout::narrow8) {
        constexpr int half = K / 8;
        return {q % half / 2, 2 * (q / half) + q % 2, 4 * (q / half) + 2 * (q % 2) + s};
    } else if constexpr (W == 16) {
        return {2 * (q / 16) + q / 4 % 2, 2 * (q / 8 % 2) + 4 * (q % 4 / 2) + q % 2,
                4 * (2 * (q / 2 % 2) + q / 8 % 2) + 2 * (q % 2) + s};
    } else {
        return {q / 8, q % 2 + 2 * (q / 4 % 2) + 4 * (q / 2 % 2),
                4 * (2 * (q / 2 % 2) + q / 4 % 2) + 2 * (q % 2) + s};
    }
}
/// Group and element of B at k: runs of 8 consecutive k per lane, spread over the groups.
template <int W>
constexpr int b_group(int k) {
    return k % (512 / W) / 8;
}
template <int W>
constexpr int b_element(int k) {
    return 8 * (k / (512 / W)) + k % 8;
}

struct Signed8 {
    static constexpr int bits = 8;
    static ZYFA_SIM_INLINE std::int32_t value(std::uint32_t code) {
        return static_cast<std::int32_t>(code << 24) >> 24;
    }
};
/// An input format as the accumulator wants it: double, or a wrapping 32-bit integer.
template <class Format>
struct Input {
    using Sum = double;
    static ZYFA_SIM_INLINE double value(std::uint32_t code) {
        return static_cast<double>(Format::to_float(code));
    }
    static ZYFA_SIM_INLINE std::uint32_t result(double sum, std::uint32_t c) {
        const float r = static_cast<float>(sum + static_cast<double>(float_of(c)));
        return r == r ? bits_of(r) : canonical_nan;
    }
};
template <>
struct Input<Signed8> {
    using Sum = std::uint32_t;
    static ZYFA_SIM_INLINE std::uint32_t value(std::uint32_t code) {
        return static_cast<std::uint32_t>(Signed8::value(code));
    }
    static ZYFA_SIM_INLINE std::uint32_t result(std::uint32_t sum, std::uint32_t c) { return sum + c; }
};

template <int Bits>
ZYFA_SIM_INLINE std::uint32_t code_at(const std::uint32_t* regs, int lane, int e) {
    return regs[e * Bits / 32 * 64 + lane] >> (e * Bits % 32) & ((1u << Bits) - 1);
}

template <class FormatA, class FormatB, Layout layout, int W, int K>
void sparse(const MfmaCall& call) {
    constexpr int bits = FormatA::bits;
    using Sum = typename Input<FormatA>::Sum;
    // Bits of one index set; with cbsz 0, abid says which set of the register (CDNA3 ISA, SMFMAC).
    constexpr int set_bits = layout == Layout::narrow16 ? 8 : layout == Layout::wide8 ? 32 : 16;
    const unsigned set_shift = call.cbsz == 0 ? call.abid % (32 / set_bits) * set_bits : 0;

    Sum b[K][W];
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < W; ++j)
            b[k][j] = Input<FormatB>::value(code_at<bits>(call.b, b_group<W>(k) * W + j, b_element<W>(k)));

    for (int row = 0; row < W; ++row) {
        Sum sum[W] = {};
        for (int q = 0; q < K / 4; ++q)
            for (int s = 0; s < 2; ++s) {
                const Place p = place_of<layout, W, K>(q, s);
                const int lane = p.group * W + row;
                const Sum x = Input<FormatA>::value(code_at<bits>(call.a, lane, p.element));
                const int k = 4 * q + static_cast<int>(call.index[lane] >>
                                                           (set_shift + 4 * static_cast<unsigned>(p.nibble) +
                                                            2 * static_cast<unsigned>(s)) &
                                                       3);
                for (int j = 0; j < W; ++j)
                    sum[j] += x * b[k][j];
            }
        using At = Accumulator<W>;
        std::uint32_t* d = call.d + (At::reg(0, row / 4) + row % 4) * 64 + At::lane(0, row / 4);
        for (int j = 0; j < W; ++j)
            d[j] = Input<FormatA>::result(sum[j], d[j]);
    }
}

template <class FormatA, class FormatB, Layout layout, int W, int K>
constexpr MfmaOp sparse_row(std::string_view mnemonic) {
    MfmaOp op{mnemonic, sparse<FormatA, FormatB, layout, W, K>, W, W, K, W == 16 ? 4 : 8, W * W / 64};
    op.sparse = true;
    op.a_registers = W * K / 2 * FormatA::bits / 32 / 64;
    op.b_registers = W * K * FormatB::bits / 32 / 64;
    return op;
}

constexpr MfmaOp ops[] = {
    sparse_row<F16, F16, Layout::narrow16, 16, 32>("v_smfmac_f32_16x16x32_f16"),
    sparse_row<F16, F16, Layout::narrow16, 32, 16>("v_smfmac_f32_32x32x16_f16"),
    sparse_row<BF16, BF16, Layout::narrow16, 16, 32>("v_smfmac_f32_16x16x32_bf16"),
    sparse_row<BF16, BF16, Layout::narrow16, 32, 16>("v_smfmac_f32_32x32x16_bf16"),
    sparse_row<F16, F16, Layout::wide16, 16, 64>("v_smfmac_f32_16x16x64_f16"),
    sparse_row<F16, F16, Layout::wide16, 32, 32>("v_smfmac_f32_32x32x32_f16"),
    sparse_row<BF16, BF16, Layout::wide16, 16, 64>("v_smfmac_f32_16x16x64_bf16"),
    sparse_row<BF16, BF16, Layout::wide16, 32, 32>("v_smfmac_f32_32x32x32_bf16"),
    sparse_row<Signed8, Signed8, Layout::narrow8, 16, 64>("v_smfmac_i32_16x16x64_i8"),
    sparse_row<Signed8, Signed8, Layout::narrow8, 32, 32>("v_smfmac_i32_32x32x32_i8"),
    sparse_row<Signed8, Signed8, Layout::wide8, 16, 128>("v_smfmac_i32_16x16x128_i8"),
    sparse_row<Signed8, Signed8, Layout::wide8, 32, 64>("v_smfmac_i32_32x32x64_i8"),
    sparse_row<E4M3, E4M3, Layout::narrow8, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8"),
    sparse_row<E4M3, E5M2, Layout::narrow8, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8"),
    sparse_row<E5M2, E4M3, Layout::narrow8, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8"),
    sparse_row<E5M2, E5M2, Layout::narrow8, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8"),
    sparse_row<E4M3, E4M3, Layout::narrow8, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8"),
    sparse_row<E4M3, E5M2, Layout::narrow8, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8"),
    sparse_row<E5M2, E4M3, Layout::narrow8, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8"),
    sparse_row<E5M2, E5M2, Layout::narrow8, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8"),
    sparse_row<E4M3, E4M3, Layout::wide8, 16, 128>("v_smfmac_f32_16x16x128_fp8_fp8"),
    sparse_row<E4M3, E5M2, Layout::wide8, 16, 128>("v_smfmac_f32_16x16x128_fp8_bf8"),
    sparse_row<E5M2, E4M3, Layout::wide8, 16, 128>("v_smfmac_f32_16x16x128_bf8_fp8"),
    sparse_row<E5M2, E5M2, Layout::wide8, 16, 128>("v_smfmac_f32_16x16x128_bf8_bf8"),
    sparse_row<E4M3, E4M3, Layout::wide8, 32, 64>("v_smfmac_f32_32x32x64_fp8_fp8"),
    sparse_row<E4M3, E5M2, Layout::wide8, 32, 64>("v_smfmac_f32_32x32x64_fp8_bf8"),
    sparse_row<E5M2, E4M3, Layout::wide8, 32, 64>("v_smfmac_f32_32x32x64_bf8_fp8"),
    sparse_row<E5M2, E5M2, Layout::wide8, 32, 64>("v_smfmac_f32_32x32x64_bf8_bf8"),
};

} // namespace

Span<MfmaOp> smfmac_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
