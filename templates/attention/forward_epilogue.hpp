// SPDX-License-Identifier: Apache-2.0
// End of a tile: O = acc / l in BF16 through LDS in 16-byte stores, and LSE. Shared by the forward kernels,
// which differ in
//   emit_row_total     l of the lane's row from what its lanes hold
//   emit_output_scale  what O is multiplied by beside 1 / l
//   emit_add_maximum   from log2 l to log2 of the row sum
//   emit_part_maximum  the maximum as the merge of a split over keys takes it; may use t[4] and t[5]
#pragma once

#include <cstddef>
#include <numbers>
#include <string>

#include "templates/asm/emitter.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/attention/split.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

namespace epilogue {

using namespace isa;

/// Packs a column tile: registers 8 n..8 n + 3 then hold columns 16 n + 8 (lane / 32) .. + 7 of the lane's
/// row.
inline void emit_pack(Emitter& e, VReg o, VReg inverse) {
    for (unsigned r = 0; r < 16; ++r)
        e.v_mul_f32(o[r], inverse, o[r], r == 0 ? "O = acc / l" : "");
    for (unsigned r = 0; r < 16; r += 2)
        e.v_cvt_pk_bf16_f32(o[r / 8 * 8 + r % 8 / 2], o[r], o[r + 1]);
    for (unsigned part = 0; part < 2; ++part) {
        e.v_permlane32_swap_b32(o[8 * part], o[8 * part + 2], part == 0 ? "8 columns to one lane" : "");
        e.v_permlane32_swap_b32(o[8 * part + 1], o[8 * part + 3]);
    }
}

template <class Kernel>
void emit_stage(Emitter& e, const Kernel& k, unsigned half) {
    for (unsigned tile = 2 * half; tile < 2 * half + 2; ++tile)
        for (unsigned part = 0; part < 2; ++part)
            e.ds_write_b128(k.v.stage_write, k.v.output(tile).sub(8 * part, 4), 64 * (tile % 2) + 32 * part,
                            "O[lane % 32, " + std::to_string(32 * tile + 16 * part) + " + 8 (lane / 32) ..]");
}

template <class Kernel>
VReg staged_rows(const Kernel& k, unsigned half, unsigned group) {
    return k.v.output(2 * half + group / 2).sub(8 * (group % 2) + 4, 4);
}

template <class Kernel>
void emit_read_rows(Emitter& e, const Kernel& k, unsigned half) {
    for (unsigned group = 0; group < 4; ++group)
        e.ds_read_b128(staged_rows(k, half, group), k.v.stage_read, 8 * group * Kernel::Geometry::stage_pitch,
                       "8 rows of 128 bytes");
}

template <class Kernel>
void emit_store_rows(Emitter& e, const Kernel& k, unsigned half) {
    for (unsigned group = 0; group < 4; ++group)
        e.buffer_store_dwordx4(staged_rows(k, half, group), k.v.o_store[group], k.row_buffer, 0, 128 * half);
}

/// Kernel arguments [first, first + d.count) to scalar registers.
template <class Kernel>
void emit_argument(Emitter& e, const Kernel& k, SReg d, std::size_t byte_offset) {
    for (unsigned i = 0; i < d.count; ++i)
        e.v_readlane_b32(d[i], k.v.arguments, static_cast<unsigned>(byte_offset / 4 + i));
}

} // namespace epilogue

