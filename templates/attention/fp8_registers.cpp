// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/fp8_registers.hpp"

namespace zyfa::templates::attention {

Fp8Registers allocate_fp8(isa::VAllocator& v, const Fp8Geometry& g, bool folds) {
    Fp8Registers r;
    r.lane_row =
        v.allocate("vLaneRow", 1, 1, "lane % 32: the query row of the lane (as launched: work-item id)");
    r.lane_key = v.allocate("vLaneKey", 1, 1, "4 * (lane / 32): first key of the lane in each 8");
    r.q = v.allocate("vQ", 8 * g.qk_steps(), 2, "Q^T operands, 8 registers per 64 of the head dimension");
    r.s = v.allocate("vS", 16 * Fp8Geometry::key_tiles, 2,
                     "S^T, 16 registers per 32 keys; P^T packed in place");
    r.o = v.allocate("vO", 16 * g.column_tiles(), 2, "O^T accumulator, 16 registers per 32 columns");
    r.fragments =
        v.allocate("vF", 8 * g.fragments(), 2, "K and V operand fragments from LDS, 8 registers each");
    if (folds)
        r.start = v.allocate("vStart", 16, 2, "where QK starts from: minus the row maximum applied, or 0");
    r.selector = v.allocate("vSelector", 4, 2, "FP4 0 and 1: which lanes' probabilities a row sum takes");
    r.maximum = v.allocate("vMax", 1, 1, "row maximum applied, as QK gives it");
    r.sum = v.allocate("vSum", 1, 1, "row sum of the rounded probabilities, times 2^sigma");
    r.scales = v.allocate("vScales", 1, 1, "E8M0 block scales: bytes 0 and 1 of P's halves, byte 2 is 1.0");
    r.k_read = v.allocate("vKRead", 1, 1, "LDS address of K fragments, current slot");
    r.v_read = v.allocate("vVRead", 1, 1, "LDS address of V fragments, current slot");
    r.k_lane = v.allocate("vKLane", 1, 1, "the same in slot 0");
    r.v_lane = v.allocate("vVLane", 1, 1, "the same in slot 0");
    r.k_fetch = v.allocate("vKFetch", 1, 1, "byte offset of the lane's 16 bytes of a K block");
    r.v_fetch = v.allocate("vVFetch", 1, 1, "the same of a V block");
    if (g.k().has_half_chunk())
        r.k_fetch_half = v.allocate("vKFetchHalf", 1, 1, "the same of the last 64 bytes of K's rows");
    r.q_fetch = v.allocate("vQFetch", 1, 1, "byte offset of the lane's Q row and half");
    r.lse_store =
        v.allocate("vLseStore", 1, 1, "byte offset of the lane's LSE; out of bounds for lanes 32-63");
    r.o_store = v.allocate("vOStore", 4, 1, "byte offsets of O rows lane / 8 + {0, 8, 16, 24}");
    r.stage_write = v.allocate("vStageWrite", 1, 1, "LDS address for staging O");
    r.stage_read = v.allocate("vStageRead", 1, 1, "LDS address for reading it back by rows");
    r.arguments = v.allocate("vArguments", 1, 1, "lane i: dword i of the kernel-argument block");
    r.factor = v.allocate("vFactor", 1, 1, "2^(old - new maximum) of a rescale under way");
    r.t = v.allocate("vT", 6, 2, "scratch");
    return r;
}

} // namespace zyfa::templates::attention
