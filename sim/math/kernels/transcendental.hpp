// SPDX-License-Identifier: Apache-2.0
// 2^x, log2, sine and cosine of turns, in double with a relative error below 2^-43, by polynomials of our
// own: no result depends on a host's mathematics library. Products and sums are rounded separately, so that
// hosts with and without fused operations agree bit for bit. The instruction rounds the double once; the
// outcome is the correctly rounded one except where the true value lies within 2^-43 of a tie. Hardware gives
// about 1 ulp (CDNA4 ISA); its last bits are not public.
#pragma once

#include "sim/math/kernels/lanes.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {

/// Polynomial with the highest coefficient last; pairs of terms first (Estrin), which leaves the host more to
/// do at once than Horner's rule.
template <std::size_t N>
ZYFA_SIM_INLINE double polynomial(const double (&c)[N], double x) {
    const double x2 = x * x;
    double pairs[(N + 1) / 2];
    for (std::size_t i = 0; i < N / 2; ++i)
        pairs[i] = c[2 * i] + c[2 * i + 1] * x;
    if constexpr (N % 2 != 0)
        pairs[N / 2] = c[N - 1];
    if constexpr ((N + 1) / 2 == 1)
        return pairs[0];
    else
        return polynomial(pairs, x2);
}

/// Adding and subtracting it rounds a double of magnitude below 2^51 to an integer, nearest even; the low
/// bits of the sum then hold that integer.
inline constexpr double round_magic = 6755399441055744.0; // 1.5 * 2^52

/// 2^x for |x| <= 1000.
ZYFA_SIM_INLINE double exp2_of(double x) {
    // Interpolates 2^r at Chebyshev nodes of [-1/2, 1/2], exact at 0; relative error below 2^-44.
    constexpr double c[] = {1.0,
                            0.6931471805599453,
                            0.2402265069581299,
                            0.055504108664760424,
                            0.009618129159402558,
                            0.0013333558179043112,
                            0.00015403455852453838,
                            1.525268684626772e-05,
                            1.3255224878668817e-06,
                            1.0203121063391729e-07};
    const double shifted = x + round_magic;
    const double r = x - (shifted - round_magic);
    const double scale = double_of((bits_of(shifted) + 1023) << 52);
    return polynomial(c, r) * scale;
}

/// log2 of a positive normal double.
ZYFA_SIM_INLINE double log2_of(double x) {
    // log2(m) = 2/ln(2) * artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172: 2/ln(2)/(2k+1), remainder below
    // 2^-55.
    constexpr double c[] = {2.8853900817779268,  0.9617966939259756,  0.5770780163555853,
                            0.4121985831111324,  0.3205988979753252,  0.2623081892525388,
                            0.22195308321368667, 0.19235933878519512, 0.16972882833987804,
                            0.15186263588304877, 0.1373995277037108};
    // x = 2^e * m with m in [sqrt(1/2), sqrt(2)).
    constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCDu, mantissa = 0xFFFFFFFFFFFFFu;
    const std::uint64_t offset = bits_of(x) - root_half + (1023ull << 52);
    const double m = double_of((offset & mantissa) + root_half);
    // The exponent as a double without a 64-bit integer conversion: it fits the mantissa of 2^52.
    const double e = double_of(offset >> 52 | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    const double s = (m - 1.0) / (m + 1.0);
    return s * polynomial(c, s * s) + e;
}

/// sin(2 pi y) for |y| <= 1/4.
ZYFA_SIM_INLINE double sin_quarter(double y) {
    constexpr double c[] = {6.283185307179586,     -41.34170224039976,   81.60524927607506,
                            -76.70585975306139,    42.058693944897655,   -15.09464257682299,
                            3.819952584848282,     -0.7181223017785006,  0.10422916220813984,
                            -0.012031585942120627, 0.0011309237482517963};
    return y * polynomial(c, y * y);
}
/// y in turns, reduced to [-1/2, 1/2], exactly for any float.
ZYFA_SIM_INLINE double reduced_turns(double x) {
    return x - ((x + round_magic) - round_magic);
}
ZYFA_SIM_INLINE double magnitude_of(double x) {
    return double_of(bits_of(x) & 0x7FFFFFFFFFFFFFFFu);
}
ZYFA_SIM_INLINE double sin_turns(double x) {
    const double y = reduced_turns(x), a = magnitude_of(y);
    const double folded = pick(a > 0.25, 0.5 - a, a);
    return double_of(bits_of(sin_quarter(folded)) | (bits_of(y) & 0x8000000000000000u));
}
ZYFA_SIM_INLINE double cos_turns(double x) {
    return sin_quarter(0.25 - magnitude_of(reduced_turns(x)));
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
