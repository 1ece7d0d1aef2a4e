// SPDX-License-Identifier: Apache-2.0
// Steps that are the same in all forward kernels.
#pragma once

#include <string>

#include "templates/asm/emitter.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

/// Q rows of the tile of block `next`: 16 bytes of each 32 per lane.
template <class Kernel>
void emit_load_q(isa::Emitter& e, const Kernel& k) {
    const WorkRegisters& w = k.work;
    const isa::SReg base = k.row_buffer.sub(0, 2);
    e.s_mov_b64(base, w.q, "Q rows of the wave");
    emit_wave_rows(e, w, k.wave, k.options, w.next, base, k.row_buffer[2], w.q_strides.sub(0, 2),
                   w.q_strides.sub(2, 2), w.q_row, k.geometry.qk_row_bytes(), w.scratch.sub(0, 5));
    for (unsigned part = 0; part < k.geometry.qk_row_bytes() / 32; ++part)
        e.buffer_load_dwordx4(k.v.q.sub(4 * part, 4), k.v.q_fetch, k.row_buffer, 0, 32 * part,
                              "Q[lane % 32], bytes " + std::to_string(32 * part) + " + 16 (lane / 32) ..");
}

/// limit = last key of the block that the lane's row sees, less lane_key. scratch: 2 SGPRs.
template <class Kernel>
void emit_visible_limit(isa::Emitter& e, const Kernel& k, isa::VReg limit, isa::SReg scratch) {
    const WorkRegisters& w = k.work;
    const isa::SReg a = scratch[0], b = scratch[1];
    e.s_sub_i32(a, w.seq_kv, k.first_key);
    e.s_sub_i32(a, a, 1, "last key there is, counted from the block's first");
    if (k.options.causal) {
        e.s_add_i32(b, w.tile[1], k.wave.row);
        e.s_add_i32(b, b, w.diagonal, "key j is visible to row i if j <= i + seq_kv - seq_q");
        e.s_sub_i32(b, b, k.first_key);
        e.v_add_u32(limit, b, k.v.lane_row);
        e.v_min_i32(limit, a, limit);
    } else {
        e.v_mov_b32(limit, a);
    }
    e.v_sub_u32(limit, limit, k.v.lane_key, "last visible key, less what the lane adds");
}

/// Score register r of a tile holds key score_key(r) + 4 * (lane / 32) of the tile's 32.
constexpr unsigned score_key(unsigned r) {
    return 8 * (r / 4) + r % 4;
}

/// Scores of unseen keys = -inf.
template <class Kernel>
void emit_mask(isa::Emitter& e, const Kernel& k) {
    const WorkRegisters& w = k.work;
    const isa::VReg limit = k.v.t[0], hidden = k.v.t[1];
    emit_visible_limit(e, k, limit, w.scratch.sub(0, 2));
    e.v_mov_b32(hidden, isa::Literal{0xff800000});
    // Four compares ahead of their selects: the masks go through scalar registers.
    constexpr unsigned group = 4;
    const unsigned count = k.v.s.count;
    for (unsigned first = 0; first < count; first += group) {
        if (first == 32)
            e.v_subrev_u32(limit, 64, limit, "the compared key stays an inline constant");
        for (unsigned r = first; r < first + group; ++r)
            e.v_cmp("le_i32", w.scratch.sub(4 + 2 * (r % group), 2), 32 * (r / 16 % 2) + score_key(r % 16),
                    limit);
        for (unsigned r = first; r < first + group; ++r)
            e.v_cndmask_b32(k.v.s[r], hidden, k.v.s[r], w.scratch.sub(4 + 2 * (r % group), 2));
    }
}

/// The accumulator = 0.
template <class Kernel>
void emit_clear_accumulator(isa::Emitter& e, const Kernel& k) {
    for (unsigned r = 0; r < k.v.o.count; ++r)
        e.v_mov_b32(k.v.o[r], 0);
}

/// The column tiles that emit_rescale left to the matrix phase.
template <class Kernel>
void emit_rescale_rest(isa::Emitter& e, const Kernel& k) {
    for (unsigned r = 16; r < k.v.o.count; ++r)
        e.v_mul_f32(k.v.o[r], k.v.factor, k.v.o[r], r % 16 == 0 ? "rescale" : "");
}

/// In the matrix phase: classifies what follows and chooses the ring slot to read. Scratch: 4 .. 7.
template <class Kernel>
void emit_next_block_work(isa::Emitter& e, const Kernel& k) {
    const isa::SReg t = k.work.scratch.sub(4, 4);
    emit_classify(e, k.work, k.wave, k.options, t);
    e.s_mul_i32(t[0], k.wave.slot_out, k.geometry.k().bytes());
    e.s_mul_i32(t[1], k.wave.slot_out, k.geometry.v().bytes());
    e.s_add_u32(k.wave.slot_out, k.wave.slot_out, 1);
    e.s_cmp("eq_u32", k.wave.slot_out, Kernel::Geometry::slots);
    e.s_cselect_b32(k.wave.slot_out, 0, k.wave.slot_out);
}

/// Behind it and behind the phase's reads: the addresses in that slot.
template <class Kernel>
void emit_next_addresses(isa::Emitter& e, const Kernel& k) {
    const isa::SReg t = k.work.scratch.sub(4, 4);
    e.v_add_u32(k.v.k_read, t[0], k.v.k_lane, "slot that the next matrix phase reads");
    e.v_add_u32(k.v.v_read, t[1], k.v.v_lane);
}

} // namespace zyfa::templates::attention
