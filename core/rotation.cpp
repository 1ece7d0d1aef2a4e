// SPDX-License-Identifier: Apache-2.0
#include "core/rotation.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/random.hpp"

namespace zyfa {

namespace {

constexpr std::uint32_t sign_stream = 0x526f7461; // "Rota"

/// Orthonormal DCT-II of size 3.
double cosine(std::int64_t frequency, std::int64_t position) {
    const double norm = std::sqrt((frequency == 0 ? 1.0 : 2.0) / 3.0);
    return norm * std::cos(std::numbers::pi * static_cast<double>((2 * position + 1) * frequency) / 6.0);
}

} // namespace

bool rotation_negates(std::int64_t row) {
    return (philox({static_cast<std::uint32_t>(row), sign_stream, 0, 0}, 0)[0] & 1) != 0;
}

double rotation(std::int64_t dim, std::int64_t row, std::int64_t column) {
    const std::int64_t m = dim % 3 == 0 ? 3 : 1, order = dim / m;
    const auto common = static_cast<std::uint64_t>((row % order) & (column % order));
    const double hadamard = (std::popcount(common) % 2 == 0 ? 1 : -1) / std::sqrt(static_cast<double>(order));
    const double value = hadamard * (m == 3 ? cosine(row / order, column / order) : 1.0);
    return rotation_negates(row) ? -value : value;
}

} // namespace zyfa
