// SPDX-License-Identifier: Apache-2.0
// How the stages of the eight-stage pipeline follow one another.
#include <functional>

#include "templates/attention/bf16_stages.hpp"
#include "templates/schedule/interleave.hpp"

namespace zyfa::templates::attention {

using namespace isa;

namespace {

Stream stream_of(const std::function<void(Emitter&)>& block) {
    Stream out;
    Emitter e(out);
    block(e);
    return out;
}

/// `leading`'s instructions with `companion`'s spread between them, its last one behind.
void emit_beside(Emitter& e, const std::function<void(Emitter&)>& leading,
                 const std::function<void(Emitter&)>& companion) {
    const Stream first = stream_of(leading);
    e.stream().append(
        schedule::interleave(first, {{stream_of(companion), 0, unsigned(first.items.size()) - 2}}));
}

void emit_end_memory(Emitter& e) {
    e.s_setprio(ForwardOptions{}.matrix_priority());
    e.s_barrier();
}

void emit_end_compute(Emitter& e) {
    e.s_setprio(0);
    e.s_barrier();
}

/// The end of stage 6: only what stage 2 of the same iteration fetched may be on its way.
void emit_await_fetch(Emitter& e, const Bf16StageKernel& k) {
    e.s_waitcnt(k.geometry.fetch_instructions(), -1, "what the iteration before this one fetched is in LDS");
}

/// The block's turn of all that not every block has; what does not fit beside another block's products.
void emit_block_start(Emitter& e, const Bf16StageKernel& k) {
    e.label(".Lblock");
    e.s_cmp("lg_u32", k.wave.state, 0);
    e.s_cbranch_scc1(".Lspecial_block", "masked, dead, or next to the start of a tile");
    e.label(Bf16Kernel::softmax_entry);
    emit_maximum(e, k);
    e.s_cbranch_vccnz(".Lrescale");
    e.label(".Lscale");
    emit_scale_scores(e, k);
}

void emit_usual_iteration(Emitter& e, const Bf16StageKernel& k) {
    e.label(".Lready");
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk);
    e.s_cbranch_scc1(".Lother_iteration");
    e.remark("==== stage 0: K of the next block, keys 32-63");
    emit_beside(
        e, [&](Emitter& x) { emit_read_k_half(x, k, 1); }, [&](Emitter& x) { emit_cursor_work(x, k); });
    e.label(".Lstage_1");
    emit_end_memory(e);
    e.remark("==== stage 1: QK beside exponentials");
    emit_beside(
        e, [&](Emitter& x) { emit_qk_half(x, k, 1); }, [&](Emitter& x) { emit_exponentials(x, k, 0); });
    emit_end_compute(e);
    e.remark("==== stage 2: K of the next block, keys 0-31; the fetch");
    emit_beside(
        e, [&](Emitter& x) { emit_read_k_half(x, k, 0); }, [&](Emitter& x) { emit_fetch_stage(x, k); });
    emit_end_memory(e);
    e.remark("==== stage 3: QK beside exponentials");
    emit_beside(
        e, [&](Emitter& x) { emit_qk_half(x, k, 0); }, [&](Emitter& x) { emit_exponentials(x, k, 1); });
    emit_end_compute(e);
    e.remark("==== stage 4: V of the block, keys 0-31");
    emit_beside(
        e, [&](Emitter& x) { emit_read_v_half(x, k, 0); },
        [&](Emitter& x) { emit_classify(x, k.work, k.wave, k.options, k.work.scratch.sub(4, 4)); });
    e.s_cmp("lg_u32", k.wave.state, 0);
    e.s_cbranch_scc1(".Lproducts_alone", "the next block's scores have to be seen to first");
    emit_end_memory(e);
    e.remark("==== stage 5: PV beside the next block's maximum");
    emit_beside(e, [&](Emitter& x) { emit_pv_half(x, k, 0); }, [&](Emitter& x) { emit_maximum(x, k); });
    emit_end_compute(e);
    e.remark("==== stage 6: V of the block, keys 32-63");
    emit_read_v_half(e, k, 1);
    e.s_cbranch_vccnz(".Lnew_maximum");
    e.label(".Lstage_7");
    emit_next_addresses(e, k);
    emit_await_fetch(e, k);
    emit_end_memory(e);
    e.remark("==== stage 7: PV beside scaling");
    emit_beside(e, [&](Emitter& x) { emit_pv_half(x, k, 1); }, [&](Emitter& x) { emit_scale_scores(x, k); });
    emit_end_compute(e);
    e.s_branch(".Lready");

    e.directive(".p2align 6");
    e.label(".Lnew_maximum");
    emit_take_maximum(e, k);
    e.s_or_b32(k.wave.mode, k.wave.mode, mode_rescale, "the accumulator is multiplied behind PV");
    e.s_branch(".Lstage_7");

