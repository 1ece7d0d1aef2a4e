// SPDX-License-Identifier: Apache-2.0
// The flow that all forward kernels share: how the blocks of a kernel follow one another.
//
// Eight waves, two per SIMD (waves s and s + 4). A wave alternates between a matrix phase and a softmax
// phase; every phase ends with a workgroup barrier, and waves 4-7 run one phase behind waves 0-3. So on each
// SIMD one wave's MFMAs run beside the other's vector work (ping-pong; paper Sections IV-A, IV-C, IV-D,
// HipKittens).
//
// Blocks of all tiles of the workgroup form one sequence. Iteration e of a wave:
//   matrix phase   O += P V of block e;  S = Q K^T of block e + 1;  fetch of block e + 3 to LDS
//   softmax phase  softmax of block e + 1
// K and V of block e + 1 are read in the matrix phase of iteration e: K while PV runs, V while QK runs. The
// fetch of block f is waited for at the end of matrix phase f - 2, one barrier before anybody reads it; its
// ring slot was last read in matrix phase f - 4.
// A block that begins a tile finds the previous tile complete in the accumulator: the epilogue runs in its
// softmax phase, beside the other wave's MFMAs, or (Epilogue::idle_matrix) in the matrix phase before, if
// that has no PV. The sequence starts with blocks that nobody computes, which
// fills the pipeline, and ends with a block that says so.
//
// A Kernel has geometry, options, work, wave, first_key, and these functions beside it, found by the type of
// their argument:
//   matrix_phase(k, Phase), emit_last_qk         the products with all that runs in their shadow
//   softmax_phase(k), emit_maximum, emit_rescale the softmax of a block; emit_rescale ends at a label
//   emit_mask, emit_find_special, emit_to_softmax
//                                                a block that is masked; then on to its softmax
//   emit_rare_pv, emit_rare_qk, emit_pv_special  the products of a phase that has not all of them
//   emit_fetch_block, emit_load_q                memory
//   emit_rescale_rest, emit_clear_accumulator, emit_begin_tile, emit_epilogue, emit_merge_parts
//                                                the accumulator
//   emit_cursor_work, emit_next_block_work, emit_next_addresses
//                                                scalar work of the next blocks
#pragma once

#include <cstdint>
#include <string>

#include "templates/asm/emitter.hpp"
#include "templates/attention/forward_steps.hpp"
#include "templates/attention/options.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

/// What the accumulator needs before a matrix phase's products.
enum class Phase : std::uint8_t { usual, rescale, fresh };

namespace flow {

using namespace isa;

template <class Kernel>
void emit_main(Emitter& e, const Kernel& k) {
    e.s_cmp("lt_u32", k.wave.index, 4, "waves 4-7 run one phase behind");
    e.s_cbranch_scc1(".Lsoftmax_phase");
    e.s_barrier();
    e.s_branch(".Lsoftmax_phase");

    e.directive(".p2align 6");
    e.label(".Lloop");
    emit_last_qk(e, k);
    e.label(".Lmatrix_done");
    e.s_waitcnt(k.geometry.fetch_instructions(), 0,
                "the block fetched one phase ago is in LDS, V fragments are here");
    e.s_setprio(k.options.softmax_priority());
    e.s_barrier();

    e.label(".Lsoftmax_phase");
    e.remark("==== softmax phase");
    e.s_cmp("lg_u32", k.wave.state, 0);
    e.s_cbranch_scc1(".Lspecial_block", "masked, dead, or next to the start of a tile");
    e.label(".Lmaximum");
    emit_maximum(e, k);
    e.s_cbranch_vccnz(".Lrescale");
    e.label(".Lprobabilities");
    e.stream().append(softmax_phase(k));
    e.label(".Lsoftmax_done");
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk);
    e.s_cbranch_scc1(".Lother_matrix_phase");
    e.s_setprio(k.options.matrix_priority());
    e.s_barrier();

    e.remark("==== matrix phase: PV of the block, QK of the next one");
    e.stream().append(matrix_phase(k, Phase::usual));
    e.s_branch(".Lloop");
}

