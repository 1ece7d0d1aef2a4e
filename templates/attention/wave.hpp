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
    isa::SReg live, next_live; ///< 1: rows of the wave see keys of the block in softmax, of the one after it
    isa::SReg state, next_state; ///< state_* bits of the same two blocks
    isa::SReg mode;              ///< mode_* bits: what the next matrix phase does
    isa::SReg fresh;             ///< mode_fresh while the accumulator is to be taken as zero, else 0
};

/// What a softmax phase finds that not every block has.
inline constexpr int state_masked = 1; ///< some rows of the wave do not see all keys of the block
inline constexpr int state_dead = 2;   ///< no row of the wave sees any of them
inline constexpr int state_tile = 4;   ///< a tile begins here or with the next block

inline constexpr int mode_pv = 1;      ///< PV of the block
inline constexpr int mode_qk = 2;      ///< QK of the next one
inline constexpr int mode_special = 4; ///< V of a masked block holds Inf or NaN
inline constexpr int mode_rescale = 8; ///< columns 32.. of the accumulator are still to be multiplied
inline constexpr int mode_fresh = 16;  ///< the accumulator is to be taken as zero
inline constexpr int mode_cursor = 32; ///< the fetch cursor leaves its tile

WaveRegisters allocate_wave(isa::SAllocator& s);

/// next_live and next_state of block `next`; mode, but for what its softmax phase finds. scratch: 4 SGPRs.
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
