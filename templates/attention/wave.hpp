// SPDX-License-Identifier: Apache-2.0
// What a wave is within its workgroup: which rows and head it owns, and what it has to do with a key block.
#pragma once

#include "templates/attention/work.hpp"

namespace zyfa::templates::attention {

struct WaveRegisters {
    isa::SReg index;             ///< 0..7
    isa::SReg row;               ///< first row of the wave within the tile
    isa::SReg head;              ///< 0, or 1 for waves 4-7 where a workgroup takes two heads
    isa::SReg dma_k, dma_v;      ///< LDS address of this wave's part of a K and a V block in slot 0
    isa::SReg slot_in, slot_out; ///< ring slot to fetch into, ring slot to read from
    isa::SReg live;   ///< 1: rows of the wave see keys of the block in its softmax phase
    isa::SReg masked; ///< 1: some of its rows do not see all keys of that block
    isa::SReg next_live, next_masked; ///< the same for the block after it
    isa::SReg mode; ///< what the next matrix phase does: mode_pv | mode_qk | mode_special
};
inline constexpr int mode_pv = 1, mode_qk = 2, mode_special = 4;

WaveRegisters allocate_wave(isa::SAllocator& s);

/// next_live, next_masked for block `next`, and the mode of the matrix phase between. scratch: 4 SGPRs.
void emit_classify(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                   const ForwardOptions& o, isa::SReg scratch);

/// base (2 SGPRs, holding a tensor's pointer) moves to the wave's first row in its batch entry and head;
/// records gets the bytes of its rows that exist (0: none). `descriptor` says row, head unit and batch entry.
/// Only rows of `row_bytes` each are reached. scratch: 5 SGPRs.
void emit_wave_rows(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                    const ForwardOptions& o, isa::SReg descriptor, isa::SReg base, isa::SReg records,
                    isa::SReg batch_stride, isa::SReg head_stride, isa::Source row_stride, unsigned row_bytes,
                    isa::SReg scratch);

} // namespace zyfa::templates::attention
