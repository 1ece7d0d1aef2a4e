// SPDX-License-Identifier: Apache-2.0
// The rotation of queries and keys, from its definition.
#pragma once

#include <cstdint>

namespace zyfa {

/// Whether element `row` of a row is negated first: the random signs s, which are the lowest bits of the
/// counter-based generator with seed 0.
bool rotation_negates(std::int64_t row);

/// Element of R = diag(s) (C_m (x) H_D/m), m = 3 where 3 divides `dim`, else 1 (paper Section V-E); dim / m
/// is a power of two.
double rotation(std::int64_t dim, std::int64_t row, std::int64_t column);

} // namespace zyfa
