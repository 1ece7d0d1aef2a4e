// SPDX-License-Identifier: Apache-2.0
// Where matrix elements lie in registers (CDNA4 ISA, "Matrix Arithmetic Instructions"; AMD's matrix-core blog
// post; HipKittens and AITER kernels agree). Lane l of a shape with W rows (or columns) and B blocks:
//   row or column i = l % W, block = (l / W) % B, group g = l / (W * B), 64 / (W * B) groups in all.
#pragma once

#include "sim/math/kernels/decode.hpp"
#include "sim/math/kernels/vector.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Element e of a lane's operand registers, at lane offset `lane`.
template <int Bits>
ZYFA_SIM_INLINE std::uint32_t element(const std::uint32_t* regs, int e, int lane) {
    const int bit = e * Bits, reg = bit / 32, shift = bit % 32;
    const std::uint32_t low = regs[reg * 64 + lane] >> shift;
    if constexpr (32 % Bits == 0)
        return low;
    else // six-bit fields cross registers
        return shift + Bits <= 32 ? low : low | regs[(reg + 1) * 64 + lane] << (32 - shift);
}

/// k of element e in group g: E consecutive k per lane.
template <int E>
struct Contiguous {
    static constexpr int k(int g, int e) { return E * g + e; }
};
/// FP8 and BF8 operands of f8f6f4: two chunks of 16 bytes, each chunk spread over all groups.
template <int Groups>
struct Chunked {
    static constexpr int k(int g, int e) { return 16 * Groups * (e / 16) + 16 * g + e % 16; }
};

/// Operands are decoded to tiles: [block][i / Tile][k][i % Tile], so that a micro-kernel reads one tile front
/// to back.
template <int W, int K, int Tile>
struct Tiles {
    static constexpr int at(int block, int i, int k) {
        return ((block * (W / Tile) + i / Tile) * K + k) * Tile + i % Tile;
    }
};

/// A tile holds each value times this power of two. E4M3 is decoded as if it were FP16 with its exponent
/// field: that leaves 2^-8, which the micro-kernel takes out of the sums again. Nothing is rounded by it.
template <class Format>
inline constexpr float tile_scale = Format::bits == 8 && Format::mantissa == 3 ? 0x1p-8f : 1.0f;

#if defined(__AVX2__)
/// Eight codes at once; each code's lowest bit is at bit `shift` of its word. Normal numbers by moving
/// exponent and mantissa to float's place, subnormal ones (at most 8) by table: multiplying them into range,
/// as the scalar form does, is slow on hosts that trap to microcode for subnormal operands.
template <class Format>
struct EightCodes {
    static constexpr int bits = Format::bits, mantissa = Format::mantissa, exponent = bits - 1 - mantissa;
    static constexpr int magnitude_mask = (1 << (bits - 1)) - 1;
    static_assert(mantissa <= 3);
    __m256 subnormals =
        _mm256_setr_ps(Format::to_float(0), Format::to_float(1), Format::to_float(2), Format::to_float(3),
                       Format::to_float(4), Format::to_float(5), Format::to_float(6), Format::to_float(7));

