// SPDX-License-Identifier: Apache-2.0
// Start and end of a tile: a fresh accumulator, O and LSE.
#include "templates/attention/bf16_blocks.hpp"

#include "templates/attention/forward_epilogue.hpp"
#include "templates/attention/forward_merge.hpp"

namespace zyfa::templates::attention {

using namespace isa;
void emit_begin_tile(Emitter& e, const Bf16Kernel& k) {
    const WorkRegisters& w = k.work;
    e.s_mov_b64(w.tile.sub(0, 2), w.now.sub(0, 2), "the tile in the accumulator");
    e.s_mov_b64(w.tile.sub(2, 2), w.now.sub(2, 2));
    e.s_mov_b32(w.tile[0], 1);
    e.s_mov_b32(k.wave.fresh, mode_fresh);
    e.s_or_b32(k.wave.mode, k.wave.mode, mode_fresh);
    // The lowest finite value: a row that has seen no key keeps it, and -inf minus it is -inf, not NaN.
    e.v_mov_b32(k.v.maximum, Literal{0xff7fffff}, "maximum = lowest finite value");
    e.v_mov_b32(k.v.sum, 0);
}

void emit_row_total(Emitter& e, const Bf16Kernel& k, VReg total, VReg other) {
    e.v_mov_b32(total, k.v.sum, "l of lanes l and l + 32");
    e.v_mov_b32(other, k.v.sum);
    e.v_permlane32_swap_b32(total, other);
    e.v_add_f32(total, total, other);
}

void emit_output_scale(Emitter&, const Bf16Kernel&, VReg, SReg) {}

void emit_add_maximum(Emitter& e, const Bf16Kernel& k, VReg lse) {
    e.v_add_f32(lse, lse, k.v.maximum, "log2 of the row sum; -inf for a row without keys");
}

VReg emit_part_maximum(Emitter&, const Bf16Kernel& k, VReg, const std::string&) {
    return k.v.maximum;
}

void emit_epilogue(Emitter& e, const Bf16Kernel& k, const std::string& prefix) {
    emit_epilogue<Bf16Kernel>(e, k, prefix);
}

void emit_merge_parts(Emitter& e, const Bf16Kernel& k, const std::string& prefix, const std::string& end) {
    const bool stages = k.v.scaled.count != 0; // fewer fragments, and Q of 192
    const unsigned in_q = stages ? k.v.q.count / 4 : 8;
    std::vector<VReg> rows;
    for (unsigned part = 0; part < 1u << k.options.split_bits; ++part)
        rows.push_back(part < in_q ? k.v.q.sub(4 * part, 4)
                                   : (stages ? k.v.scaled : k.v.s).sub(4 * (part - in_q), 4));
    const VReg other = stages ? k.v.s : k.v.fragments.sub(32, 32);
    emit_merge_parts<Bf16Kernel>(e, k, prefix, end, std::move(rows), {k.v.fragments.sub(0, 32), other},
                                 std::nullopt);
}

} // namespace zyfa::templates::attention
