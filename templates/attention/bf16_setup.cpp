// SPDX-License-Identifier: Apache-2.0
// What the set-up of the BF16 kernels has of its own.
#include "templates/attention/forward_setup.hpp"

#include "templates/attention/bf16_blocks.hpp"

namespace zyfa::templates::attention {

using namespace isa;

void emit_v_lane_address(Emitter& e, const Bf16Kernel& k, VReg lane, VReg, VReg a, VReg b, SReg scratch) {
    e.remark(
        "V fragments: lane points at key 4 * (lane / 32) + lane % 16 / 4, columns 16 * (lane % 32 / 16) +");
    e.remark("4 * (lane % 4); the transposing read hands them round in groups of 16 lanes");
    e.v_lshrrev_b32(a, 2, lane);
    e.v_and_b32(a, 3, a);
    e.v_add_u32(a, a, k.v.lane_key, "key");
    e.s_mov_b32(scratch, k.geometry.v().pitch);
    e.v_mul_lo_u32(a, a, scratch);
    e.v_lshrrev_b32(b, 4, k.v.lane_row);
    e.v_lshl_add_u32(a, b, 5, a);
    e.v_and_b32(b, 3, lane);
    e.v_lshl_add_u32(a, b, 3, a);
    e.v_add_u32(k.v.v_lane, k.geometry.v_ring(), a);
}

void emit_constants(Emitter&, const Bf16Kernel&, VReg, VReg, VReg, VReg, VReg) {}

void emit_setup(Emitter& e, const Bf16Kernel& k) {
    emit_setup<Bf16Kernel>(e, k);
}

} // namespace zyfa::templates::attention
