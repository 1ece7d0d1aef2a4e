// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/kernarg.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "zyfa/error.hpp"

namespace zyfa::templates::attention {

Divider make_divider(std::uint32_t d) {
    const auto shift = static_cast<std::uint32_t>(std::bit_width(d - 1u)); // ceil(log2 d), 0 for 1
    const std::uint64_t numerator = std::uint64_t{1} << (31 + shift);
    return {static_cast<std::uint32_t>((numerator + d - 1) / d), shift};
}

Kernarg make_kernarg(const Problem& p, const TileShape& shape, std::uint32_t element_bytes) {
    const std::int64_t in = element_bytes, out = 2, f32 = 4;
    // A single row has no row stride: one row's bytes keep the rows behind it out of bounds.
    auto row = [](std::int64_t stride, std::int64_t rows, std::int64_t bytes, std::int64_t width) {
        return static_cast<std::uint32_t>(rows > 1 ? stride * bytes : width * bytes);
    };
    const std::uint64_t tiles = static_cast<std::uint64_t>((p.seq_q + shape.rows - 1) / shape.rows);
    const std::uint64_t pairs = shape.paired ? (tiles + 1) / 2 : tiles;
    const std::uint64_t units = static_cast<std::uint64_t>(p.heads_q) / shape.heads;
    const std::uint64_t items = pairs * units * static_cast<std::uint64_t>(p.batch) * shape.splits;
    if (items >= std::uint64_t{1} << 30)
        throw Error(ErrorCode::unsupported, "problem",
                    "problem has " + std::to_string(items) +
                        " pairs of query tiles; accepted are fewer than 2^30 per call");
    Kernarg k;
    k.q_batch = p.q.batch * in, k.q_head = p.q.head * in;
    k.k_batch = p.k.batch * in, k.k_head = p.k.head * in;
    k.v_batch = p.v.batch * in, k.v_head = p.v.head * in;
    k.q_row = row(p.q.seq, p.seq_q, in, p.dim_qk);
    k.k_row = row(p.k.seq, p.seq_kv, in, p.dim_qk);
    k.v_row = row(p.v.seq, p.seq_kv, in, p.dim_v);
    k.seq_q = static_cast<std::uint32_t>(p.seq_q), k.seq_kv = static_cast<std::uint32_t>(p.seq_kv);
    k.items = static_cast<std::uint32_t>(items), k.step = k.items;
    k.pairs = static_cast<std::uint32_t>(pairs), k.head_units = static_cast<std::uint32_t>(units);
    k.last_tile = static_cast<std::uint32_t>(tiles - 1);
    k.group = static_cast<std::uint32_t>(p.heads_q / p.heads_kv) / shape.heads;
    k.by_pairs = make_divider(k.pairs), k.by_head_units = make_divider(k.head_units);
    k.by_group = make_divider(k.group);
    k.o_batch = p.o.batch * out, k.o_head = p.o.head * out;
    k.o_row = row(p.o.seq, p.seq_q, out, p.dim_v);
    k.lse_batch = p.lse_batch_stride * f32, k.lse_head = p.lse_head_stride * f32;
    k.heads_q = static_cast<std::uint32_t>(p.heads_q);
    k.wave_tiles = static_cast<std::uint32_t>((p.seq_q + 31) / 32);
    k.tile_waves = std::min(k.wave_tiles, shape.rows / 32);
    return k;
}

} // namespace zyfa::templates::attention
