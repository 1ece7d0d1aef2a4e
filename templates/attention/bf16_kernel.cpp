// SPDX-License-Identifier: Apache-2.0
// How the blocks make a kernel.
//
// Eight waves, two per SIMD (waves s and s + 4). A wave alternates between a matrix phase and a softmax
// phase; every phase ends with a workgroup barrier, and waves 4-7 run one phase behind waves 0-3. So on each
// SIMD one wave's MFMAs run beside the other's vector work (ping-pong; paper Sections IV-A, IV-D,
// HipKittens).
//
// Blocks of all tiles of the workgroup form one sequence. Iteration e of a wave:
//   matrix phase   O += P V of block e;  S = Q K^T of block e + 1;  fetch of block e + 3 to LDS
//   softmax phase  softmax of block e + 1
// K and V of block e + 1 are read in the matrix phase of iteration e: K while PV runs, V while QK runs. The
// fetch of block f is waited for at the end of matrix phase f - 2, one barrier before anybody reads it; its
// ring slot was last read in matrix phase f - 4.
// A block that begins a tile finds the previous tile complete in the accumulator: the epilogue runs in its
// softmax phase, beside the other wave's MFMAs. The sequence starts with blocks that nobody computes, which
// fills the pipeline, and ends with a block that says so.
#include "templates/attention/bf16_kernel.hpp"

#include <algorithm>

#include "templates/attention/bf16_blocks.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/interleave.hpp"
#include "templates/schedule/waits.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

constexpr unsigned matrix_priority = 1;
/// V is read behind MFMAs number all - 16 .. all - 4 of a phase: fragment i goes where K fragment
/// all - 20 + i was.
constexpr unsigned v_read_slots = 16;

template <typename Block>
Stream stream_of(Block&& block) {
    Stream out;
    Emitter e(out);
    block(e);
    return out;
}

enum class Phase : std::uint8_t { usual, rescale, fresh };

/// The matrix phase: PV then QK, with the reads of the next operands, the fetch and the scalar work of the
/// next block in their shadow. QK's last MFMA is left to the head of the loop.
Stream matrix_phase(const Bf16Kernel& k, Phase phase) {
    const Bf16Geometry& g = k.geometry;
    const unsigned pv = g.pv_products(), all = pv + g.qk_products();
    const PvOrder order = phase == Phase::rescale ? PvOrder::columns_outer : PvOrder::keys_outer;
    Stream leading = stream_of([&](Emitter& e) {
        emit_pv(e, k, order, phase == Phase::fresh);
        emit_qk(e, k);
    });
    leading.items.pop_back();
    auto companion = [&](auto block, unsigned first, unsigned last) {
        return schedule::Companion{stream_of([&](Emitter& e) { block(e, k); }), first, last};
    };
    std::vector<schedule::Companion> companions{
        // One fragment behind each MFMA of PV, which has used the registers it goes to, and with a query-key
        // dimension of 192 behind QK's first.
        companion(
            [&](Emitter& e, const Bf16Kernel& kernel) { emit_read_k(e, kernel, order, 0, g.qk_products()); },
            0, g.qk_products() - 1),
        // The fetch before QK, so that Q of a new tile is older than it in vmcnt; beside a rescale,
        // behind its multiplications.
        phase == Phase::rescale ? companion(emit_fetch_block, 3 * G::pv_steps - 2, pv - 2)
                                : companion(emit_fetch_block, 1, pv - 2),
        // Done three MFMAs before the barrier, whose lgkmcnt(0) then costs nothing.
        companion(emit_read_v, all - v_read_slots, all - 4),
        companion(emit_next_block_work, pv - 1, all - 4),
        companion(emit_next_addresses, all - 3, all - 3),
    };
    if (phase == Phase::rescale)
        // Column tile t is multiplied well before its first MFMA, number 4 t.
        companions.insert(companions.begin(), companion(emit_rescale_rest, 0, 3 * G::pv_steps - 2));
    return schedule::interleave(leading, companions);
}

void emit_last_qk(Emitter& e, const Bf16Kernel& k) {
    const Stream qk = stream_of([&](Emitter& q) { emit_qk(q, k); });
    e.stream().items.push_back(qk.items.back());
}

/// Probabilities with scalar work in the shadow of the exponentials: a v_exp_f32 holds the vector pipe for 8
/// cycles, the wave may issue again after 4 (paper Section III-A).
Stream softmax_phase(const Bf16Kernel& k) {
    const Stream vector = stream_of([&](Emitter& e) { emit_probabilities(e, k); });
    return schedule::interleave(
        vector, {{stream_of([&](Emitter& e) { emit_cursor_work(e, k); }), 0, 30, Kind::trans}});
}

void emit_main(Emitter& e, const Bf16Kernel& k) {
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
    e.s_setprio(0);
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
    e.s_setprio(matrix_priority);
    e.s_barrier();

    e.remark("==== matrix phase: PV of the block, QK of the next one");
    e.stream().append(matrix_phase(k, Phase::usual));
    e.s_branch(".Lloop");
}

