// SPDX-License-Identifier: Apache-2.0
// What the set-up of the FP8 kernels has of its own.
#include "templates/attention/forward_setup.hpp"

#include "templates/attention/fp8_blocks.hpp"

namespace zyfa::templates::attention {

using namespace isa;

void emit_v_lane_address(Emitter& e, const Fp8Kernel& k, VReg lane, VReg, VReg a, VReg b, SReg scratch) {
    e.remark("V fragments: lane points at key 4 * (lane / 32) + lane / 2 % 4 + 8 * (lane / 8 % 2), columns");
    e.remark(
        "16 * (lane % 32 / 16) + 8 * (lane % 2); the transposing read hands bytes round in groups of 16");
    e.v_lshrrev_b32(a, 1, lane);
    e.v_and_b32(a, 3, a);
    e.v_add_u32(a, a, k.v.lane_key, "key % 8");
    e.s_mov_b32(scratch, k.geometry.v().pitch);
    e.v_mul_lo_u32(a, a, scratch);
    e.v_lshrrev_b32(b, 3, lane);
    e.v_and_b32(b, 1, b);
    e.v_lshl_add_u32(a, b, 7, a, "+ (key / 8) * 128");
    e.v_lshrrev_b32(b, 4, k.v.lane_row);
    e.v_lshl_add_u32(a, b, 4, a);
    e.v_and_b32(b, 1, lane);
    e.v_lshl_add_u32(a, b, 3, a);
    e.v_add_u32(k.v.v_lane, k.geometry.v_ring(), a);
}

void emit_constants(Emitter& e, const Fp8Kernel& k, VReg lane, VReg, VReg a, VReg b, VReg scratch) {
    const Fp8Registers& v = k.v;
    e.v_mov_b32(v.scales, Literal{0x007f7f7f}, "E8M0 1.0");
    e.remark(
        "row sum: row i of A takes lanes 0-15 and 32-47 of P where i / 4 is even, the others where odd, so");
    e.remark(
        "that each lane gets the sum of its own query. A lane's 32 FP4 values are k = 32 (lane / 16) ..,");
    e.remark("of which the first 16 meet the even groups of 16 lanes of P, the others the odd ones.");
    e.v_lshrrev_b32(a, 2, lane);
    e.v_and_b32(a, 1, a);
    e.v_mov_b32(b, Literal{0x22222222}, "eight times FP4 1.0");
    e.v_cmp("eq_u32", vcc, 0, a);
    for (unsigned r = 0; r < 2; ++r)
        e.v_cndmask_b32(v.selector[r], 0, b, vcc);
    e.v_cmp("eq_u32", vcc, 1, a);
    for (unsigned r = 2; r < 4; ++r)
        e.v_cndmask_b32(v.selector[r], 0, b, vcc);
    e.s_mov_b32(k.large, 0);
    if (k.folds())
        emit_fold_constants(e, k, a);
    if (k.probability.lean) {
        e.v_mov_b32(a, k.work.score_scale);
        e.v_mul_f32(a, Float{8.0f}, a);
        e.v_readfirstlane_b32(k.code_scale, a, "from scores to e4m3 codes");
    }
    if (k.geometry.k().has_half_chunk()) {
        e.remark("the last 64 bytes of K's rows: key wave + 8 * (lane / 8) + 64 * (lane % 8 / 4)");
        const VReg key = v.setup_scratch()[7], byte = v.setup_scratch()[8];
        e.v_lshrrev_b32(key, 3, lane);
        e.v_lshlrev_b32(key, 3, key);
        e.v_add_u32(key, k.wave.index, key);
        e.v_lshrrev_b32(byte, 2, lane);
        e.v_and_b32(byte, 1, byte);
        e.v_lshl_add_u32(key, byte, 6, key);
        e.v_and_b32(byte, 3, lane);
        e.v_lshlrev_b32(byte, 4, byte);
        e.v_add_u32(byte, 128 * k.geometry.k().row_chunks(), byte);
        lane_row_offset(e, v.k_fetch_half, key, k.work.k_row, byte, scratch, "K");
    }
}

void emit_setup(Emitter& e, const Fp8Kernel& k) {
    emit_setup<Fp8Kernel>(e, k);
}

} // namespace zyfa::templates::attention
