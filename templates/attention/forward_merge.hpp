// SPDX-License-Identifier: Apache-2.0
// End of a workgroup that computed parts of a split over keys: it releases them, and merges those tiles that
// it was the last to come for. Shared by the forward kernels, which differ in which registers are free for it
// (all but the accumulator and constants are by now) and in the unit of their maxima.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "templates/attention/forward_epilogue.hpp"
#include "templates/attention/merge.hpp"

namespace zyfa::templates::attention {

/// Behind the last barrier of the workgroup. Branches to `end` when all is done. Uses the labels <prefix>*.
/// rows, values, scale: as in MergeRegisters.
template <class Kernel>
void emit_merge_parts(isa::Emitter& e, const Kernel& k, const std::string& prefix, const std::string& end,
                      std::vector<isa::VReg> rows, std::array<isa::VReg, 2> values,
                      std::optional<isa::SReg> scale) {
    using namespace isa;
    const WorkRegisters& w = k.work;
    const auto& v = k.v;
    const std::string next = prefix + "_next", rewind = prefix + "_rewind";
    MergeRegisters m;
    m.rows = std::move(rows);
    m.values = values;
    m.result = v.o;
    m.maximum = v.maximum;
    m.sum = v.t[0];
    m.factor = v.factor;
    m.scratch = {v.t[1], v.t[2], v.t[3], v.t[4]};
    m.lane_row = v.lane_row;
    m.lane_key = v.lane_key;
    m.maximum_scale = scale;

    e.remark("---- release of the parts; then the workgroup's items once more, to merge what is complete");
    e.buffer_wbl2_agent("release at device scope; waited for before the counter");
    e.label(rewind);
    e.s_sub_u32(w.item, w.item, w.step, "back to before the first item");
    e.s_cmp("ge_u32", w.item, w.step);
    e.s_cbranch_scc1(rewind);
    e.s_sub_u32(w.item, w.item, w.step);
    e.label(next);
    emit_next_descriptor(e, w, k.options, prefix + "_cursor");
    e.s_bitcmp1_b32(w.after[0], flag_end);
    e.s_cbranch_scc1(end);
    e.s_mov_b64(w.tile.sub(0, 2), w.after.sub(0, 2));
    e.s_mov_b64(w.tile.sub(2, 2), w.after.sub(2, 2));
    e.s_add_u32(w.scratch[0], w.tile[1], k.wave.row, "rows of the wave beyond the last query?");
    e.s_cmp("ge_i32", w.scratch[0], w.seq_q);
    e.s_cbranch_scc1(next);
    const Parts parts = emit_arrive(e, w, k.wave, k.options, k.row_buffer, v.arguments, m, next);
    e.remark("---- the last one to come: merge");
    emit_merge(e, w, k.options, k.row_buffer, parts, m, prefix);
    e.s_add_u32(w.scratch[10], w.tile[1], k.wave.row);
    emit_output(e, k, true);
    e.s_branch(next);
}

} // namespace zyfa::templates::attention
