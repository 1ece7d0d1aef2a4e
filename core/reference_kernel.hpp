// SPDX-License-Identifier: Apache-2.0
// The two inner products of the blocked fp64 reference. Private to core.
#pragma once

#include <cstdint>

namespace zyfa::reference_kernel {

inline constexpr std::int64_t tile_rows = 8;

/// scores[j, r] = sum_d q[d, r] * k[j, d] for `keys` keys and tile_rows rows.
void scores(const double* q, const double* k, std::int64_t keys, std::int64_t dim, double* scores);

/// o[r, d] += sum_j p[j, r] * v[j, d].
void weigh(const double* p, const double* v, std::int64_t keys, std::int64_t dim, double* o);

} // namespace zyfa::reference_kernel
