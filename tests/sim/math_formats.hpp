// SPDX-License-Identifier: Apache-2.0
// Small floats decoded from their definition (sign, exponent field, mantissa field), for comparison.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace zyfa::sim::test {

struct SmallFormat {
    int exponent, mantissa;
    bool infinities; ///< all-ones exponent: Inf and NaN
    bool nan;        ///< without infinities: the all-ones code is NaN
    int bits() const { return 1 + exponent + mantissa; }
    double value(std::uint32_t code) const {
        const int bias = (1 << (exponent - 1)) - 1;
        const std::uint32_t m = code & ((1u << mantissa) - 1), e = code >> mantissa & ((1u << exponent) - 1);
        const double sign = code >> (exponent + mantissa) & 1 ? -1.0 : 1.0;
        if (infinities && e == (1u << exponent) - 1)
            return m ? std::numeric_limits<double>::quiet_NaN()
                     : sign * std::numeric_limits<double>::infinity();
        if (nan && e == (1u << exponent) - 1 && m == (1u << mantissa) - 1)
            return std::numeric_limits<double>::quiet_NaN();
        if (e == 0)
            return sign * std::ldexp(static_cast<double>(m), 1 - bias - mantissa);
        return sign *
               std::ldexp(1.0 + std::ldexp(static_cast<double>(m), -mantissa), static_cast<int>(e) - bias);
    }
};
inline constexpr SmallFormat e4m3{4, 3, false, true}, e5m2{5, 2, true, false}, e2m3{2, 3, false, false},
    e3m2{3, 2, false, false}, e2m1{2, 1, false, false}, fp16{5, 10, true, false}, bf16{8, 7, true, false},
    fp32{8, 23, true, false};

} // namespace zyfa::sim::test