    e.label(".Lproducts_alone");
    emit_end_memory(e);
    e.remark("==== stages 5 to 7 without the next block's softmax");
    emit_pv_half(e, k, 0);
    emit_end_compute(e);
    emit_read_v_half(e, k, 1);
    emit_next_addresses(e, k);
    emit_await_fetch(e, k);
    emit_end_memory(e);
    emit_pv_half(e, k, 1);
    emit_end_compute(e);
    e.s_branch(".Lblock");
}

/// `block` if the mode has `bit`.
void emit_if(Emitter& e, const Bf16StageKernel& k, int bit, const std::string& label,
             const std::function<void()>& block) {
    e.s_and_b32(k.work.scratch[0], k.wave.mode, bit);
    e.s_cbranch_scc0(label);
    block();
    e.label(label);
}

/// One product or none, or non-finite V in a masked block: the same stages, nothing beside anything.
void emit_rare_iteration(Emitter& e, const Bf16StageKernel& k) {
    const bool special = k.options.nan_exact && k.options.causal;
    e.label(".Lrare_iteration");
    e.remark("==== stages 0 to 7 of an iteration that has not all of them");
    for (const unsigned half : {1u, 0u}) {
        const std::string number = std::to_string(half);
        if (half == 0)
            emit_fetch_stage(e, k);
        emit_if(e, k, mode_qk, ".Lno_k_" + number, [&] { emit_read_k_half(e, k, half); });
        emit_end_memory(e);
        emit_if(e, k, mode_pv, ".Lno_exponentials_" + number, [&] { emit_exponentials(e, k, 1 - half); });
        emit_if(e, k, mode_qk, ".Lno_qk_" + number, [&] { emit_qk_half(e, k, half); });
        emit_end_compute(e);
    }
    const SReg bits = k.work.scratch[0];
    for (const unsigned half : {0u, 1u}) {
        const std::string number = std::to_string(half), no_v = ".Lno_v_" + number,
                          no_pv = ".Lno_pv_" + number;
        e.s_and_b32(bits, k.wave.mode, mode_pv | mode_special);
        e.s_cmp("lg_u32", bits, mode_pv, "PV with special values reads V for itself");
        e.s_cbranch_scc1(no_v);
        emit_read_v_half(e, k, half);
        e.label(no_v);
        if (half == 1)
            emit_await_fetch(e, k);
        emit_end_memory(e);
        if (special) {
            e.s_and_b32(bits, k.wave.mode, mode_special);
            e.s_cbranch_scc1(half == 0 ? ".Lspecial_pv" : no_pv, "both halves at once");
        }
        emit_if(e, k, mode_pv, no_pv, [&] { emit_pv_half(e, k, half); });
        if (half == 1) {
            emit_classify(e, k.work, k.wave, k.options, k.work.scratch.sub(4, 4));
            emit_next_addresses(e, k);
        }
        emit_end_compute(e);
    }
    e.s_branch(".Lblock");
    if (special) {
        e.label(".Lspecial_pv");
        emit_pv_special(e, k);
        e.s_branch(".Lno_pv_0");
    }
}

void emit_other_iterations(Emitter& e, const Bf16StageKernel& k) {
    const SReg bits = k.work.scratch[0];
    e.directive(".p2align 6");
    e.label(".Lother_iteration");
    e.s_cmp("eq_u32", k.wave.mode, mode_pv | mode_qk | mode_rescale);
    e.s_cbranch_scc0(".Lno_usual_rescale");
    e.remark("==== stage 0 with a rescale of the accumulator");
    emit_beside(
        e, [&](Emitter& x) { emit_rescale_accumulator(x, k); },
        [&](Emitter& x) {
            emit_read_k_half(x, k, 1);
            emit_cursor_work(x, k);
        });
    e.s_branch(".Lstage_1");

    e.label(".Lno_usual_rescale");
    emit_if(e, k, mode_rescale, ".Lrescaled", [&] { emit_rescale_accumulator(e, k); });
    emit_cursor_work(e, k);
    e.s_and_b32(bits, k.wave.mode, mode_cursor);
    e.s_cbranch_scc0(".Lcursor_ready");
    e.remark("---- the fetch cursor goes to its next tile");
    emit_next_tile(e, k.work, k.options, k.geometry.qk_row_bytes(), k.geometry.v_row_bytes(), ".Lcursor");
    e.label(".Lcursor_ready");
    e.s_and_b32(k.wave.mode, k.wave.mode, ~(mode_cursor | mode_rescale) & 63);
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk);
    e.s_cbranch_scc1(".Lrare_iteration");
    emit_read_k_half(e, k, 1);
    e.s_branch(".Lstage_1");
    emit_rare_iteration(e, k);
}

} // namespace

/// Behind a rescale in `.Lspecial_block` or `.Lblock`.
void emit_rescale(Emitter& e, const Bf16StageKernel& k) {
    emit_take_maximum(e, k);
    e.s_bitcmp1_b32(k.work.now[0], flag_first);
    e.s_cbranch_scc1(".Lscale", "the accumulator is still empty");
    emit_rescale_accumulator(e, k);
    e.s_branch(".Lscale");
}

void emit_stage_flow(Emitter& e, const Bf16StageKernel& k) {
    e.s_mov_b64(k.work.v_resource.sub(0, 2), 0, "the first V fetched is a block that is not there");
    e.s_mov_b32(k.work.v_resource[2], 0);
    e.s_cmp("lt_u32", k.wave.index, 4, "waves 4-7 run one stage behind");
    e.s_cbranch_scc1(".Lblock");
    e.s_barrier();
    e.directive(".p2align 6");
    emit_block_start(e, k);
    emit_usual_iteration(e, k);
    flow::emit_special_blocks(e, k);
    e.label(".Ldead_block");
    e.s_branch(".Lready");
    emit_other_iterations(e, k);
    flow::emit_finish(e, k);
}

} // namespace zyfa::templates::attention
