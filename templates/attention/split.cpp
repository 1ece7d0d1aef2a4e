// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/split.hpp"

#include <cstddef>

#include "templates/attention/kernarg.hpp"

namespace zyfa::templates::attention {

using namespace isa;

namespace {

void argument(Emitter& e, SReg d, VReg arguments, std::size_t offset) {
    e.v_readlane_b32(d, arguments, static_cast<unsigned>(offset / 4));
}

/// Rounds the accumulator to FP16, each row times a power of two that brings its largest finite value between
/// 2^14 and 2^15: registers 8 i .. 8 i + 3 then hold what 8 i .. 8 i + 7 held. `inverse` is what undoes it.
/// Inf and NaN stay what they are and leave the others alone. scratch: 3, of which the last is free again.
void emit_round(Emitter& e, VReg o, VReg inverse, VReg largest, VReg a, SReg one_exponent) {
    // Twice a value's bits are its exponent and fraction without the sign; one more in the exponent turns
    // Inf and NaN into less than any finite value.
    e.s_mov_b32(one_exponent, Literal{0x01000000});
    const VReg b = inverse;
    for (unsigned r = 0; r < o.count; r += 2) {
        e.v_lshl_add_u32(a, o[r], 1, one_exponent, r == 0 ? "largest finite value of the row" : "");
        e.v_lshl_add_u32(b, o[r + 1], 1, one_exponent);
        if (r == 0)
            e.v_max3_u32(largest, a, b, b);
        else
            e.v_max3_u32(largest, largest, a, b);
    }
    e.v_mov_b32(a, largest);
    e.v_mov_b32(b, largest);
    e.v_permlane32_swap_b32(a, b, "lanes l and l + 32 hold one row");
    e.v_max3_u32(largest, a, b, b);
    // 1 + the biased exponent E. The row is multiplied by 2^(14 - (E - 127)), of exponent 268 - E, and later
    // by the inverse, of exponent E - 14, which must stay normal.
    e.v_lshrrev_b32(largest, 24, largest);
    e.v_max3_u32(largest, largest, 16, 16);
    e.v_sub_u32(a, Literal{269}, largest);
    e.v_lshlrev_b32(a, 23, a, "2^(14 - exponent)");
    e.v_subrev_u32(inverse, 15, largest);
    e.v_lshlrev_b32(inverse, 23, inverse, "2^(exponent - 14)");
    for (unsigned piece = 0; piece < part_pieces; ++piece) {
        for (unsigned r = 8 * piece; r < 8 * piece + 8; ++r)
            e.v_mul_f32(o[r], a, o[r]);
        for (unsigned pair = 0; pair < 4; ++pair)
            e.v_cvt_pk_f16_f32(o[8 * piece + pair], o[8 * piece + 2 * pair], o[8 * piece + 2 * pair + 1]);
    }
}

} // namespace

void emit_add_product64(Emitter& e, SReg base, SReg index, unsigned stride, SReg scratch) {
    e.s_mul_i32(scratch[0], index, stride);
    e.s_mov_b32(scratch[1], stride);
    e.s_mul_hi_u32(scratch[1], index, scratch[1]);
    e.s_add_u32(base[0], base[0], scratch[0]);
    e.s_addc_u32(base[1], base[1], scratch[1]);
}

void emit_head_index(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                     SReg d, VReg arguments, SReg scratch) {
    argument(e, scratch, arguments, offsetof(Kernarg, heads_q));
    e.s_lshr_b32(d, w.tile[3], o.split_bits, "batch * heads + head");
    e.s_mul_i32(d, d, scratch);
    if (o.two_heads) {
        e.s_lshl_b32(scratch, w.tile[2], 1, "head of this wave: waves 4-7 take the second one");
        e.s_add_u32(d, d, scratch);
        e.s_lshr_b32(scratch, wave.index, 2);
        e.s_add_u32(d, d, scratch);
    } else {
        e.s_add_u32(d, d, w.tile[2]);
    }
}

void emit_pair_slot(Emitter& e, const WorkRegisters& w, const ForwardOptions& o, SReg tile, SReg pair,
                    SReg slot, SReg partner) {
    if (!o.causal) {
        e.s_mov_b32(pair, tile);
        return;
    }
    e.s_sub_u32(partner, w.last_tile, tile);
    e.s_min_u32(pair, tile, partner, "the pair");
    e.s_cmp("gt_u32", tile, partner, "second tile of the pair: one slot on");
    e.s_addc_u32(slot, slot, 0);
}

void emit_part_address(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                       SReg base, VReg arguments, SReg head, SReg pair, SReg slot, SReg scratch) {
    const SReg index = head;
    e.s_mul_i32(index, index, w.pairs, "((head * pairs + pair) * slots + slot) * waves + wave");
    e.s_add_u32(index, index, pair);
    e.s_mul_i32(index, index, part_slots(o));
    e.s_add_u32(index, index, slot);
    argument(e, scratch[0], arguments, offsetof(Kernarg, tile_waves));
    e.s_mul_i32(index, index, scratch[0]);
    e.s_lshr_b32(scratch[0], wave.row, 5);
    e.s_add_u32(index, index, scratch[0]);
    argument(e, base[0], arguments, offsetof(Kernarg, workspace));
    argument(e, base[1], arguments, offsetof(Kernarg, workspace) + 4);
    emit_add_product64(e, base, index, part_bytes, scratch);
}

void emit_store_part(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                     SReg row_buffer, VReg arguments, const PartRegisters& part) {
    const SReg t = w.scratch, head = t[0], tile = t[1], pair = t[2], slot = t[3];
    const auto& [inverse, largest, a, address] = part.scratch;
    const VReg acc = part.accumulator;
    emit_round(e, acc, inverse, largest, a, t[6]);
    emit_head_index(e, w, wave, o, head, arguments, t[4]);
    e.s_lshr_b32(tile, w.tile[1], o.tile_row_bits());
    e.s_and_b32(slot, w.tile[3], (1 << o.split_bits) - 1, "the part");
    emit_pair_slot(e, w, o, tile, pair, slot, t[4]);
    emit_part_address(e, w, wave, o, row_buffer.sub(0, 2), arguments, head, pair, slot, t.sub(4, 2));
    e.s_mov_b32(row_buffer[2], part_bytes);

    e.v_lshl_add_u32(a, part.lane_key, 3, part.lane_row, "lane");
    e.v_lshlrev_b32(address, 4, a);
    static_assert(part_piece_bytes == 64 * 16);
    for (unsigned piece = 0; piece < part_pieces; ++piece) {
        if (piece == part_pieces / 2)
            e.v_add_u32(address, 4 * part_piece_bytes, address);
        e.buffer_store_dwordx4_agent(acc.sub(8 * piece, 4), address, row_buffer, 0,
                                     part_piece_bytes * (piece % 4),
                                     piece == 0 ? "accumulator, through to where every XCD sees it" : "");
    }
    const VReg row = acc.sub(4, 4);
    e.v_mov_b32(row[0], part.maximum);
    e.v_mov_b32(row[1], part.sum);
    e.v_mov_b32(row[2], inverse);
    e.v_mov_b32(row[3], 0);
    e.v_lshlrev_b32(address, 4, part.lane_row);
    e.v_add_u32(address, Literal{part_rows}, address);
    static_assert(part_row_bytes == 16);
    e.buffer_store_dwordx4_agent(row, address, row_buffer, 0, 0, "both lanes of a row store the same");
}

} // namespace zyfa::templates::attention
