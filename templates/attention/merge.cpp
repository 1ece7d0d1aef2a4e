// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/merge.hpp"

#include <cstddef>

#include "templates/attention/kernarg.hpp"

namespace zyfa::templates::attention {

using namespace isa;

namespace {

/// Which parts have blocks of the tile: `count` of them, `first` on. mask: 2 SGPRs; scratch: 1 SGPR, 3 VGPRs.
void emit_parts(Emitter& e, const ForwardOptions& o, SReg blocks, SReg before, SReg all, SReg count,
                SReg first, SReg mask, SReg scratch, const MergeRegisters& m) {
    const int parts = 1 << o.split_bits;
    if (!o.causal) {
        e.s_mov_b32(first, 0);
        e.s_min_u32(count, blocks, parts, "fewer blocks than parts: one each");
        return;
    }
    const SReg end = scratch;
    const VReg lane = m.scratch[0], product = m.scratch[1], begin = m.scratch[2];
    e.s_add_u32(end, before, blocks);
    e.s_max_u32(all, all, parts, "fewer blocks than parts: one each");
    e.v_lshl_add_u32(lane, m.lane_key, 3, m.lane_row);
    e.v_mul_lo_u32(product, lane, all, "lane i: where part i begins");
    e.v_lshrrev_b32(begin, o.split_bits, product);
    e.v_cmp("gt_u32", mask, end, begin, "parts that begin before the tile's end ...");
    e.s_and_b32(mask[0], mask[0], (1 << parts) - 1);
    e.s_bcnt1_i32_b32(count, mask[0]);
    e.v_add_u32(product, all, product);
    e.v_lshrrev_b32(begin, o.split_bits, product);
    e.v_cmp("ge_u32", mask, before, begin, "... but for those that end before its begin");
    e.s_and_b32(mask[0], mask[0], (1 << parts) - 1);
    e.s_bcnt1_i32_b32(first, mask[0]);
    e.s_sub_u32(count, count, first);
}

void emit_load_values(Emitter& e, SReg row_buffer, VReg values, VReg low, VReg high) {
    for (unsigned piece = 0; piece < part_pieces; ++piece)
        e.buffer_load_dwordx4(values.sub(4 * piece, 4), piece < 4 ? low : high, row_buffer, 0,
                              part_piece_bytes * (piece % 4), piece == 0 ? "a part's columns" : "");
}

/// result += factor * values
void emit_add_values(Emitter& e, VReg result, VReg factor, VReg values) {
    for (unsigned r = 0; r < result.count; ++r)
        e.v_fma_mix_f32(result[r], factor, values[r / 2], r % 2 == 1, result[r]);
}

} // namespace

Parts emit_arrive(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                  SReg row_buffer, VReg arguments, const MergeRegisters& m, const std::string& not_last) {
    const SReg t = w.scratch, tile = t[0], blocks = t[1], before = t[2], all = t[3], first = t[9],
               base = row_buffer.sub(0, 2);
    const Parts parts{t[8], t[12]};
    auto argument = [&](SReg d, std::size_t offset) {
        e.v_readlane_b32(d, arguments, static_cast<unsigned>(offset / 4));
    };
    e.s_lshr_b32(tile, w.tile[1], o.tile_row_bits());
    emit_pair_blocks(e, o, tile, w.last_tile, w.seq_q, w.seq_kv, w.diagonal, blocks, before, all,
                     t.sub(4, 4));
    emit_parts(e, o, blocks, before, all, parts.count, first, t.sub(10, 2), t[4], m);

    const SReg head = t[1], index = t[2], last = t[3], pair = t[6];
    emit_head_index(e, w, wave, o, head, arguments, t[4]);
    argument(base[0], offsetof(Kernarg, counters));
    argument(base[1], offsetof(Kernarg, counters) + 4);
    argument(index, offsetof(Kernarg, wave_tiles));
    e.s_mul_i32(index, index, head, "counter: head * tiles of 32 rows + tile");
    e.s_add_u32(last, w.tile[1], wave.row);
    e.s_lshr_b32(last, last, 5);
    e.s_add_u32(index, index, last);
    emit_add_product64(e, base, index, part_counter_bytes, t.sub(4, 2));
    e.s_mov_b32(row_buffer[2], part_counter_bytes);
    e.s_sub_u32(last, parts.count, 1);
    const VReg offset = m.scratch[0], arrived = m.scratch[1];
    e.v_lshl_add_u32(offset, m.lane_key, 3, m.lane_row);
    e.v_lshlrev_b32(offset, 2, offset, "one lane counts: the others are out of bounds");
    e.v_mov_b32(arrived, last);
    e.s_waitcnt(0, -1, "what this wave has stored is where every XCD sees it");
    e.buffer_atomic_inc(arrived, offset, row_buffer, 0, 0,
                        "parts before this one; the last one's wraps to 0");
    emit_pair_slot(e, w, o, tile, pair, first, t[4]);
    emit_part_address(e, w, wave, o, base, arguments, head, pair, first, t.sub(4, 2));
    argument(parts.stride, offsetof(Kernarg, tile_waves));
    e.s_mul_i32(parts.stride, parts.stride, part_bytes, "from a part to the next");
    e.s_mul_i32(row_buffer[2], last, parts.stride);
    e.s_add_u32(row_buffer[2], row_buffer[2], part_bytes, "other parts read as 0");
    e.v_readfirstlane_b32(t[4], arrived);
    e.s_cmp("lg_u32", t[4], last);
    e.s_cbranch_scc1(not_last);
    return parts;
}

void emit_merge(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, SReg row_buffer,
                const Parts& parts, const MergeRegisters& m, const std::string& prefix) {
    const unsigned count = 1u << o.split_bits;
    const SReg mask = w.scratch.sub(10, 2);
    const auto& [low, high, at, lowest] = m.scratch;
    auto maximum = [&](unsigned part) { return m.rows[part][0]; };
    auto sum = [&](unsigned part) { return m.rows[part][1]; };
    auto inverse = [&](unsigned part) { return m.rows[part][2]; };

    e.buffer_inv_agent("what the others have released");
    e.v_lshlrev_b32(at, 4, m.lane_row);
    e.v_add_u32(at, Literal{part_rows}, at);
    for (unsigned part = 0; part < count; ++part) {
        if (part > 0)
            e.v_add_u32(at, parts.stride, at);
        e.buffer_load_dwordx4(m.rows[part], at, row_buffer, 0, 0, "maximum, sum, scale of the lane's row");
    }
    e.v_lshl_add_u32(low, m.lane_key, 3, m.lane_row);
    e.v_lshlrev_b32(low, 4, low);
    e.v_add_u32(high, Literal{4 * part_piece_bytes}, low);
    emit_load_values(e, row_buffer, m.values[0], low, high);

    e.v_mov_b32(lowest, Literal{0xff7fffff},
                "lowest finite value: the maximum of a part that there is not, or that sees no key");
    for (unsigned part = 1; part < count; ++part) {
        e.s_cmp("gt_u32", parts.count, part);
        e.s_cselect_b32(mask[0], -1, 0);
        e.s_cselect_b32(mask[1], -1, 0);
        e.v_cndmask_b32(maximum(part), lowest, maximum(part), mask);
    }
    e.v_mov_b32(m.maximum, maximum(0));
    for (unsigned part = 1; part < count; ++part)
        e.v_max_f32(m.maximum, m.maximum, maximum(part));
    for (unsigned part = 0; part < count; ++part) {
        e.v_sub_f32(maximum(part), maximum(part), m.maximum);
        if (m.maximum_scale)
            e.v_mul_f32(maximum(part), *m.maximum_scale, maximum(part), "in base-2 units");
        e.v_exp_f32(maximum(part), maximum(part), part == 0 ? "factor of the part" : "");
    }
    e.v_mul_f32(m.sum, maximum(0), sum(0));
    for (unsigned part = 1; part < count; ++part)
        e.v_fma_f32(m.sum, maximum(part), sum(part), m.sum);
    for (unsigned part = 0; part < count; ++part)
        e.v_mul_f32(maximum(part), inverse(part), maximum(part), part == 0 ? "and of its FP16 columns" : "");
    for (unsigned r = 0; r < m.result.count; ++r)
        e.v_mov_b32(m.result[r], 0);

    // Each part's columns are added while the next one's come. The code after the last one is of its own, as
    // nothing is under way there.
    const std::array<std::string, 2> last{prefix + "_last_even", prefix + "_last_odd"};
    for (unsigned part = 0; part < count; ++part) {
        e.v_mov_b32(m.factor, maximum(part));
        if (part + 1 == count) {
            e.s_branch(last[part % 2]);
            break;
        }
        e.s_cmp("eq_u32", parts.count, part + 1);
        e.s_cbranch_scc1(last[part % 2]);
        e.v_add_u32(low, parts.stride, low);
        e.v_add_u32(high, parts.stride, high);
        emit_load_values(e, row_buffer, m.values[(part + 1) % 2], low, high);
        emit_add_values(e, m.result, m.factor, m.values[part % 2]);
    }
    e.label(last[0]);
    emit_add_values(e, m.result, m.factor, m.values[0]);
    e.s_branch(prefix + "_merged");
    e.label(last[1]);
    emit_add_values(e, m.result, m.factor, m.values[1]);
    e.label(prefix + "_merged");
}

} // namespace zyfa::templates::attention
