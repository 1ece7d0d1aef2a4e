// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/bf16_registers.hpp"

namespace zyfa::templates::attention {

Bf16Registers allocate_bf16(isa::VAllocator& v, const Bf16Geometry& g, Bf16Pipeline pipeline) {
    const bool stages = pipeline == Bf16Pipeline::eight_stage;
    Bf16Registers r;
    r.lane_row =
        v.allocate("vLaneRow", 1, 1, "lane % 32: the query row of the lane (as launched: work-item id)");
    r.lane_key = v.allocate("vLaneKey", 1, 1, "4 * (lane / 32): first key of the lane in each 8");
    r.q = v.allocate("vQ", 4 * g.qk_steps(), 2, "Q^T operands, 4 registers per 16 of the head dimension");
    r.s = v.allocate("vS", 16 * Bf16Geometry::key_tiles, 2,
                     stages ? "S^T, 16 registers per 32 keys"
                            : "S^T, 16 registers per 32 keys; P^T packed in place");
    if (stages) {
        r.scaled = v.allocate("vScaled", 16, 2, "scores of keys 32-63, scaled; exponentials in place");
        r.packed = v.allocate("vP", 4 * Bf16Geometry::pv_steps, 2, "P^T operands, 4 registers per 16 keys");
    }
    r.o = v.allocate("vO", 16 * g.column_tiles(), 2, "O^T accumulator, 16 registers per 32 columns");
    r.fragments = v.allocate("vF", 4 * (stages ? g.stage_fragments() : g.fragments()), 2,
                             "K and V operand fragments from LDS, 4 registers each");
    r.maximum = v.allocate("vMax", 1, 1, "row maximum applied, base-2 units");
    r.sum = v.allocate("vSum", 1, 1, "this lane's part of the row sum");
    r.k_read = v.allocate("vKRead", 1, 1, "LDS address of K fragments, current slot");
    r.v_read = v.allocate("vVRead", 1, 1, "LDS address of V fragments, current slot");
    r.k_lane = v.allocate("vKLane", 1, 1, "the same in slot 0");
    r.v_lane = v.allocate("vVLane", 1, 1, "the same in slot 0");
    r.k_fetch = v.allocate("vKFetch", 1, 1, "byte offset of the lane's 16 bytes of a K block");
    r.v_fetch = v.allocate("vVFetch", 1, 1, "the same of a V block");
    r.q_fetch = v.allocate("vQFetch", 1, 1, "byte offset of the lane's Q row and half");
    r.lse_store =
        v.allocate("vLseStore", 1, 1, "byte offset of the lane's LSE; out of bounds for lanes 32-63");
    r.o_store = v.allocate("vOStore", 4, 1, "byte offsets of O rows lane / 8 + {0, 8, 16, 24}");
    r.stage_write = v.allocate("vStageWrite", 1, 1, "LDS address for staging O");
    r.stage_read = v.allocate("vStageRead", 1, 1, "LDS address for reading it back by rows");
    r.arguments = v.allocate("vArguments", 1, 1, "lane i: dword i of the kernel-argument block");
    r.factor = v.allocate("vFactor", 1, 1, "2^(old - new maximum) of a rescale under way");
    r.t = v.allocate("vT", 12, 2, "scratch");
    return r;
}

} // namespace zyfa::templates::attention
