// SPDX-License-Identifier: Apache-2.0
// Matrix operand formats to double, exactly. All formats of FP16 width and below have a significand of at
// most 11 bits, so a value, and a product of two, is exact in double.
#pragma once

#include "sim/math/kernels/lanes.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Sign, exponent, mantissa widths of a small float and what its largest exponent means.
enum class Specials : std::uint8_t {
    ieee,     ///< all-ones exponent: Inf and NaN (FP16, E5M2)
    nan_only, ///< all-ones code: NaN, no Inf (E4M3 of OCP)
    none      ///< every code is a number (E2M3, E3M2, E2M1)
};
template <int Exponent, int Mantissa, Specials Special>
struct SmallFloat {
    static constexpr int bits = 1 + Exponent + Mantissa, mantissa = Mantissa;
    static constexpr Specials specials = Special;
    static constexpr int bias = (1 << (Exponent - 1)) - 1;

    /// Code in the low bits. Shifting exponent and mantissa to float's place and scaling by the difference of
    /// the biases is exact, for subnormal codes too.
    static ZYFA_SIM_INLINE float to_float(std::uint32_t code) {
        constexpr std::uint32_t magnitude_mask = (1u << (bits - 1)) - 1;
        const std::uint32_t magnitude = code & magnitude_mask;
        const std::uint32_t sign = (code >> (bits - 1) & 1u) << 31;
        const float scale = float_of(static_cast<std::uint32_t>(127 + 127 - bias) << 23);
        std::uint32_t value = bits_of(float_of(magnitude << (23 - Mantissa)) * scale);
        if constexpr (Special == Specials::ieee) {
            constexpr std::uint32_t infinity = magnitude_mask >> Mantissa << Mantissa;
            value =
                pick(magnitude >= infinity, 0x7F800000u | (magnitude << (23 - Mantissa) & 0x7FFFFFu), value);
        } else if constexpr (Special == Specials::nan_only) {
            value = pick(magnitude == magnitude_mask, canonical_nan, value);
        }
        return float_of(value | sign);
    }
};
using E4M3 = SmallFloat<4, 3, Specials::nan_only>;
using E5M2 = SmallFloat<5, 2, Specials::ieee>;
using E2M3 = SmallFloat<2, 3, Specials::none>;
using E3M2 = SmallFloat<3, 2, Specials::none>;
using E2M1 = SmallFloat<2, 1, Specials::none>;
using F16 = SmallFloat<5, 10, Specials::ieee>;
struct BF16 {
    static constexpr int bits = 16, mantissa = 7, bias = 127;
    static constexpr Specials specials = Specials::ieee;
    static ZYFA_SIM_INLINE float to_float(std::uint32_t code) { return float_of(code << 16); }
};

/// E8M0 scale: 2^(code - 127), 255 NaN (OCP MX 1.0; CDNA4 ISA).
ZYFA_SIM_INLINE double e8m0_to_double(std::uint32_t code) {
    return code == 255 ? double_of(0x7FF8000000000000u)
                       : double_of(static_cast<std::uint64_t>(code + 1023 - 127) << 52);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
