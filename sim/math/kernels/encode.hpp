// SPDX-License-Identifier: Apache-2.0
// FP32 to the small formats: to nearest even, by MODE's rounding field, and stochastically. Integer
// arithmetic on the bits, the same on every host, written so that loops over lanes vectorise.
#pragma once

#include "sim/math/kernels/decode.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// MODE's round field.
enum class Round : unsigned { nearest, up, down, zero };

/// Significand (hidden bit included) shifted right by `shift` (1 to 26) and rounded; `negative` orients the
/// directed modes.
ZYFA_SIM_INLINE std::uint32_t round_shift(std::uint32_t significand, unsigned shift, Round round,
                                          bool negative) {
    const std::uint32_t below = (1u << shift) - 1, odd = significand >> shift & 1;
    const std::uint32_t nearest = (below >> 1) + odd;
    const bool away = ((round == Round::up) & !negative) | ((round == Round::down) & negative);
    return (significand + pick(round == Round::nearest, nearest, pick(away, below, 0u))) >> shift;
}

/// What a magnitude beyond the format's largest becomes. FP16_OVFL (MODE) clamps finite values to the largest
/// while keeping infinities (CDNA4 ISA, MODE register).
template <class Format>
struct Encode {
    static constexpr int mantissa = Format::mantissa, bias = Format::bias, bits = Format::bits;
    static constexpr std::uint32_t all_ones = (1u << (bits - 1)) - 1;
    static constexpr std::uint32_t infinity = all_ones >> mantissa << mantissa; ///< IEEE-like formats
    static constexpr std::uint32_t largest = Format::specials == Specials::ieee       ? infinity - 1
                                             : Format::specials == Specials::nan_only ? all_ones - 1
                                                                                      : all_ones;
    static constexpr std::uint32_t overflow = Format::specials == Specials::ieee       ? infinity
                                              : Format::specials == Specials::nan_only ? all_ones
                                                                                       : largest;

    /// Shift and the code added to the rounded significand.
    struct Place {
        std::uint32_t significand;
        unsigned shift;
        std::uint32_t base;
    };
    static ZYFA_SIM_INLINE Place place(std::uint32_t magnitude) {
        const std::int32_t field = static_cast<std::int32_t>(magnitude >> 23);
        const std::uint32_t significand = (magnitude & 0x7FFFFFu) | pick(field != 0, 0x800000u, 0u);
        // Exponent field in the target format; below 1 the value is subnormal there.
        const std::int32_t target = pick(field != 0, field, 1) - 127 + bias;
        const std::int32_t deficit = pick(target < 1, 1 - target, 0);
        const std::int32_t shift = 23 - mantissa + deficit;
        return {significand, static_cast<unsigned>(pick(shift < 26, shift, 26)),
                static_cast<std::uint32_t>(pick(target < 1, 0, target - 1)) << mantissa};
    }
    static ZYFA_SIM_INLINE std::uint32_t finish(std::uint32_t code, std::uint32_t x, bool saturate,
                                                bool truncated) {
        const std::uint32_t magnitude = x & 0x7FFFFFFFu, sign = x >> 31 << (bits - 1);
        const std::uint32_t beyond = pick(saturate | truncated, largest, overflow);
        std::uint32_t r = pick(code > largest, beyond, code);
        if constexpr (Format::specials == Specials::ieee)
            r = pick(magnitude > 0x7F800000u,
                     infinity | 1u << (mantissa - 1) | (magnitude & 0x7FFFFFu) >> (23 - mantissa),
                     pick(magnitude == 0x7F800000u, infinity, r));
        else if constexpr (Format::specials == Specials::nan_only)
            r = pick(magnitude >= 0x7F800000u, all_ones, r);
        return r | sign;
    }

    /// x: FP32 bits. saturate: finite overflow gives the largest value.
    static ZYFA_SIM_INLINE std::uint32_t rounded(std::uint32_t x, Round round, bool saturate) {
        const bool negative = x >> 31;
        const Place p = place(x & 0x7FFFFFFFu);
        // Rounding toward zero never reaches infinity.
        const bool truncated =
            (round == Round::zero) | ((round == Round::up) & negative) | ((round == Round::down) & !negative);
        return finish(p.base + round_shift(p.significand, p.shift, round, negative), x, saturate, truncated);
    }
    static ZYFA_SIM_INLINE std::uint32_t nearest(std::uint32_t x, bool saturate) {
        const Place p = place(x & 0x7FFFFFFFu);
        const std::uint32_t odd = p.significand >> p.shift & 1;
        return finish(p.base + ((p.significand + (((1u << p.shift) - 1) >> 1) + odd) >> p.shift), x, saturate,
                      false);
    }
    /// Adds the top bits of `random` below the last kept bit and truncates.
    static ZYFA_SIM_INLINE std::uint32_t stochastic(std::uint32_t x, std::uint32_t random, bool saturate) {
        const Place p = place(x & 0x7FFFFFFFu);
        return finish(p.base + ((p.significand + (random >> (32 - p.shift))) >> p.shift), x, saturate, false);
    }
};

/// BF16 has FP32's exponent range: the code is the rounded upper half. NaN is quieted.
ZYFA_SIM_INLINE std::uint32_t bf16_nearest(std::uint32_t x) {
    const std::uint32_t r = (x + 0x7FFFu + (x >> 16 & 1)) >> 16;
    return pick((x & 0x7FFFFFFFu) > 0x7F800000u, x >> 16 | 0x40u, r);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
