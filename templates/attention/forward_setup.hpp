// SPDX-License-Identifier: Apache-2.0
// Start of a wave: lane constants, LDS addresses, byte offsets. Shared by the forward kernels, which differ
// in
//   emit_v_lane_address  where a lane's transposing reads of V point
//   emit_constants       registers of their own; scratch: 2
#pragma once

#include <cstddef>

#include "templates/asm/emitter.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/attention/scalar_math.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

/// Once per wave.
template <class Kernel>
void emit_setup(isa::Emitter& e, const Kernel& k) {
    using namespace isa;
    using G = typename Kernel::Geometry;
    const auto& g = k.geometry;
    const auto& v = k.v;
    const WorkRegisters& w = k.work;
    const SReg t = w.scratch;
    const VReg s = v.setup_scratch();
    const VReg lane = s[0], a = s[1], b = s[2], lane8 = s[3], half = s[6];
    const VReg scratch = s.sub(4, 2);

    e.remark("---- set-up: kernel arguments, lane constants");
    emit_work_start(e, w);
    e.v_lshrrev_b32(a, 6, v.lane_row, "work-item id / 64");
    e.v_and_b32(lane, 63, v.lane_row, "lane");
    e.v_readfirstlane_b32(k.wave.index, a, "wave");
    e.v_and_b32(v.lane_row, 31, lane, "query row of the lane");
    e.v_lshrrev_b32(half, 5, lane, "lane / 32");
    e.v_lshlrev_b32(v.lane_key, 2, half);
    e.v_lshrrev_b32(lane8, 3, lane, "lane / 8");

    e.remark("all arguments, a dword per lane, for the code that seldom needs one");
    e.s_mov_b64(k.row_buffer.sub(0, 2), w.kernarg);
    e.s_mov_b32(k.row_buffer[2], static_cast<unsigned>(sizeof(Kernarg)));
    e.s_mov_b32(k.row_buffer[3], Literal{0x00020000}, "raw buffer, bounds in bytes");
    e.v_lshlrev_b32(a, 2, lane);
    e.buffer_load_dword(v.arguments, a, k.row_buffer, 0, 0);

    e.remark("what the wave owns");
    if (k.options.two_heads) {
        e.s_and_b32(k.wave.row, k.wave.index, 3, "four waves per head");
        e.s_lshl_b32(k.wave.row, k.wave.row, 5);
    } else {
        e.s_lshl_b32(k.wave.row, k.wave.index, 5, "32 rows per wave");
    }
    for (SReg r : {k.wave.slot_in, k.wave.live, k.wave.next_live})
        e.s_mov_b32(r, 0);
    e.s_mov_b32(k.wave.state, state_dead, "the pipeline fills with blocks that nobody computes");
    e.s_mov_b32(k.wave.next_state, state_dead);
    e.s_mov_b32(k.wave.mode, mode_cursor, "and the cursor takes its first tile");
    e.s_mov_b32(k.wave.fresh, mode_fresh);
    e.s_mov_b32(k.wave.slot_out, 2, "the first block is read in the third matrix phase, from slot 0");
    e.s_mul_i32(k.wave.dma_k, k.wave.index, g.k().pitch);
    e.s_mul_i32(k.wave.dma_v, k.wave.index, g.v().pitch);
    e.s_add_u32(k.wave.dma_v, k.wave.dma_v, g.v_ring());

    e.remark("K fragments: lane reads key lane % 32, 16 bytes of half lane / 32");
    e.s_mov_b32(t[0], g.k().pitch);
    e.v_and_b32(a, 7, lane);
    e.v_mul_lo_u32(a, a, t[0], "(key % 8) * pitch");
    e.v_lshrrev_b32(b, 3, v.lane_row);
    e.v_lshl_add_u32(a, b, 7, a, "(key / 8) * 128");
    e.v_lshl_add_u32(v.k_lane, half, 4, a);

    emit_v_lane_address(e, k, lane, half, a, b, t[0]);

    e.remark("LDS-DMA: lane brings 16 bytes of key wave + 8 * (lane / 8), chunk byte 16 * (lane % 8)");
    e.v_lshlrev_b32(a, 3, lane8);
    e.v_add_u32(a, k.wave.index, a, "key");
    e.v_and_b32(b, 7, lane);
    e.v_lshlrev_b32(b, 4, b, "byte");
    lane_row_offset(e, v.k_fetch, a, w.k_row, b, scratch, "K");
    lane_row_offset(e, v.v_fetch, a, w.v_row, b, scratch, "V");

    e.remark("O: lane stores 16 bytes of row lane / 8 + 8 j; LSE: lanes 32-63 fall out of bounds");
    const SReg o_row = t[0];
    e.v_readlane_b32(o_row, v.arguments, offsetof(Kernarg, o_row) / 4, "O row stride");
    for (unsigned j = 0; j < 4; ++j) {
        e.v_add_u32(a, 8 * j, lane8);
        lane_row_offset(e, v.o_store[j], a, o_row, b, scratch, "O");
    }
    e.v_lshlrev_b32(a, 2, v.lane_row);
    e.v_lshl_or_b32(v.lse_store, half, 12, a);

    e.remark("Q: lane loads row lane % 32, 16 bytes of half lane / 32");
    e.v_lshlrev_b32(b, 4, half);
    lane_row_offset(e, v.q_fetch, v.lane_row, w.q_row, b, scratch, "Q");

    e.remark("staging of O: written by query row, read by memory row");
    e.s_mul_i32(t[0], k.wave.index, G::stage_wave);
    e.s_add_u32(t[0], t[0], g.stage());
    e.s_mov_b32(t[1], G::stage_pitch);
    e.v_mul_lo_u32(a, v.lane_row, t[1]);
    e.v_lshl_add_u32(a, half, 4, a);
    e.v_add_u32(v.stage_write, t[0], a);
    e.v_mul_lo_u32(a, lane8, t[1]);
    e.v_and_b32(b, 7, lane);
    e.v_lshl_add_u32(a, b, 4, a);
    e.v_add_u32(v.stage_read, t[0], a);

    emit_constants(e, k, lane, half, a, b, scratch);
    e.v_mov_b32(v.k_read, v.k_lane);
    e.v_mov_b32(v.v_read, v.v_lane);
}

} // namespace zyfa::templates::attention
