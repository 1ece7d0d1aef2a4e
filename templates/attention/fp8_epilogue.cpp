// SPDX-License-Identifier: Apache-2.0
// Start and end of a tile: a fresh accumulator, O and LSE.
#include "templates/attention/forward_epilogue.hpp"
#include "templates/attention/forward_merge.hpp"

#include "templates/attention/fp8_blocks.hpp"

namespace zyfa::templates::attention {

using namespace isa;

void emit_begin_tile(Emitter& e, const Fp8Kernel& k) {
    const WorkRegisters& w = k.work;
    e.s_mov_b64(w.tile.sub(0, 2), w.now.sub(0, 2), "the tile in the accumulator");
    e.s_mov_b64(w.tile.sub(2, 2), w.now.sub(2, 2));
    e.s_mov_b32(w.tile[0], 1);
    e.s_mov_b32(k.wave.fresh, mode_fresh);
    e.s_or_b32(k.wave.mode, k.wave.mode, mode_fresh);
    e.s_mov_b32(k.large, k.folds() ? state_raw : 0);
    // Below every product of e4m3 rows: 192 * 448^2 < 2^26. Finite, so that nothing it meets becomes NaN.
    if (k.folds())
        e.v_mov_b32(k.v.maximum, 0, "rows without a key are known by their sum");
    else
        e.v_mov_b32(k.v.maximum, Float{-67108864.0f}, "maximum below any score");
    e.v_mov_b32(k.v.sum, 0);
}

void emit_row_total(Emitter& e, const Fp8Kernel& k, VReg total, VReg) {
    e.v_mov_b32(total, k.v.sum, "l: the matrix unit has summed whole rows");
}

void emit_output_scale(Emitter& e, const Fp8Kernel& k, VReg inverse, SReg scratch) {
    epilogue::emit_argument(e, k, scratch, offsetof(Kernarg, output_scale));
    e.v_mul_f32(inverse, scratch, inverse, "descale of V");
}

void emit_add_maximum(Emitter& e, const Fp8Kernel& k, VReg lse) {
    const VReg scaled = k.v.t[5];
    e.v_mul_f32(scaled, k.folds() ? k.code_scale : k.work.score_scale, k.v.maximum, "in base-2 units");
    e.v_add_f32(lse, lse, scaled, "log2 of the row sum; -inf for a row without keys");
    e.v_add_f32(lse, Float{-k.probability.sigma}, lse);
}

VReg emit_part_maximum(Emitter& e, const Fp8Kernel& k, VReg total, const std::string& prefix) {
    if (!k.folds()) {
        emit_part_reference(e, k, total, k.v.t[4], k.v.t[5], prefix);
        return k.v.maximum;
    }
    const VReg maximum = k.v.t[4], lowest = k.v.t[5];
    e.v_mov_b32(lowest, Literal{0xff7fffff},
                "lowest finite value where the row saw no key: it outweighs nothing");
    e.v_cmp("eq_f32", vcc, 0, total);
    e.v_cndmask_b32(maximum, k.v.maximum, lowest, vcc);
    return maximum;
}

void emit_epilogue(Emitter& e, const Fp8Kernel& k, const std::string& prefix) {
    emit_epilogue<Fp8Kernel>(e, k, prefix);
}

void emit_merge_parts(Emitter& e, const Fp8Kernel& k, const std::string& prefix, const std::string& end) {
    std::vector<VReg> rows;
    for (unsigned part = 0; part < 1u << k.options.split_bits; ++part)
        rows.push_back(k.v.s.sub(4 * part, 4));
    emit_merge_parts<Fp8Kernel>(e, k, prefix, end, std::move(rows),
                                {k.v.fragments.sub(0, 32), k.v.fragments.sub(32, 32)},
                                k.folds() ? k.code_scale : k.work.score_scale);
}

} // namespace zyfa::templates::attention