void emit_special_blocks(Emitter& e, const Bf16Kernel& k) {
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
    e.s_cbranch_scc1(".Lbegin_tile", "there is none");
    emit_epilogue(e, k, ".Lepilogue");
    e.s_bitcmp1_b32(w.now[0], flag_end);
    e.s_cbranch_scc1(".Lfinish");
    e.label(".Lbegin_tile");
    emit_begin_tile(e, k);

    e.label(".Lin_tile");
    e.s_and_b32(w.scratch[0], k.wave.state, state_dead);
    e.s_cbranch_scc1(".Ldead_block", "no row of the wave sees a key of the block");
    e.s_and_b32(w.scratch[0], k.wave.state, state_masked);
    e.s_cbranch_scc0(".Lmaximum");
    e.remark("---- mask");
    e.s_and_b32(k.first_key, w.now[0], -64);
    emit_mask(e, k);
    if (k.options.nan_exact && k.options.causal)
        emit_find_special(e, k); // without causal mask, V of unseen keys is beyond the tensor and reads as 0
    e.s_branch(".Lmaximum");

    e.label(".Lrescale");
    e.remark("---- lazy rescale");
    emit_rescale(e, k, ".Lprobabilities");
    e.s_branch(".Lprobabilities");

    e.label(".Ldead_block");
    emit_cursor_work(e, k);
    e.s_branch(".Lsoftmax_done");
}

void emit_other_matrix_phases(Emitter& e, const Bf16Kernel& k) {
    const WorkRegisters& w = k.work;
    const SReg bits = w.scratch[0];

    e.directive(".p2align 6");
    e.label(".Lother_matrix_phase");
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk | mode_rescale);
    e.s_cbranch_scc1(".Lrare_matrix_phase");
    e.s_setprio(matrix_priority);
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
    e.s_setprio(matrix_priority);
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
    emit_pv(e, k, PvOrder::keys_outer, false);
    e.label(".Lno_pv");
    e.s_and_b32(bits, k.wave.mode, mode_qk);
    e.s_cbranch_scc0(".Lno_qk");
    const Bf16Geometry& g = k.geometry;
    const unsigned at_once = std::min(g.fragments(), g.qk_products());
    emit_read_k(e, k, PvOrder::keys_outer, 0, at_once);
    e.stream().append(schedule::interleave(stream_of([&](Emitter& q) { emit_qk(q, k); }),
                                           {{stream_of([&](Emitter& r) {
                                                 emit_read_k(r, k, PvOrder::keys_outer, at_once,
                                                             g.qk_products() - at_once);
                                             }),
                                             G::spare_fragments - 1, G::spare_fragments},
                                            {stream_of([&](Emitter& r) { emit_read_v(r, k); }),
                                             g.qk_products() - v_read_slots, g.qk_products() - 4}}));
    e.label(".Lno_qk");
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

void emit_finish(Emitter& e, const Bf16Kernel& k) {
    e.label(".Lfinish");
    e.remark("---- all done: no transfer may be in flight when the workgroup's LDS is given away");
    e.s_waitcnt(0, 0);
    e.s_barrier();
    e.s_cmp("ge_u32", k.wave.index, 4);
    e.s_cbranch_scc1(".Lend");
    e.s_barrier("the phase that waves 4-7 are behind");
    e.label(".Lend");
    e.s_endpgm();
}

} // namespace

KernelFile make_bf16_kernel(const std::string& name, const Bf16Geometry& geometry,
                            const ForwardOptions& options, std::vector<std::string> heading) {
    SAllocator scalars(102);
    VAllocator vectors(256);
    Bf16Kernel k;
    k.geometry = geometry;
    k.options = options;
    k.work = allocate_work(scalars);
    k.wave = allocate_wave(scalars);
    k.row_buffer = scalars.allocate("sRows", 4, 4, "buffer descriptor of the wave's rows of Q, O or LSE");
    k.first_key = scalars.allocate("sFirstKey", 1, 1, "first key of the block in the softmax phase");
    k.wave.fresh = scalars.alias("sFresh", k.work.workgroup, "16: the accumulator is to be taken as zero");
    k.v = allocate_bf16(vectors, geometry);

    KernelFile file;
    file.name = name;
    file.heading = std::move(heading);
    Emitter e(file.code);
    emit_setup(e, k);
    emit_main(e, k);
    emit_special_blocks(e, k);
    emit_other_matrix_phases(e, k);
    emit_finish(e, k);
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);

    file.workgroup_size = 512;
    file.lds_bytes = geometry.lds_bytes();
    file.kernarg_bytes = sizeof(Kernarg);
    file.vgprs = vectors.peak();
    file.sgprs = scalars.peak();
    file.register_maps =
        "// Scalar registers\n" + register_map(scalars) + "\n// Vector registers\n" + register_map(vectors);
    for (const auto& [field, offset] :
         {std::pair{"q", offsetof(Kernarg, q)}, {"k", offsetof(Kernarg, k)}, {"v", offsetof(Kernarg, v)}})
        file.arguments.push_back({field, static_cast<std::uint32_t>(offset), 8, true});
    file.arguments.push_back({"shape", 24, 120, false});
    file.arguments.push_back({"lse", offsetof(Kernarg, lse), 8, true});
    file.arguments.push_back({"output_shape", 152, 40, false});
    file.arguments.push_back({"o", offsetof(Kernarg, o), 8, true});
    file.arguments.push_back({"reserved", 200, 24, false});
    file.arguments.push_back({"workspace", offsetof(Kernarg, workspace), 8, options.split_bits > 0});
    file.arguments.push_back({"workspace_shape", 232, 24, false});
    return file;
}

} // namespace zyfa::templates::attention