    template <bool MayBeNan>
    ZYFA_SIM_INLINE __m256 to_floats(__m256i word, int shift) const {
        const __m256i code = _mm256_srli_epi32(word, shift);
        const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(code, 32 - bits),
                                              _mm256_set1_epi32(static_cast<int>(0x80000000u)));
        __m256 value = _mm256_permutevar8x32_ps(subnormals, code);
        if constexpr (bits > 4) { // the eight magnitudes of E2M1 are all in the table
            const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi32(magnitude_mask));
            const __m256i normal = _mm256_add_epi32(_mm256_slli_epi32(magnitude, 23 - mantissa),
                                                    _mm256_set1_epi32((127 - Format::bias) << 23));
            const __m256i is_normal = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((1 << mantissa) - 1));
            value = _mm256_blendv_ps(value, _mm256_castsi256_ps(normal), _mm256_castsi256_ps(is_normal));
            if constexpr (Format::specials != Specials::none && MayBeNan) {
                constexpr int infinity = magnitude_mask >> mantissa << mantissa;
                constexpr int first = Format::specials == Specials::ieee ? infinity : magnitude_mask;
                const __m256i special = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(first - 1));
                const __m256i what = Format::specials == Specials::ieee
                                         ? _mm256_or_si256(_mm256_slli_epi32(magnitude, 23 - mantissa),
                                                           _mm256_set1_epi32(0x7F800000))
                                         : _mm256_set1_epi32(static_cast<int>(canonical_nan));
                value = _mm256_blendv_ps(value, _mm256_castsi256_ps(what), _mm256_castsi256_ps(special));
            }
        }
        return _mm256_or_ps(value, _mm256_castsi256_ps(sign));
    }
    /// Whether any byte of the registers is a special (8-bit formats).
    static ZYFA_SIM_INLINE bool any_special(const std::uint32_t* regs, int words) {
        constexpr int infinity = magnitude_mask >> mantissa << mantissa;
        const __m256i first = _mm256_set1_epi8(
            static_cast<char>(Format::specials == Specials::ieee ? infinity - 1 : magnitude_mask - 1));
        __m256i any = _mm256_setzero_si256();
        for (int i = 0; i < words; i += 8) {
            const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(regs + i));
            const __m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi8(magnitude_mask & 127));
            any = _mm256_or_si256(any, _mm256_cmpgt_epi8(magnitude, first));
        }
        return !_mm256_testz_si256(any, any);
    }
};

ZYFA_SIM_INLINE __m256i load_words(const std::uint32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
/// Four values to each place, as the tile holds them.
ZYFA_SIM_INLINE void store_halves(double* low, double* high, __m256 floats) {
    _mm256_storeu_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(floats)));
    _mm256_storeu_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(floats, 1)));
}
ZYFA_SIM_INLINE void store_halves(float* low, float* high, __m256 floats) {
    _mm_storeu_ps(low, _mm256_castps256_ps128(floats));
    _mm_storeu_ps(high, _mm256_extractf128_ps(floats, 1));
}