/// Stores O and LSE of the wave's rows of the tile in the accumulator; w.scratch[10] is the first of them.
/// `summed`: t[0] holds the row sum; otherwise emit_row_total gives it.
template <class Kernel>
void emit_output(isa::Emitter& e, const Kernel& k, bool summed) {
    using namespace isa;
    using namespace epilogue;
    const WorkRegisters& w = k.work;
    const auto& v = k.v;
    const VReg total = v.t[0], other = v.t[1], inverse = v.t[2], lse = v.t[3], visible = v.t[4];
    const SReg base = k.row_buffer.sub(0, 2);
    const SReg batch_stride = w.scratch.sub(0, 2), head_stride = w.scratch.sub(2, 2),
               row_stride = w.scratch[4], scratch = w.scratch.sub(5, 5), row = w.scratch[10];

    emit_argument(e, k, batch_stride, offsetof(Kernarg, o_batch));
    if (!summed)
        emit_row_total(e, k, total, other);
    e.v_rcp_f32(inverse, total);
    emit_argument(e, k, head_stride, offsetof(Kernarg, o_head));
    if (k.options.lse)
        e.v_log_f32(lse, total);
    emit_argument(e, k, row_stride, offsetof(Kernarg, o_row));
    emit_output_scale(e, k, inverse, scratch[0]);
    if (k.options.causal) {
        e.s_add_i32(row, row, w.diagonal);
        e.v_add_u32(visible, row, v.lane_row, "last key that the row sees; none if negative");
        e.v_cmp("gt_i32", vcc, 0, visible);
        e.v_cndmask_b32(inverse, inverse, 0, vcc, "row without keys: O = 0 * 0");
    }
    emit_pack(e, v.output(0), inverse);
    emit_pack(e, v.output(1), inverse);
    e.remark("each wave stages in a region of its own: LDS keeps the order of one wave's operations");
    emit_stage(e, k, 0);
    emit_pack(e, v.output(2), inverse);
    emit_pack(e, v.output(3), inverse);
    emit_read_rows(e, k, 0);
    emit_stage(e, k, 1);
    emit_argument(e, k, base, offsetof(Kernarg, o));
    emit_wave_rows(e, w, k.wave, k.options, w.tile, base, k.row_buffer[2], batch_stride, head_stride,
                   row_stride, 2 * k.geometry.dim_v, scratch);
    emit_read_rows(e, k, 1);
    emit_store_rows(e, k, 0);
    emit_store_rows(e, k, 1);
    if (k.options.lse) {
        emit_add_maximum(e, k, lse);
        e.v_mul_f32(lse, Float{std::numbers::ln2_v<float>}, lse, "natural logarithm");
        emit_argument(e, k, batch_stride, offsetof(Kernarg, lse_batch));
        emit_argument(e, k, head_stride, offsetof(Kernarg, lse_head));
        emit_argument(e, k, base, offsetof(Kernarg, lse));
        emit_wave_rows(e, w, k.wave, k.options, w.tile, base, k.row_buffer[2], batch_stride, head_stride, 4,
                       4, scratch);
        e.buffer_store_dword(lse, v.lse_store, k.row_buffer, 0, 0, "lanes 32-63 are out of bounds");
    }
}

/// Stores O and LSE of the tile in the accumulator, or its part of them. Uses the labels <prefix>_*.
template <class Kernel>
void emit_epilogue(isa::Emitter& e, const Kernel& k, const std::string& prefix) {
    using namespace isa;
    const WorkRegisters& w = k.work;
    const auto& v = k.v;
    const SReg row = w.scratch[10];
    const std::string skip = prefix + "_skip", filled = prefix + "_filled";

    e.s_add_u32(row, w.tile[1], k.wave.row, "rows of the wave beyond the last query?");
    e.s_cmp("ge_i32", row, w.seq_q);
    e.s_cbranch_scc1(skip);
    e.s_cmp("eq_u32", k.wave.fresh, 0);
    e.s_cbranch_scc1(filled);
    emit_clear_accumulator(e, k); // no row of the wave sees a key
    e.label(filled);
    if (k.options.split_bits > 0) {
        const VReg total = v.t[0];
        emit_row_total(e, k, total, v.t[1]);
        const VReg maximum = emit_part_maximum(e, k, total, prefix);
        emit_store_part(e, w, k.wave, k.options, k.row_buffer, v.arguments,
                        {v.o, maximum, total, v.lane_row, v.lane_key, {v.t[1], v.t[2], v.t[3], v.factor}});
    } else {
        emit_output(e, k, false);
    }
    e.label(skip);
}

} // namespace zyfa::templates::attention
