// SPDX-License-Identifier: Apache-2.0
// The kernel-argument block that all attention kernels share (templates::kernarg_abi).
#pragma once

#include <cstddef>
#include <cstdint>

#include "zyfa/problem.hpp"

namespace zyfa::templates::attention {

/// n / d for 0 <= n < 2^31 without a divider: q = mulhi(2 n, magic) >> shift, with magic = ceil(2^(31 +
/// shift) / d) and shift = ceil(log2 d). Exact: the rounding of magic adds less than n / 2^(31 + shift) < 1 /
/// d.
struct Divider {
    std::uint32_t magic = 0, shift = 0;
};
Divider make_divider(std::uint32_t d);

/// Strides are in bytes. Row strides are 32-bit and at most max_row_stride_bytes, so that offsets within a
/// tile are 32-bit too; what leads to a tile is 64-bit, and so are batch and head strides (two's complement).
/// A "head unit" is one query head, or two where the GQA group size is even; an "item" is what a workgroup
/// does at once: a pair of query tiles of one head unit (causal) or one tile.
struct Kernarg {
    // 0: loaded whole at the start of the kernel
    std::uint64_t q = 0, k = 0, v = 0;
    std::int64_t q_batch = 0, q_head = 0, k_batch = 0, k_head = 0, v_batch = 0, v_head = 0;
    std::uint32_t q_row = 0, k_row = 0, v_row = 0;
    std::uint32_t seq_q = 0, seq_kv = 0;
    float score_scale = 0;        ///< softmax_scale * descales * log2(e): scores in base-2 units
    std::uint32_t items = 0;      ///< all items of the launch
    std::uint32_t step = 0;       ///< a workgroup does items id, id + step, id + 2 step, ...
    std::uint32_t pairs = 0;      ///< items of one head unit
    std::uint32_t head_units = 0; ///< of one batch entry
    std::uint32_t last_tile = 0;  ///< index of the last query tile
    std::uint32_t group = 0;      ///< head units that share one K/V head
    Divider by_pairs, by_head_units, by_group;
    // 144: loaded by each epilogue
    std::uint64_t lse = 0;
    std::int64_t lse_batch = 0, lse_head = 0, o_batch = 0, o_head = 0;
    std::uint32_t o_row = 0;
    float output_scale = 1; ///< v_descale; BF16 kernels do not read it
    std::uint64_t o = 0;
    std::uint32_t reserved0[2] = {};
    // 208: room for packed variable-length batches (start row of each sequence); null
    std::uint64_t starts_q = 0, starts_kv = 0;
    // 224: split over keys (split.hpp)
    std::uint64_t workspace = 0;
    std::uint32_t heads_q = 0, wave_tiles = 0; ///< tiles of 32 query rows
    std::uint32_t tile_waves = 0; ///< waves of a query tile that have rows: 32-row tiles of one head in it
    std::uint32_t reserved1 = 0;
    std::uint64_t counters = 0;
};
static_assert(sizeof(Kernarg) == 256);
static_assert(offsetof(Kernarg, q_row) == 72 && offsetof(Kernarg, score_scale) == 92 &&
              offsetof(Kernarg, by_pairs) == 120 && offsetof(Kernarg, lse) == 144 &&
              offsetof(Kernarg, o) == 192 && offsetof(Kernarg, starts_q) == 208 &&
              offsetof(Kernarg, workspace) == 224 && offsetof(Kernarg, counters) == 248);

/// How query tiles are dealt to workgroups.
struct TileShape {
    std::uint32_t rows = 256; ///< query rows of a tile
    std::uint32_t heads = 1;  ///< query heads that a workgroup takes at once
    bool paired = true;       ///< tile j together with tile last - j (paper Section IV-A)
    std::uint32_t splits = 1; ///< parts of a tile's keys, each an item of its own
};

/// Everything but pointers and scales, which each call patches in. Throws Error{unsupported} where the number
/// of items passes what the kernels can count.
Kernarg make_kernarg(const Problem& problem, const TileShape& shape, std::uint32_t element_bytes);

} // namespace zyfa::templates::attention
