// SPDX-License-Identifier: Apache-2.0
// End of a tile: O = acc / l in BF16 through LDS in 16-byte stores, LSE, and a fresh accumulator.
#include "templates/attention/bf16_blocks.hpp"

#include "templates/attention/kernarg.hpp"

#include <cstddef>
#include <numbers>

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

/// Arguments of the epilogue, as loaded into scratch (Kernarg from `lse` on).
struct EpilogueArguments {
    SReg lse, lse_batch, lse_head, o_batch, o_head, o_row, o, free_after_o_is_copied, free_after_o;
    explicit EpilogueArguments(SReg t)
        : lse(t.sub(0, 2)), lse_batch(t.sub(2, 2)), lse_head(t.sub(4, 2)), o_batch(t.sub(6, 2)),
          o_head(t.sub(8, 2)), o_row(t[10]), o(t.sub(12, 2)), free_after_o_is_copied(t.sub(11, 5)),
          free_after_o(t.sub(6, 5)) {}
};
static_assert(offsetof(Kernarg, lse_batch) == offsetof(Kernarg, lse) + 8);
static_assert(offsetof(Kernarg, o_batch) == offsetof(Kernarg, lse) + 24);
static_assert(offsetof(Kernarg, o_row) == offsetof(Kernarg, lse) + 40);
static_assert(offsetof(Kernarg, o) == offsetof(Kernarg, lse) + 48);

} // namespace

void emit_clear_accumulator(Emitter& e, const Bf16Kernel& k) {
    // The lowest finite value: a row that has seen no key keeps it, and -inf minus it is -inf, not NaN.
    e.v_mov_b32(k.v.maximum, Literal{0xff7fffff}, "maximum = lowest finite value");
    e.v_mov_b32(k.v.sum, 0);
    for (unsigned r = 0; r < k.v.o.count; ++r)
        e.v_mov_b32(k.v.o[r], 0);
}

void emit_epilogue(Emitter& e, const Bf16Kernel& k, const std::string& prefix) {
    const WorkRegisters& w = k.work;
    const Bf16Registers& v = k.v;
    const EpilogueArguments arguments(w.scratch);
    const VReg total = v.t[0], other = v.t[1], inverse = v.t[2], lse = v.t[3], visible = v.t[4];
    const SReg base = k.row_buffer.sub(0, 2);
    const std::string skip = prefix + "_skip";

    e.s_add_u32(k.first_key, w.tile[1], k.wave.row, "rows of the wave beyond the last query?");
    e.s_cmp("ge_i32", k.first_key, w.seq_q);
    e.s_cbranch_scc1(skip);
    e.s_load(w.scratch, w.kernarg, offsetof(Kernarg, lse));

    e.v_mov_b32(total, v.sum, "l of lanes l and l + 32");
    e.v_mov_b32(other, v.sum);
    e.v_permlane32_swap_b32(total, other);
    e.v_add_f32(total, total, other);
    e.v_rcp_f32(inverse, total);
    if (k.options.lse)
        e.v_log_f32(lse, total);
    if (k.options.causal) {
        e.s_add_i32(k.first_key, k.first_key, w.diagonal);
        e.v_add_u32(visible, k.first_key, v.lane_row, "last key that the row sees; none if negative");
        e.v_cmp("gt_i32", vcc, 0, visible);
        e.v_cndmask_b32(inverse, inverse, 0, vcc, "row without keys: O = 0 * 0");
    }
    if (k.options.lse) {
        e.v_add_f32(lse, lse, v.maximum, "log2 of the row sum; -inf for a row without keys");
        e.v_mul_f32(lse, Float{std::numbers::ln2_v<float>}, lse, "natural logarithm");
    }

    e.s_mov_b64(base, arguments.o, "O rows of the wave");
    emit_wave_rows(e, w, k.wave, k.options, w.tile, base, k.row_buffer[2], arguments.o_batch,
                   arguments.o_head, arguments.o_row, G::row_bytes, arguments.free_after_o_is_copied);

    for (unsigned half = 0; half < 2; ++half) {
        e.remark("columns " + std::to_string(64 * half) + ".." + std::to_string(64 * half + 63));
        for (unsigned tile = 2 * half; tile < 2 * half + 2; ++tile) {
            const VReg o = v.output(tile);
            for (unsigned r = 0; r < 16; ++r)
                e.v_mul_f32(o[r], inverse, o[r], r == 0 ? "O = acc / l" : "");
            for (unsigned r = 0; r < 16; r += 2)
                e.v_cvt_pk_bf16_f32(o[r / 8 * 8 + r % 8 / 2], o[r], o[r + 1]);
            // Registers 4 n..4 n + 3 hold columns 8 n + 4 (lane / 32)..: after the swaps, eight consecutive
            // columns lie in one lane.
            for (unsigned part = 0; part < 2; ++part) {
                const VReg packed = o.sub(8 * part, 4);
                e.v_permlane32_swap_b32(packed[0], packed[2]);
                e.v_permlane32_swap_b32(packed[1], packed[3]);
            }
            for (unsigned part = 0; part < 2; ++part)
                e.ds_write_b128(v.stage_write, o.sub(8 * part, 4), 64 * (tile % 2) + 32 * part,
                                "O[lane % 32, " + std::to_string(32 * tile + 16 * part) +
                                    " + 8 (lane / 32) ..]");
        }
        e.remark("each wave stages in its own region: LDS keeps the order of one wave's operations");
        for (unsigned j = 0; j < 4; ++j)
            e.ds_read_b128(v.output(2 * half + j / 2).sub(8 * (j % 2), 4), v.stage_read,
                           8 * j * G::stage_pitch, "8 rows of 128 bytes");
        for (unsigned j = 0; j < 4; ++j)
            e.buffer_store_dwordx4(v.output(2 * half + j / 2).sub(8 * (j % 2), 4), v.o_store[j], k.row_buffer,
                                   0, 128 * half);
    }
    if (k.options.lse) {
        e.s_mov_b64(base, arguments.lse, "LSE rows of the wave");
        emit_wave_rows(e, w, k.wave, k.options, w.tile, base, k.row_buffer[2], arguments.lse_batch,
                       arguments.lse_head, 4, 4, arguments.free_after_o);
        e.buffer_store_dword(lse, v.lse_store, k.row_buffer, 0, 0, "lanes 32-63 are out of bounds");
    }
    e.label(skip);
}

} // namespace zyfa::templates::attention
