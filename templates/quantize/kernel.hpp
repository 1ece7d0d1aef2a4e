// SPDX-License-Identifier: Apache-2.0
// BF16 rows to e4m3 codes: the kernels behind zyfa::quantize, all of one kind in one code object.
//
// A row of D = C * L * 8 elements lies in L neighbouring lanes, C chunks of 8 elements (16 bytes) in each, so
// that loads and stores are whole rows. The Hadamard matrix acts within the lane, across lanes by DPP, and
// across chunks; for D = 3 * 2^k the chunks get the DCT of size 3 (paper Section V-E).
#pragma once

#include <cstdint>
#include <string>

#include "templates/template.hpp"

namespace zyfa::templates::quantize {

/// What a code object is made for.
struct Kind {
    std::int64_t dim = 128;
    bool rotate = false; ///< multiply every row by R = diag(s) (C_m (x) H_D/m)
    bool smooth = false; ///< subtract the mean row of the head first
    bool operator==(const Kind&) const = default;
    auto operator<=>(const Kind&) const = default;
};

inline constexpr std::int64_t dims[] = {64, 96, 128, 192, 256};
bool has_dim(std::int64_t dim);

/// Rows of a wave at once, and of a workgroup of four waves.
inline constexpr std::uint32_t wave_rows = 32, workgroup_rows = 128, workgroup_size = 256;
/// Rows of one head that a workgroup sums up for the mean.
inline constexpr std::uint32_t mean_rows = 1024;

/// The code object's kernels; Kernel::name is the first one.
///   <name>          codes, descale and counts           grid (workgroups, heads, batch)
///   <name>_largest  report.largest_bits by atomic max   grid (workgroups, heads, batch)
///   <name>_sum      smooth: partial sums of the rows    grid (ceil(rows / 1024), heads, batch)
///   <name>_mean     smooth: mean row                    grid (1, heads, batch)
///   <name>_lse      smooth: adds the mean key's score   grid (workgroups, query heads, batch)
Kernel make_kernel(const Kind& kind);
std::string kernel_name(const Kind& kind);

/// What R multiplies magnitudes by beside sums and differences: 2^(-k/2), k the Hadamard matrix's order.
float rotation_norm(std::int64_t dim);

} // namespace zyfa::templates::quantize
