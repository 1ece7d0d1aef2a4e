// SPDX-License-Identifier: Apache-2.0
// Into how many parts the keys of a tile are split where there are too few tiles to fill the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "templates/attention/kernarg.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::templates::attention {

/// Numbers of parts (powers of two) worth looking at, the default first. The default depends on what a winner
/// key tells of a problem (its bucket of sizes), and is chosen for a chip of 256 compute units whatever the
/// device: equal requests have equal bits, whatever was asked before and wherever.
std::vector<std::uint32_t> part_counts(const Problem& problem, const TileShape& shape, unsigned block_bits);

} // namespace zyfa::templates::attention
