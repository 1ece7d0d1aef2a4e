// SPDX-License-Identifier: Apache-2.0
// BF16 and OCP E4M3 conversions, from the formats' definitions (OCP 8-bit Floating Point Specification 1.0).
#include <bit>
#include <cmath>

#include "core/reference.hpp"

namespace zyfa {

float bf16_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value))
        return static_cast<std::uint16_t>((bits >> 16) | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float e4m3_to_float(std::uint8_t code) {
    const unsigned exponent = (code >> 3) & 15, mantissa = code & 7;
    float magnitude;
    if (exponent == 15 && mantissa == 7)
        magnitude = std::bit_cast<float>(0x7fc00000u);
    else if (exponent == 0)
        magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    else
        magnitude = std::bit_cast<float>((exponent + 120) << 23 | mantissa << 20);
    return code & 0x80 ? -magnitude : magnitude;
}

std::uint8_t float_to_e4m3(float value) {
    const unsigned sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value))
        return static_cast<std::uint8_t>(sign | 0x7f);
    const float magnitude = std::fabs(value);
    if (magnitude >= 448.0f)
        return static_cast<std::uint8_t>(sign | 0x7e);
    if (magnitude < 0x1p-6f) // subnormal codes are multiples of 2^-9; rounding up to 2^-6 gives code 8
        return static_cast<std::uint8_t>(sign | static_cast<unsigned>(std::nearbyint(magnitude * 0x1p9f)));
    const auto bits = std::bit_cast<std::uint32_t>(magnitude);
    const std::uint32_t rounded =
        bits + 0x7ffff + ((bits >> 20) & 1); // carries into the exponent where needed
    const std::uint32_t code = (rounded >> 20) - (120u << 3);
    return static_cast<std::uint8_t>(sign | (code > 0x7e ? 0x7e : code));
}

} // namespace zyfa
