// SPDX-License-Identifier: Apache-2.0
// Logarithm, sine and cosine are written out here: the C library's differ in the last bit between versions,
// and a drawn tensor has to be the same everywhere. This file is compiled without contraction of a*b+c.
#include "core/random.hpp"

#include <cmath>
#include <numbers>

namespace zyfa {

namespace {

/// ln(x) for 0 < x < 1, to about 1e-16: ln m through 2 atanh((m-1)/(m+1)) with m in [sqrt(1/2), sqrt(2)].
double portable_log(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < std::numbers::sqrt2 / 2) {
        m *= 2;
        --exponent;
    }
    const double t = (m - 1) / (m + 1), t2 = t * t; // |t| < 0.172
    double series = 0;
    for (int n = 21; n >= 1; n -= 2)
        series = series * t2 + 1.0 / n;
    return exponent * std::numbers::ln2 + 2 * t * series;
}

struct SineCosine {
    double sine, cosine;
};

/// Of 2 pi u for u in (0, 1), to about 1e-16: Taylor series within an eighth of a turn of the nearest
/// quarter.
SineCosine portable_sincos_turn(double u) {
    const double quarter = std::floor(4 * u + 0.5);
    const double x = (u - quarter / 4) * 2 * std::numbers::pi, x2 = x * x; // |x| <= pi/4
    double s = 0, c = 0;
    for (int n = 19; n >= 3; n -= 2) {
        s = -(s + 1) * x2 / (n * (n - 1));
        c = -(c + 1) * x2 / ((n - 1) * (n - 2));
    }
    const double sine = x * (s + 1), cosine = c + 1;
    switch (static_cast<int>(quarter) & 3) {
    case 0:
        return {sine, cosine};
    case 1:
        return {cosine, -sine};
    case 2:
        return {-sine, -cosine};
    default:
        return {-cosine, sine};
    }
}

} // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::uint64_t key) {
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return c;
}

Random::Random(std::uint64_t seed, std::uint32_t stream, std::uint64_t substream)
    : seed_(seed), counter_{0, stream, static_cast<std::uint32_t>(substream),
                            static_cast<std::uint32_t>(substream >> 32)} {}

std::uint32_t Random::bits() {
    if (used_ == 4) {
        block_ = philox(counter_, seed_);
        ++counter_[0];
        used_ = 0;
    }
    return block_[used_++];
}

double Random::uniform() {
    return (bits() + 0.5) * 0x1p-32;
}

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    const double radius = std::sqrt(-2 * portable_log(uniform()));
    const auto [sine, cosine] = portable_sincos_turn(uniform());
    spare_ = radius * sine;
    has_spare_ = true;
    return radius * cosine;
}

} // namespace zyfa
