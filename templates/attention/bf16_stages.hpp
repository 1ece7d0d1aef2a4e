// SPDX-License-Identifier: Apache-2.0
// The BF16 forward kernel as a pipeline of eight stages per key block (paper Section IV-D), an alternative to
// the two phases of forward_flow.hpp.
//
// Memory stages read half of an operand into registers, compute stages issue the matching MFMAs beside the
// softmax of another block; a workgroup barrier ends each stage. Waves 4-7 run one stage behind waves 0-3, so
// that on each SIMD the MFMAs of one wave overlap the other's LDS reads. Iteration e of a wave:
//   stage 0  read K of block e + 1, keys 32-63      1  QK of these     beside exponentials of block e, keys
//   0-31 stage 2  read K, keys 0-31; fetch               3  QK of these     beside exponentials of block e,
//   keys 32-63 stage 4  read V of block e, keys 0-31           5  PV of these     beside the maximum of block
//   e + 1 stage 6  read V, keys 32-63                     7  PV of these     beside scaling block e + 1
// What not every block has comes before stage 0, as do the maximum and the scaling of such a block: the end
// and begin of a tile, the mask, a rescale.
//
// Stage 2 fetches K of block e + 3 and V of block e + 2, since V of block e is read one iteration later than
// K of it. They are waited for at the end of stage 6 of iteration e + 1, one barrier before waves 0-3 read
// that K; the ring slots were last read in iteration e - 1. Every row's bits are those of the two-phase
// kernel: the same operations on the same values in the same order.
#pragma once

#include "templates/attention/bf16_blocks.hpp"

namespace zyfa::templates::attention {

struct Bf16StageKernel : Bf16Kernel {
    /// Buffer descriptor of the V block to fetch, one block behind K's. Where row_buffer is: that is used
    /// before stage 0 only.
    isa::SReg v_behind;
};

/// Everything behind the common set-up.
void emit_stage_flow(isa::Emitter& e, const Bf16StageKernel& k);

// Memory stages; `half`: 0 for keys 0-31, 1 for keys 32-63

void emit_read_k_half(isa::Emitter& e, const Bf16StageKernel& k, unsigned half);
void emit_read_v_half(isa::Emitter& e, const Bf16StageKernel& k, unsigned half);
/// K of the cursor's block, V of the one before it.
void emit_fetch_stage(isa::Emitter& e, const Bf16StageKernel& k);
/// Keeps the cursor's V descriptor, moves the cursor on.
void emit_cursor_work(isa::Emitter& e, const Bf16StageKernel& k);
/// LDS addresses of the next iteration. Scratch: 4 and 5.
void emit_next_addresses(isa::Emitter& e, const Bf16StageKernel& k);

// Compute stages

void emit_qk_half(isa::Emitter& e, const Bf16StageKernel& k, unsigned half);
void emit_pv_half(isa::Emitter& e, const Bf16StageKernel& k, unsigned half);
/// Probabilities of 32 keys, their sum, packing to BF16.
void emit_exponentials(isa::Emitter& e, const Bf16StageKernel& k, unsigned half);
/// Scores in base-2 units less the maximum.
void emit_scale_scores(isa::Emitter& e, const Bf16StageKernel& k);

// What not every block has

/// Takes the new maximum where VCC says so; what the accumulator is to be multiplied by is left in `factor`.
void emit_take_maximum(isa::Emitter& e, const Bf16StageKernel& k);
void emit_rescale_accumulator(isa::Emitter& e, const Bf16StageKernel& k);
void emit_begin_tile(isa::Emitter& e, const Bf16StageKernel& k); ///< with an accumulator of zeros
void emit_find_special(isa::Emitter& e, const Bf16StageKernel& k);
void emit_pv_special(isa::Emitter& e, const Bf16StageKernel& k);
void emit_rescale(isa::Emitter& e, const Bf16StageKernel& k);

} // namespace zyfa::templates::attention
