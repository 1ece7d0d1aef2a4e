// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/wave.hpp"

#include "templates/attention/scalar_math.hpp"

namespace zyfa::templates::attention {

using namespace isa;

WaveRegisters allocate_wave(SAllocator& s) {
    WaveRegisters w;
    w.index = s.allocate("sWave", 1, 1, "wave of the workgroup, 0..7");
    w.row = s.allocate("sWaveRow", 1, 1, "first row of the wave within the tile");
    w.dma_k = s.allocate("sDmaK", 1, 1, "LDS address of the wave's part of K slot 0");
    w.dma_v = s.allocate("sDmaV", 1, 1, "LDS address of the wave's part of V slot 0");
    w.slot_in = s.allocate("sSlotIn", 1, 1, "ring slot to fetch into");
    w.slot_out = s.allocate("sSlotOut", 1, 1, "ring slot to read from");
    w.live = s.allocate("sLive", 1, 1, "1: rows of the wave see keys of the block in softmax");
    w.next_live = s.allocate("sNextLive", 1, 1, "the same for the block after it");
    w.state = s.allocate("sState", 1, 1, "block in softmax: 1 masked, 2 dead, 4 a tile begins");
    w.next_state = s.allocate("sNextState", 1, 1, "the same for the block after it");
    w.mode = s.allocate(
        "sMode", 1, 1,
        "next matrix phase: 1 PV, 2 QK, 4 non-finite V, 8 rescale, 16 fresh, 32 new tile to fetch");
    return w;
}

void emit_classify(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                   SReg t) {
    const SReg key = t[0], row = t[1], rows = t[2], see = t[3];
    const SReg live = wave.next_live, state = wave.next_state;
    e.s_and_b32(key, w.next[0], -o.block_keys(), "first key of the block after the next softmax");
    e.s_add_u32(row, w.next[1], wave.row, "first row of the wave");
    e.s_sub_i32(rows, w.seq_q, row, "rows that exist");
    e.s_cmp("gt_i32", rows, 0);
    e.s_cselect_b32(live, 1, 0);
    e.s_bitcmp1_b32(w.next[0], flag_end);
    e.s_cselect_b32(live, 0, live);
    e.s_sub_i32(see, w.seq_kv, key);
    e.s_cmp("lt_i32", see, o.block_keys(), "the end of the keys cuts the block");
    e.s_cselect_b32(state, state_masked, 0);
    if (o.causal) {
        e.s_add_i32(see, row, w.diagonal, "last key that the first row sees, from the block's first");
        e.s_sub_i32(see, see, key);
        e.s_cmp("lt_i32", see, o.block_keys() - 1, "the diagonal cuts the block");
        e.s_cselect_b32(state, state_masked, state);
        e.s_min_i32(rows, rows, 32);
        e.s_add_i32(see, see, rows, "the same for the last row, plus 1");
        e.s_cmp("gt_i32", see, 0);
        e.s_cselect_b32(live, live, 0, "dead block: no row sees any of its keys");
    }
    e.s_cmp("eq_u32", live, 0);
    e.s_cselect_b32(state, state_dead, state);

    e.s_or_b32(t[0], w.now[0], w.next[0], "does a tile begin with this block or the next?");
    e.s_and_b32(t[0], t[0], 1 << flag_first);
    e.s_lshl_b32(t[0], t[0], 2);
    static_assert(state_tile == 1 << (flag_first + 2));
    e.s_or_b32(wave.state, wave.state, t[0]);
    e.s_cmp("eq_u32", w.blocks_left, 0, "last block of the tile that is being fetched?");
    e.s_cselect_b32(wave.mode, mode_cursor, 0);
    e.s_lshl_b32(t[0], live, 1);
    static_assert(mode_qk == 2 && mode_pv == 1);
    e.s_or_b32(wave.mode, wave.mode, t[0]);
    e.s_or_b32(wave.mode, wave.mode, wave.live);
    e.s_or_b32(wave.mode, wave.mode, wave.fresh);
}

void emit_wave_rows(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                    SReg descriptor, SReg base, SReg records, SReg batch_stride, SReg head_stride,
                    Source row_stride, unsigned row_bytes, SReg t) {
    const SReg row = t[3], head = t[4];
    SReg batch = descriptor[3];
    if (o.split_bits > 0) {
        e.s_lshr_b32(head, batch, o.split_bits, "without the part of the keys");
        batch = head;
    }
    add_product64(e, base, batch, batch_stride, t.sub(0, 3), "+ batch * stride");
    if (o.two_heads) {
        e.s_lshl_b32(head, descriptor[2], 1, "head of this wave: waves 4-7 take the second one");
        e.s_lshr_b32(row, wave.index, 2);
        e.s_add_u32(head, head, row);
        add_product64(e, base, head, head_stride, t.sub(0, 3), "+ head * stride");
    } else {
        add_product64(e, base, descriptor[2], head_stride, t.sub(0, 3), "+ head * stride");
    }
    e.s_add_u32(row, descriptor[1], wave.row, "first row of the wave");
    e.s_mul_i32(t[0], row, row_stride, "+ row * stride");
    e.s_mul_hi_u32(t[1], row, row_stride);
    e.s_add_u32(base[0], base[0], t[0]);
    e.s_addc_u32(base[1], base[1], t[1]);
    e.s_sub_i32(row, w.seq_q, row, "rows that exist");
    e.s_min_i32(row, row, 32);
    record_bytes(e, records, row, row_stride, row_bytes, t[0]);
}

} // namespace zyfa::templates::attention
