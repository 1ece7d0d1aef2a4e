// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/work.hpp"

#include <optional>

#include "templates/attention/scalar_math.hpp"

namespace zyfa::templates::attention {

using namespace isa;

namespace {

/// Raw buffer descriptor, word 3: 32-bit data format, no swizzle, bounds in bytes (CDNA4 ISA, buffer
/// resource).
constexpr Literal raw_buffer{0x00020000};

/// item -> position in the order "tile pair fastest, then head unit, then batch".
void emit_chiplet_runs(Emitter& e, const WorkRegisters& w, SReg position, SReg t) {
    e.s_and_b32(t[0], w.item, 7, "chiplet of this item: workgroup i runs on XCD i mod 8");
    e.s_lshr_b32(t[1], w.item, 3, "its place within the chiplet's run");
    e.s_lshr_b32(t[2], w.items, 3);
    e.s_and_b32(position, w.items, 7, "the first items mod 8 chiplets have one more");
    e.s_min_u32(position, position, t[0]);
    e.s_mul_i32(t[2], t[2], t[0]);
    e.s_add_u32(position, position, t[2]);
    e.s_add_u32(position, position, t[1]);
}

/// Bytes that exist of the cursor's block.
void emit_records(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                  unsigned v_row_bytes, SReg t, int keys_ahead = 0) {
    e.s_sub_i32(t[0], w.seq_kv, w.key);
    if (keys_ahead != 0)
        e.s_sub_i32(t[0], t[0], keys_ahead);
    e.s_min_i32(t[0], t[0], o.block_keys(), "keys of the block that exist");
    e.s_sub_u32(t[0], t[0], 1, "bounds: (keys - 1) * stride + one row");
    e.s_mul_i32(t[1], t[0], w.k_row);
    e.s_mul_i32(t[2], t[0], w.v_row);
    e.s_add_u32(w.k_resource[2], t[1], k_row_bytes);
    e.s_add_u32(w.v_resource[2], t[2], v_row_bytes);
}

} // namespace

WorkRegisters allocate_work(SAllocator& s) {
    WorkRegisters w;
    w.kernarg = s.allocate("sKernarg", 2, 2, "kernel-argument block");
    w.workgroup = s.allocate("sWorkgroup", 1, 1, "workgroup id");
    w.arguments = s.allocate("sArguments", 36, 4, "first 144 bytes of the kernel-argument block");
    unsigned at = 0;
    auto argument = [&](const char* name, unsigned count, const char* note) {
        const SReg r = s.alias(name, w.arguments.sub(at, count), note);
        at += count;
        return r;
    };
    w.q = argument("sQ", 2, "Q");
    w.k = argument("sK", 2, "K");
    w.v = argument("sV", 2, "V");
    w.q_strides = argument("sQStrides", 4, "Q: batch and head stride, bytes");
    w.k_strides = argument("sKStrides", 4, "K: batch and head stride");
    w.v_strides = argument("sVStrides", 4, "V: batch and head stride");
    w.q_row = argument("sQRow", 1, "Q: row stride, bytes");
    w.k_row = argument("sKRow", 1, "K: row stride");
    w.v_row = argument("sVRow", 1, "V: row stride");
    w.seq_q = argument("sSeqQ", 1, "query rows");
    w.seq_kv = argument("sSeqKv", 1, "keys");
    w.score_scale = argument("sScale", 1, "softmax scale * log2(e)");
    w.items = argument("sItems", 1, "items of the launch");
    w.step = argument("sStep", 1, "item step of a workgroup");
    w.pairs = argument("sPairs", 1, "items of one head unit");
    w.head_units = argument("sHeadUnits", 1, "head units of one batch entry");
    w.last_tile = argument("sLastTile", 1, "index of the last query tile");
    w.group = argument("sGroup", 1, "head units that share a K/V head");
    w.by_pairs = argument("sByPairs", 2, "divider: magic, shift");
    w.by_head_units = argument("sByHeadUnits", 2, "divider");
    w.by_group = argument("sByGroup", 2, "divider");
    w.scratch = s.allocate("sT", 16, 4, "scratch");
    w.k_resource = s.allocate("sKBuffer", 4, 4, "buffer descriptor of the K block to fetch");
    w.v_resource = s.allocate("sVBuffer", 4, 4, "buffer descriptor of the V block to fetch");
    w.now = s.allocate("sNow", 4, 4, "block in QK or softmax: first key | flags, tile row, head unit, batch");
    w.next = s.allocate("sNext", 4, 4, "block after it");
    w.after = s.allocate("sAfter", 4, 4, "block after that, being fetched");
    w.tile = s.allocate("sTile", 4, 4, "tile in the accumulator: valid, row, head unit, batch");
    w.diagonal = s.allocate("sDiagonal", 1, 1, "seq_kv - seq_q");
    w.item = s.allocate("sItem", 1, 1, "item of the fetch cursor");
    w.second_tile = s.allocate("sSecondTile", 1, 1, "other tile of the pair, 0 when done");
    w.blocks_left = s.allocate("sBlocksLeft", 1, 1, "blocks of the tile left to fetch");
    w.key = s.allocate("sKey", 1, 1, "first key of the block to fetch");
    return w;
}

void emit_work_start(Emitter& e, const WorkRegisters& w) {
    e.s_load(w.arguments.sub(0, 16), w.kernarg, 0);
    e.s_load(w.arguments.sub(16, 16), w.kernarg, 64);
    e.s_load(w.arguments.sub(32, 4), w.kernarg, 128);
    e.s_mov_b32(w.k_resource[3], raw_buffer, "raw buffer, bounds in bytes");
    e.s_mov_b32(w.v_resource[3], raw_buffer);
    for (SReg descriptor : {w.now, w.next, w.after})
        e.s_mov_b32(descriptor[0], 0, "the pipeline fills with blocks that nobody computes");
    for (SReg descriptor : {w.now, w.next, w.after})
        e.s_mov_b32(descriptor[1], Literal{0x40000000}, "a row beyond any query");
    e.s_mov_b32(w.tile[0], 0, "no tile in the accumulator");
    e.s_mov_b32(w.second_tile, 0);
    e.s_mov_b32(w.blocks_left, 0);
    e.s_mov_b32(w.key, 0);
    e.s_sub_u32(w.diagonal, w.seq_kv, w.seq_q);
    e.s_sub_u32(w.item, w.workgroup, w.step, "the first step leads to item = workgroup id");
}

void emit_tile_blocks(Emitter& e, const ForwardOptions& o, SReg row, SReg seq_q, SReg seq_kv, SReg diagonal,
                      SReg blocks, SReg keys) {
    if (o.causal) {
        e.s_add_u32(keys, row, o.tile_rows(), "keys that the tile sees: rows end + diagonal, 1 at least");
        e.s_min_i32(keys, keys, seq_q);
        e.s_add_i32(keys, keys, diagonal);
        e.s_max_i32(keys, keys, 1);
    } else {
        e.s_mov_b32(keys, seq_kv);
    }
    e.s_add_u32(blocks, keys, o.block_keys() - 1);
    e.s_lshr_b32(blocks, blocks, o.block_bits, "key blocks of the tile");
}

void emit_pair_blocks(Emitter& e, const ForwardOptions& o, SReg tile, SReg last_tile, SReg seq_q, SReg seq_kv,
                      SReg diagonal, SReg blocks, SReg before, SReg all, SReg scratch) {
    const SReg row = scratch[0], keys = scratch[1], other = scratch[2], partner = scratch[3];
    e.s_mul_i32(row, tile, o.tile_rows(), "first query row");
    emit_tile_blocks(e, o, row, seq_q, seq_kv, diagonal, blocks, keys);
    if (!o.causal) {
        e.s_mov_b32(before, 0);
        e.s_mov_b32(all, blocks);
        return;
    }
    e.s_sub_u32(partner, last_tile, tile, "tile j goes with tile last - j");
    e.s_mul_i32(row, partner, o.tile_rows());
    emit_tile_blocks(e, o, row, seq_q, seq_kv, diagonal, other, keys);
    e.s_add_u32(other, other, transition_blocks);
    e.s_cmp("eq_u32", partner, tile, "the middle tile stands alone");
    e.s_cselect_b32(other, 0, other);
    e.s_add_u32(all, blocks, other);
    e.s_add_u32(all, all, diagonal_blocks);
    e.s_cmp("gt_u32", tile, partner, "the second tile's blocks come behind the first one's");
    e.s_cselect_b32(before, other, 0);
}

namespace {

/// `fetch`: what the rows of K and V take in bytes; nothing where none will be fetched.
struct RowBytes {
    unsigned k, v;
};
void emit_next(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, std::optional<RowBytes> fetch,
               const std::string& prefix) {
    const std::string set_up = prefix + "_set_up", end = prefix + "_end", done = prefix + "_done";
    const SReg t = w.scratch, tile = t[8], keys = t[9];
    const SReg batch_entry = o.split_bits > 0 ? t[13] : w.after[3];
    const std::string again = prefix + "_again";
    if (o.split_bits > 0)
        e.label(again);
    if (o.causal) {
        e.s_mov_b32(tile, w.second_tile);
        e.s_mov_b32(w.second_tile, 0);
        e.s_cmp("lg_u32", tile, 0, "second tile of the pair?");
        e.s_cbranch_scc1(set_up);
    }
    e.s_add_u32(w.item, w.item, w.step);
    e.s_cmp("ge_u32", w.item, w.items);
    e.s_cbranch_scc1(end);

    const SReg position = t[4], quotient = t[5], product = t[6];
    if (o.map == ChipletMap::runs)
        emit_chiplet_runs(e, w, position, t);
    else
        e.s_mov_b32(position, w.item);
    const SReg head = w.after[2], batch = w.after[3];
    if (o.map == ChipletMap::head_first) {
        divide(e, quotient, position, w.by_head_units, "item = head + head units * (pair + pairs * batch)");
        e.s_mul_i32(product, quotient, w.head_units);
        e.s_sub_u32(head, position, product);
        divide(e, batch, quotient, w.by_pairs, "batch entry");
        e.s_mul_i32(product, batch, w.pairs);
        e.s_sub_u32(tile, quotient, product);
    } else {
        divide(e, quotient, position, w.by_pairs, "item = pair + pairs * (head + head units * batch)");
        e.s_mul_i32(product, quotient, w.pairs);
        e.s_sub_u32(tile, position, product);
        divide(e, batch, quotient, w.by_head_units, "batch entry");
        e.s_mul_i32(product, batch, w.head_units);
        e.s_sub_u32(head, quotient, product);
    }
    if (o.causal) {
        e.s_sub_u32(w.second_tile, w.last_tile, tile, "tile j goes with tile last - j (paper Section IV-A)");
        e.s_cmp("eq_u32", w.second_tile, tile, "the middle tile stands alone");
        e.s_cselect_b32(w.second_tile, 0, w.second_tile);
    }

    e.label(set_up);
    const SReg row = w.after[1];
    e.s_mul_i32(row, tile, o.tile_rows(), "first query row");
    if (o.split_bits > 0) {
        const SReg blocks = w.blocks_left, part = t[10], end_block = t[11], first = t[12], next = t[9],
                   before = t[14], all = t[15];
        emit_pair_blocks(e, o, tile, w.last_tile, w.seq_q, w.seq_kv, w.diagonal, blocks, before, all,
                         t.sub(0, 4));
        e.s_and_b32(part, w.after[3], (1 << o.split_bits) - 1, "this item's part of the pair's blocks");
        e.s_mul_i32(first, all, part, "blocks [n part / parts, n (part + 1) / parts)");
        e.s_add_u32(end_block, first, all);
        e.s_lshr_b32(first, first, o.split_bits);
        e.s_lshr_b32(end_block, end_block, o.split_bits);
        e.s_add_u32(next, part, 1);
        e.s_cmp("lt_u32", all, 1 << o.split_bits, "fewer blocks than parts: one each");
        e.s_cselect_b32(first, part, first);
        e.s_cselect_b32(end_block, next, end_block);
        e.s_sub_i32(first, first, before, "what of them is in this tile");
        e.s_sub_i32(end_block, end_block, before);
        e.s_max_i32(first, first, 0);
        e.s_min_i32(end_block, end_block, blocks);
        e.s_cmp("ge_i32", first, end_block);
        e.s_cbranch_scc1(again, "nothing");
        e.s_sub_u32(w.blocks_left, end_block, first);
        e.s_sub_u32(w.blocks_left, w.blocks_left, 1);
        if (o.from_diagonal)
            e.s_sub_u32(first, end_block, 1, "the last block first");
        e.s_lshl_b32(w.key, first, o.block_bits);
        e.s_lshr_b32(batch_entry, w.after[3], o.split_bits);
    } else {
        emit_tile_blocks(e, o, row, w.seq_q, w.seq_kv, w.diagonal, w.blocks_left, keys);
        e.s_sub_u32(w.blocks_left, w.blocks_left, 1);
        if (o.from_diagonal)
            e.s_lshl_b32(w.key, w.blocks_left, o.block_bits, "the last block first");
        else
            e.s_mov_b32(w.key, 0);
    }
    e.s_or_b32(w.after[0], w.key, 1 << flag_first);
    if (!fetch) {
        e.s_branch(done);
        e.label(end);
        e.s_mov_b32(w.after[0], (1u << flag_first) | (1u << flag_end));
        e.label(done);
        return;
    }
    divide(e, quotient, head, w.by_group, "K/V head");
    struct Tensor {
        SReg resource, pointer, strides, row_stride;
        const char* name;
    };
    for (const Tensor& x : {Tensor{w.k_resource, w.k, w.k_strides, w.k_row, "K"},
                            Tensor{w.v_resource, w.v, w.v_strides, w.v_row, "V"}}) {
        const SReg base = x.resource.sub(0, 2);
        e.s_mov_b64(base, x.pointer, std::string(x.name) + ": base + batch * stride + head * stride");
        add_product64(e, base, batch_entry, x.strides.sub(0, 2), t.sub(0, 3), "");
        add_product64(e, base, quotient, x.strides.sub(2, 2), t.sub(0, 3), "");
        if (o.from_diagonal || o.split_bits > 0)
            add_rows64(e, base, w.key, x.row_stride, t.sub(0, 2), "+ key * row stride");
    }
    emit_records(e, w, o, fetch->k, fetch->v, t.sub(0, 3));
    e.s_branch(done);

    e.label(end);
    e.remark("No more items: a descriptor that says so, and transfers of nothing.");
    if (o.split_bits > 0) // the workgroup may have had no block at all
        for (SReg resource : {w.k_resource, w.v_resource})
            e.s_mov_b64(resource.sub(0, 2), 0);
    e.s_mov_b32(w.blocks_left, 0);
    e.s_mov_b32(w.after[0], (1u << flag_first) | (1u << flag_end));
    e.s_mov_b32(w.k_resource[2], 0);
    e.s_mov_b32(w.v_resource[2], 0);
    e.label(done);
}

} // namespace

void emit_next_tile(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                    unsigned v_row_bytes, const std::string& prefix) {
    emit_next(e, w, o, RowBytes{k_row_bytes, v_row_bytes}, prefix);
}

void emit_next_descriptor(Emitter& e, const WorkRegisters& w, const ForwardOptions& o,
                          const std::string& prefix) {
    emit_next(e, w, o, std::nullopt, prefix);
}

void emit_advance_descriptors(Emitter& e, const WorkRegisters& w, const ForwardOptions& o) {
    for (const auto& [to, from] : {std::pair{w.now, w.next}, std::pair{w.next, w.after}}) {
        e.s_mov_b64(to.sub(0, 2), from.sub(0, 2), "descriptors move up");
        e.s_mov_b64(to.sub(2, 2), from.sub(2, 2));
    }
    e.s_sub_u32(w.blocks_left, w.blocks_left, 1);
    e.s_add_i32(w.key, w.key, o.key_step(), "next key block");
    e.s_mov_b32(w.after[0], w.key, "its descriptor; row, head and batch stay");
}

void emit_advance_buffers(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                          unsigned v_row_bytes, SReg scratch, int keys_ahead) {
    const SReg low = scratch[0], high = scratch[1];
    for (const auto& [resource, row_stride] :
         {std::pair{w.k_resource, w.k_row}, std::pair{w.v_resource, w.v_row}}) {
        e.s_lshl_b32(low, row_stride, o.block_bits, "a block of rows");
        e.s_lshr_b32(high, row_stride, 32 - o.block_bits);
        if (o.from_diagonal) {
            e.s_sub_u32(resource[0], resource[0], low);
            e.s_subb_u32(resource[1], resource[1], high);
        } else {
            e.s_add_u32(resource[0], resource[0], low);
            e.s_addc_u32(resource[1], resource[1], high);
        }
    }
    emit_records(e, w, o, k_row_bytes, v_row_bytes, scratch, keys_ahead);
}

void emit_advance(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                  unsigned v_row_bytes, SReg scratch) {
    emit_advance_descriptors(e, w, o);
    emit_advance_buffers(e, w, o, k_row_bytes, v_row_bytes, scratch, 0);
}

} // namespace zyfa::templates::attention
