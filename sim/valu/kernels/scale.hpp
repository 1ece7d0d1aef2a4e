// SPDX-License-Identifier: Apache-2.0
// Multiplication by a power of two with one rounding.
#pragma once

#include "sim/valu/kernels/fraction.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

ZYFA_SIM_INLINE double exp2_exact(int e) { // -1022 to 1023
    return double_of(static_cast<Word64>(e + 1023) << 52);
}
/// x * 2^e in double.
ZYFA_SIM_INLINE double scaled(double x, i32 e) {
    if (!splits(x))
        return x;
    const double m = frexp_mantissa(x); // [1/2, 1)
    const i32 bounded = e < -4000 ? -4000 : e > 4000 ? 4000 : e, t = frexp_exponent(x) + bounded;
    if (t > 1024)
        return m * exp2_exact(1023) * 4.0; // overflows in the rounding direction's way
    if (t > 1023)
        return m * 2.0 * exp2_exact(t - 1);
    if (t >= -1020)
        return m * exp2_exact(t);
    // Exact down to the smallest normal numbers, then the one rounding.
    const i32 rest = t + 1020 < -200 ? -200 : t + 1020;
    return m * exp2_exact(-1020) * exp2_exact(rest);
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
