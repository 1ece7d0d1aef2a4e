// SPDX-License-Identifier: Apache-2.0
// Rounding of an exact value to a small format by looking at all its numbers, for comparison.
#pragma once

#include <cmath>
#include <cstdint>

#include "tests/sim/math_formats.hpp"

namespace zyfa::sim::test {

/// Nearest code of |x| among the finite ones and one step beyond the largest; ties to even. x finite.
inline std::uint32_t nearest_code(const SmallFormat& f, long double x, bool saturate) {
    const std::uint32_t sign = std::signbit(x) ? 1u << (f.exponent + f.mantissa) : 0;
    const long double magnitude = std::fabs(x);
    const std::uint32_t all_ones = (1u << (f.exponent + f.mantissa)) - 1;
    const std::uint32_t infinity = all_ones >> f.mantissa << f.mantissa;
    const std::uint32_t largest = f.infinities ? infinity - 1 : f.nan ? all_ones - 1 : all_ones;
    // Binary search for the last code not above the magnitude.
    std::uint32_t low = 0, high = largest;
    while (low < high) {
        const std::uint32_t middle = (low + high + 1) / 2;
        if (static_cast<long double>(f.value(middle)) <= magnitude)
            low = middle;
        else
            high = middle - 1;
    }
    const long double below = f.value(low);
    const long double above =
        low < largest ? static_cast<long double>(f.value(low + 1)) : 2 * below - f.value(low - 1);
    const long double middle = (below + above) / 2;
    const std::uint32_t code = magnitude > middle || (magnitude == middle && (low & 1)) ? low + 1 : low;
    if (code > largest)
        return sign | (f.infinities ? (saturate ? largest : infinity)
                       : f.nan      ? (saturate ? largest : all_ones)
                                    : largest);
    return sign | code;
}

} // namespace zyfa::sim::test