template <class Kernel>
void emit_special_blocks(Emitter& e, const Kernel& k) {
    const WorkRegisters& w = k.work;

    e.directive(".p2align 6");
    e.label(".Lspecial_block");
    e.s_and_b32(w.scratch[0], k.wave.state, state_tile);
    e.s_cbranch_scc0(".Lin_tile");
    e.s_and_b32(w.scratch[0], w.next[0], (1 << flag_first) | (1 << flag_end));
    e.s_cmp("lg_u32", w.scratch[0], 1 << flag_first);
    e.s_cbranch_scc1(".Lq_loaded");
    e.remark("---- the next block begins a tile, whose Q is needed in the next matrix phase");
    emit_load_q(e, k);
    e.label(".Lq_loaded");
    e.s_bitcmp1_b32(w.now[0], flag_first);
    e.s_cbranch_scc0(".Lin_tile");
    e.remark("---- this block begins a tile: the previous one is complete in the accumulator");
    e.s_cmp("eq_u32", w.tile[0], 0);
    e.s_cbranch_scc1(".Lepilogue_done", "there is none, or it is stored");
    if (k.options.split_bits > 0) {
        e.s_bitcmp1_b32(w.now[0], flag_end);
        e.s_cbranch_scc1(".Lfinish", "the last tile's is behind the last barrier");
    }
    emit_epilogue(e, k, ".Lepilogue");
    e.label(".Lepilogue_done");
    e.s_bitcmp1_b32(w.now[0], flag_end);
    e.s_cbranch_scc1(".Lfinish");
    e.label(".Lbegin_tile");
    emit_begin_tile(e, k);

    e.label(".Lin_tile");
    e.s_and_b32(w.scratch[0], k.wave.state, state_dead);
    e.s_cbranch_scc1(".Ldead_block", "no row of the wave sees a key of the block");
    e.s_and_b32(w.scratch[0], k.wave.state, state_masked);
    e.s_cbranch_scc0(Kernel::softmax_entry);
    e.remark("---- mask");
    e.s_and_b32(k.first_key, w.now[0], -k.options.block_keys());
    emit_mask(e, k);
    if (k.options.nan_exact && k.options.causal)
        emit_find_special(e, k); // without causal mask, V of unseen keys is beyond the tensor and reads as 0
    emit_to_softmax(e, k);

    e.label(".Lrescale");
    e.remark("---- lazy rescale");
    emit_rescale(e, k);
}

template <class Kernel>
void emit_dead_block(Emitter& e, const Kernel& k) {
    e.label(".Ldead_block");
    emit_cursor_work(e, k);
    e.s_branch(".Lsoftmax_done");
}

/// In a matrix phase without PV: the tile in the accumulator is complete where the next block begins another.
/// The wave has nothing to do but QK, whose products run meanwhile.
template <class Kernel>
void emit_idle_epilogue(Emitter& e, const Kernel& k) {
    const WorkRegisters& w = k.work;
    const SReg bits = w.scratch[0];
    e.s_and_b32(bits, k.wave.mode, mode_pv);
    e.s_cbranch_scc1(".Lno_idle_epilogue");
    e.s_bitcmp1_b32(w.now[0], flag_first);
    e.s_cbranch_scc0(".Lno_idle_epilogue");
    e.s_cmp("eq_u32", w.tile[0], 0);
    e.s_cbranch_scc1(".Lno_idle_epilogue");
    e.s_setprio(k.options.softmax_priority());
    emit_epilogue(e, k, ".Lidle_epilogue");
    e.s_mov_b32(w.tile[0], 0, "stored");
    e.label(".Lno_idle_epilogue");
}

