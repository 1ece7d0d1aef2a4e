// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/part_counts.hpp"

#include <algorithm>
#include <cmath>

#include "core/keys.hpp"
#include "templates/attention/split.hpp"
#include "templates/attention/work.hpp"

namespace zyfa::templates::attention {

namespace {

// Cycles on the simulator's model of a compute unit, rounded (bench/few_heads.cpp).
constexpr double block_cycles = 2150;    ///< two phases of two waves, head dimension 128
constexpr double item_cycles = 10300;    ///< of an item beside those of its blocks
constexpr double merge_cycles = 14500;   ///< 5 us from one kernel's end to the next one's work, and its start
constexpr double bytes_per_cycle = 4000; ///< workspace, whole chip: between HBM and Infinity Cache
constexpr double units = 256;
constexpr double worth_it = 0.8;          ///< a split must save a fifth
constexpr std::int64_t fewest_keys = 256; ///< of a part

/// Length of a forward call in cycles: rounds of items on the chip, and what the merge adds. Sizes are the
/// largest of the problem's bucket.
double cycles(const Problem& p, const TileShape& shape, unsigned block_bits, std::uint32_t parts) {
    const SizeBucket sizes = bucket(p);
    const double block_keys = 1u << block_bits;
    const double heads = static_cast<double>(std::int64_t{1} << sizes.batch_heads);
    const double rows = static_cast<double>(std::int64_t{1} << sizes.seq_q);
    const double blocks = static_cast<double>(std::int64_t{1} << sizes.seq_kv) / block_keys;
    const double tiles = std::max(1.0, rows / shape.rows);
    const bool pairs = shape.paired && tiles > 1;
    const double groups = pairs ? tiles / 2 : tiles; // pairs of tiles, or tiles
    const double items = groups * std::max(1.0, heads / shape.heads) * parts;
    const double of_group = pairs ? blocks + shape.rows / block_keys + transition_blocks : blocks;
    const double forward =
        std::ceil(items / units) * (item_cycles + std::ceil(of_group / parts) * block_cycles *
                                                      static_cast<double>(p.dim_qk + p.dim_v) / 256);
    if (parts == 1)
        return forward;
    const double waves = std::min(rows, static_cast<double>(shape.rows)) / 32;
    const double bytes = heads * groups * (parts + (pairs ? 1 : 0)) * std::max(1.0, waves) * part_bytes;
    return forward + merge_cycles + 2 * bytes / bytes_per_cycle;
}

} // namespace

std::vector<std::uint32_t> part_counts(const Problem& p, const TileShape& shape, unsigned block_bits) {
    constexpr std::uint32_t most = 1u << max_split_bits;
    const std::int64_t keys = std::int64_t{1} << bucket(p).seq_kv;
    std::uint32_t best = 1;
    double least = worth_it * cycles(p, shape, block_bits, 1);
    for (std::uint32_t parts = 2; parts <= most; parts *= 2) {
        if (keys < parts * fewest_keys)
            break;
        if (const double with = cycles(p, shape, block_bits, parts); with < least) {
            best = parts;
            least = with;
        }
    }
    std::vector<std::uint32_t> counts{best};
    if (best > 1)
        for (const std::uint32_t other : {1u, best / 2, 2 * best})
            if (other <= most && std::find(counts.begin(), counts.end(), other) == counts.end())
                counts.push_back(other);
    return counts;
}

} // namespace zyfa::templates::attention
