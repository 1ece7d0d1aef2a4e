// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/part_counts.hpp"

#include <algorithm>

#include "core/keys.hpp"
#include "templates/attention/split.hpp"

namespace zyfa::templates::attention {

namespace {

// Cycles on the simulator's model of a compute unit, rounded.
constexpr double pipeline_fill = 6;      ///< phases of an item beside those of its blocks
constexpr double second_launch = 12000;  ///< 5 us from one kernel's end to the next one's work
constexpr double bytes_per_cycle = 4000; ///< workspace, whole chip: between HBM and Infinity Cache
constexpr double units = 256;
constexpr double worth_it = 0.8;          ///< a split must save a fifth
constexpr std::int64_t fewest_keys = 256; ///< of a part

/// Length of a forward call in cycles: rounds of items on the chip, and what the merge adds. Sizes are the
/// largest of the problem's bucket.
double cycles(const Problem& p, const TileShape& shape, std::uint32_t parts) {
    const SizeBucket sizes = bucket(p);
    const double heads = static_cast<double>(std::int64_t{1} << sizes.batch_heads);
    const double rows = static_cast<double>(std::int64_t{1} << sizes.seq_q);
    const double blocks = static_cast<double>(std::int64_t{1} << sizes.seq_kv) / 64;
    const double tiles = rows / shape.rows;
    const double pairs = shape.paired ? std::max(1.0, tiles / 2) : tiles;
    const double items = pairs * std::max(1.0, heads / shape.heads) * parts;
    const double rounds = static_cast<double>(static_cast<std::int64_t>((items + units - 1) / units));
    const double of_item = shape.paired && tiles > 1 ? blocks + 4 : blocks;            // two tiles of a pair
    const double phase = 1024.0 * static_cast<double>(p.dim_qk + p.dim_v) / 256 * 2.1; // two waves of a SIMD
    const double forward = rounds * (of_item / parts + pipeline_fill) * phase;
    const double bytes = heads * rows / 32 * parts * part_bytes;
    return parts == 1 ? forward : forward + second_launch + 2 * bytes / bytes_per_cycle;
}

} // namespace

std::vector<std::uint32_t> part_counts(const Problem& p, const TileShape& shape) {
    constexpr std::uint32_t most = 1u << max_split_bits;
    const std::int64_t keys = std::int64_t{1} << bucket(p).seq_kv;
    std::uint32_t best = 1;
    double least = worth_it * cycles(p, shape, 1);
    for (std::uint32_t parts = 2; parts <= most; parts *= 2) {
        if (p.heads_q > 65535 || p.batch > 65535 || keys < parts * fewest_keys)
            break;
        if (const double with = cycles(p, shape, parts); with < least) {
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