/// decode_operand for shapes of at least 8 rows.
template <class Format, int W, int Blocks, int K, class KMap, int Tile, bool MayBeNan, class Value>
void decode_operand_avx2(const std::uint32_t* regs, Value* out) {
    constexpr int per_lane = K * W * Blocks / 64, bits = Format::bits;
    using At = Tiles<W, K, Tile>;
    for (int chunk = 0; chunk < 64 / W; ++chunk)
        for (int i = 0; i < W; i += 8) {
            const std::uint32_t* lane = regs + chunk * W + i;
            const int block = chunk % Blocks, group = chunk / Blocks;
            Value* const low = out + At::at(block, i, 0);
            Value* const high = out + At::at(block, i + 4, 0);
            if constexpr (bits == 16) {
            // A pair of elements to a word: low halves in the low words of each 128-bit half, high ones
            // above.
#pragma GCC unroll 4
                for (int e = 0; e < per_lane; e += 2) {
                    const __m256i word = load_words(lane + e / 2 * 64);
                    const int k0 = KMap::k(group, e) * Tile, k1 = KMap::k(group, e + 1) * Tile;
                    if constexpr (Format::mantissa == 7) {
                        store_halves(low + k0, high + k0, _mm256_castsi256_ps(_mm256_slli_epi32(word, 16)));
                        store_halves(low + k1, high + k1,
                                     _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(word, 16), 16)));
                    } else {
                        const __m256i halves = _mm256_packus_epi32(
                            _mm256_and_si256(word, _mm256_set1_epi32(0xFFFF)), _mm256_srli_epi32(word, 16));
                        store_halves(low + k0, low + k1, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
                        store_halves(high + k0, high + k1,
                                     _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
                    }
                }
            } else if constexpr (bits == 8 && !MayBeNan) {
                // Two elements at once, as FP16 numbers: the code in the upper byte, E4M3's magnitude one bit
                // down.
                const __m256i first_two =
                    _mm256_setr_epi8(-1, 0, -1, 4, -1, 8, -1, 12, -1, 1, -1, 5, -1, 9, -1, 13, -1, 0, -1, 4,
                                     -1, 8, -1, 12, -1, 1, -1, 5, -1, 9, -1, 13);
                const __m256i last_two = _mm256_add_epi8(first_two, _mm256_set1_epi16(0x0200));
#pragma GCC unroll 16
                for (int e = 0; e < per_lane; e += 2) {
                    const int k0 = KMap::k(group, e) * Tile, k1 = KMap::k(group, e + 1) * Tile;
                    __m256i halves =
                        _mm256_shuffle_epi8(load_words(lane + e / 4 * 64), e % 4 ? last_two : first_two);
                    if constexpr (Format::mantissa == 3)
                        halves = _mm256_and_si256(_mm256_srai_epi16(halves, 1),
                                                  _mm256_set1_epi16(static_cast<short>(0xBF80)));
                    store_halves(low + k0, low + k1, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
                    store_halves(high + k0, high + k1, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
                }
            } else {
                const EightCodes<Format> codes;
                const __m256 factor = _mm256_set1_ps(tile_scale<Format>);
#pragma GCC unroll 32
                for (int e = 0; e < per_lane; ++e) {
                    const int bit = e * bits, shift = bit % 32, k = KMap::k(group, e) * Tile;
                    __m256i word = load_words(lane + bit / 32 * 64);
                    if (32 % bits != 0 && shift + bits > 32) // six-bit fields cross registers
                        word = _mm256_or_si256(
                            _mm256_srli_epi32(word, shift),
                            _mm256_slli_epi32(load_words(lane + (bit / 32 + 1) * 64), 32 - shift));
                    const __m256 value =
                        codes.template to_floats<MayBeNan>(word, shift + bits > 32 ? 0 : shift);
                    store_halves(low + k, high + k,
                                 tile_scale<Format> == 1 ? value : _mm256_mul_ps(value, factor));
                }
            }
        }
}
#endif

/// Decodes an A (or B) operand to doubles or, where the micro-kernel widens them itself, to floats.
template <class Format, int W, int Blocks, int K, class KMap, int Tile, class Value>
void decode_operand(const std::uint32_t* regs, Value* out) {
    constexpr int groups = 64 / (W * Blocks), per_lane = K / groups, bits = Format::bits;
    using At = Tiles<W, K, Tile>;
#if defined(__AVX2__)
    if constexpr (W >= 8) {
        if constexpr (bits == 8) {
            if (EightCodes<Format>::any_special(regs, per_lane / 4 * 64))
                return decode_operand_avx2<Format, W, Blocks, K, KMap, Tile, true>(regs, out);
        }
        return decode_operand_avx2<Format, W, Blocks, K, KMap, Tile, false>(regs, out);
    }
#endif
    constexpr std::uint32_t mask = bits == 32 ? ~0u : (1u << bits % 32) - 1;
    for (int chunk = 0; chunk < 64 / W; ++chunk)
        for (int e = 0; e < per_lane; ++e)
            for (int i = 0; i < W; ++i) {
                const std::uint32_t code = element<bits>(regs, e, chunk * W + i) & mask;
                out[At::at(chunk % Blocks, i, KMap::k(chunk / Blocks, e))] =
                    static_cast<Value>(Format::to_float(code) * tile_scale<Format>);
            }
}

/// C and D with 32-bit elements: four consecutive rows share a register group. First register and first lane
/// of rows 4*row_block..+3, column 0.
template <int W>
struct Accumulator {
    static constexpr int reg(int block, int row_block) {
        return W == 32 ? 16 * block + 4 * (row_block / 2) : W == 16 ? 4 * block : 0;
    }
    static constexpr int lane(int block, int row_block) {
        return W == 32 ? 32 * (row_block % 2) : W == 16 ? 16 * row_block : 4 * block;
    }
};

} // namespace zyfa::sim::ZYFA_SIM_ISA