template <class Kernel>
void emit_other_matrix_phases(Emitter& e, const Kernel& k) {
    const WorkRegisters& w = k.work;
    const SReg bits = w.scratch[0];

    e.directive(".p2align 6");
    e.label(".Lother_matrix_phase");
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk | mode_rescale);
    e.s_cbranch_scc1(".Lrare_matrix_phase");
    e.s_setprio(k.options.matrix_priority());
    e.s_barrier();
    e.remark("==== matrix phase that multiplies the rest of the accumulator before its products");
    e.stream().append(matrix_phase(k, Phase::rescale));
    e.s_branch(".Lloop");

    e.directive(".p2align 6");
    e.label(".Lrare_matrix_phase");
    e.s_and_b32(bits, k.wave.mode, mode_cursor);
    e.s_cbranch_scc0(".Lcursor_ready");
    e.remark("---- the fetch cursor goes to its next tile");
    emit_next_tile(e, w, k.options, k.geometry.qk_row_bytes(), k.geometry.v_row_bytes(), ".Lcursor");
    e.s_and_b32(k.wave.mode, k.wave.mode, ~mode_cursor & 63);
    e.s_branch(".Lsoftmax_done");
    e.label(".Lcursor_ready");
    e.s_setprio(k.options.matrix_priority());
    e.s_cmp("eq_u32", k.wave.mode, mode_pv | mode_qk | mode_fresh);
    e.s_cbranch_scc1(".Lfresh_matrix_phase");
    e.s_barrier();

    e.remark("==== matrix phase with one product or none, or with non-finite V in a masked block");
    emit_fetch_block(e, k);
    e.s_and_b32(bits, k.wave.mode, mode_pv);
    e.s_cbranch_scc0(".Lno_pv");
    e.s_and_b32(bits, k.wave.mode, mode_fresh);
    e.s_cbranch_scc0(".Lnot_fresh");
    emit_clear_accumulator(e, k);
    e.s_mov_b32(k.wave.fresh, 0);
    e.label(".Lnot_fresh");
    e.s_and_b32(bits, k.wave.mode, mode_rescale);
    e.s_cbranch_scc0(".Lrescaled");
    emit_rescale_rest(e, k);
    e.label(".Lrescaled");
    if (k.options.nan_exact && k.options.causal) {
        e.s_and_b32(bits, k.wave.mode, mode_special);
        e.s_cbranch_scc1(".Lspecial_pv");
    }
    emit_rare_pv(e, k);
    e.label(".Lno_pv");
    e.s_and_b32(bits, k.wave.mode, mode_qk);
    e.s_cbranch_scc0(".Lno_qk");
    emit_rare_qk(e, k);
    e.label(".Lno_qk");
    if (k.options.epilogue == Epilogue::idle_matrix)
        emit_idle_epilogue(e, k);
    emit_next_block_work(e, k);
    emit_next_addresses(e, k);
    e.s_branch(".Lmatrix_done");

    if (k.options.nan_exact && k.options.causal) {
        e.label(".Lspecial_pv");
        emit_pv_special(e, k);
        e.s_branch(".Lno_pv");
    }

    e.directive(".p2align 6");
    e.label(".Lfresh_matrix_phase");
    e.remark("==== matrix phase with the first product of a tile");
    e.s_mov_b32(k.wave.fresh, 0);
    e.s_barrier();
    e.stream().append(matrix_phase(k, Phase::fresh));
    e.s_branch(".Lloop");
}

template <class Kernel>
void emit_finish(Emitter& e, const Kernel& k) {
    e.label(".Lfinish");
    e.remark("---- all done: no transfer may be in flight when the workgroup's LDS is given away");
    e.s_waitcnt(0, 0);
    if (k.options.split_bits > 0) {
        e.s_cmp("ge_u32", k.wave.index, 4);
        e.s_cbranch_scc1(".Lcomputed");
        e.s_barrier("the last matrix phase of waves 4-7");
        e.label(".Lcomputed");
        e.remark("---- the last tile's epilogue, of all waves at once");
        e.s_cmp("eq_u32", k.work.tile[0], 0);
        e.s_cbranch_scc1(".Lstored", "there is none, or it is stored");
        emit_epilogue(e, k, ".Llast_epilogue");
        e.label(".Lstored");
        emit_merge_parts(e, k, ".Lmerge", ".Lend");
    } else {
        e.s_barrier();
        e.s_cmp("ge_u32", k.wave.index, 4);
        e.s_cbranch_scc1(".Lend");
        e.s_barrier("the phase that waves 4-7 are behind");
    }
    e.label(".Lend");
    e.s_endpgm();
}

/// Everything behind the set-up.
template <class Kernel>
void emit_flow(Emitter& e, const Kernel& k) {
    emit_main(e, k);
    emit_special_blocks(e, k);
    emit_dead_block(e, k);
    emit_other_matrix_phases(e, k);
    emit_finish(e, k);
}

} // namespace flow

} // namespace zyfa::templates::attention
