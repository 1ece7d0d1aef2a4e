// SPDX-License-Identifier: Apache-2.0
// Merge of the parts that a split over keys leaves (split.hpp), in the launch that computes them: every wave
// releases its parts at device scope and counts them; the last one to come for 32 rows of a head reads all
// parts of these rows, in order, and its own like the others, so that the bits do not depend on who was last.
// Nobody waits for anybody: whatever the order of workgroups, and however few are resident at once, the last
// one does the merge.
//
// The counters begin at 0 and are 0 again when the launch has ended: the increment that finds the last number
// wraps (buffer_atomic_inc). What makes one XCD's stores visible to another's loads is LLVM's memory model
// for gfx942 and gfx950 (AMDGPUUsage, atomicrmw acq_rel, agent scope): buffer_wbl2 sc1, s_waitcnt vmcnt(0),
// the atomic, s_waitcnt vmcnt(0), buffer_inv sc1.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "templates/attention/split.hpp"

namespace zyfa::templates::attention {

struct MergeRegisters {
    std::vector<isa::VReg> rows;     ///< 4 for each of the parts
    std::array<isa::VReg, 2> values; ///< 32 each: a part's columns, while the next one's are under way
    isa::VReg result;                ///< O^T, as a part's accumulator: 64
    isa::VReg maximum, sum;          ///< of all parts: results
    isa::VReg factor;
    std::array<isa::VReg, 4> scratch;
    isa::VReg lane_row, lane_key;
    /// What differences of maxima are to be multiplied by to be in base-2 units.
    std::optional<isa::SReg> maximum_scale;
};

/// Waits for the write-back that the wave has begun, and counts its part of the tile in w.tile as released;
/// branches to `not_last` unless it was the last. Then the parts are `parts` from row_buffer's base on,
/// `stride` bytes apart.
struct Parts {
    isa::SReg count, stride;
};
Parts emit_arrive(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                  isa::SReg row_buffer, isa::VReg arguments, const MergeRegisters& m,
                  const std::string& not_last);

/// Result, maximum and sum of all parts. Uses the labels <prefix>_*.
void emit_merge(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o, isa::SReg row_buffer,
                const Parts& parts, const MergeRegisters& m, const std::string& prefix);

} // namespace zyfa::templates::attention
