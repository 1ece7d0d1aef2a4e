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

template <typename Block>
Stream stream_of(Block&& block) {
    Stream out;
    Emitter e(out);
    block(e);
    return out;
}

/// The hot matrix phase: PV then QK, with the reads of the next operands and the fetch in their shadow.
Stream matrix_phase(const Bf16Kernel& k) {
    constexpr unsigned half = 16; // MFMAs of PV, and of QK
    const Stream products = stream_of([&](Emitter& e) {
        emit_pv(e, k);
        emit_qk(e, k);
    });
    auto companion = [&](void (*block)(Emitter&, const Bf16Kernel&), unsigned first, unsigned last) {
        return schedule::Companion{stream_of([&](Emitter& e) { block(e, k); }), first, last};
    };
    return schedule::interleave(
        products, {
                      // K fragment i replaces V fragment i once PV has used it.
                      companion(emit_read_k, 0, half - 1),
                      // Before QK, so that Q of a new tile is older than the fetch in vmcnt.
                      companion(emit_fetch_block, 1, half - 2),
                      // V fragment i replaces K fragment i; done three MFMAs before the barrier, whose
                      // lgkmcnt(0) then costs nothing.
                      companion(emit_read_v, half, 2 * half - 4),
                      companion(emit_next_block_work, half - 1, 2 * half - 4),
                      companion(emit_next_addresses, 2 * half - 3, 2 * half - 3),
                  });
}

/// Probabilities with scalar work in the shadow of the exponentials: a v_exp_f32 holds the vector pipe for 8
/// cycles, the wave may issue again after 4 (paper Section III-A).
Stream softmax_phase(const Bf16Kernel& k) {
    const Stream vector = stream_of([&](Emitter& e) { emit_probabilities(e, k); });
    return schedule::interleave(
        vector, {{stream_of([&](Emitter& e) { emit_cursor_work(e, k); }), 0, 31, Kind::trans}});
}

void emit_main(Emitter& e, const Bf16Kernel& k) {
    const WorkRegisters& w = k.work;

    e.s_cmp("lt_u32", k.wave.index, 4, "waves 4-7 run one phase behind");
    e.s_cbranch_scc1(".Lsoftmax_phase");
    e.s_barrier();

    e.directive(".p2align 6");
    e.label(".Lsoftmax_phase");
    e.remark("==== softmax phase of block sNow");
    e.s_bitcmp1_b32(w.next[0], flag_first);
    e.s_cbranch_scc1(".Lload_q", "the next block begins a tile: its Q is needed in the next matrix phase");
    e.label(".Lq_loaded");
    e.s_bitcmp1_b32(w.now[0], flag_first);
    e.s_cbranch_scc1(".Lbegin_tile", "this block begins a tile: store the previous one");
    e.label(".Ltile_begun");
    e.s_and_b32(k.first_key, w.now[0], -64);
    for (const auto& [to, from] : {std::pair{w.now, w.next}, std::pair{w.next, w.after}}) {
        e.s_mov_b64(to.sub(0, 2), from.sub(0, 2));
        e.s_mov_b64(to.sub(2, 2), from.sub(2, 2));
    }
    e.s_sub_u32(w.blocks_left, w.blocks_left, 1);
    e.s_cbranch_scc1(".Lnext_tile", "the fetch cursor leaves its tile");
    e.label(".Lcursor_ready");
    e.s_cmp("eq_u32", k.wave.live, 0);
    e.s_cbranch_scc1(".Ldead_block", "no row of the wave sees a key of the block");
    e.s_cmp("lg_u32", k.wave.masked, 0);
    e.s_cbranch_scc1(".Lmasked_block");
    e.label(".Lmaximum");
    emit_maximum(e, k);
    e.s_cbranch_vccnz(".Lrescale");
    e.label(".Lprobabilities");
    e.stream().append(softmax_phase(k));
    e.label(".Lsoftmax_done");
    e.s_setprio(matrix_priority);
    e.s_barrier();

    e.remark("==== matrix phase: PV of the block, QK of the next one");
    e.s_cmp("lg_u32", k.wave.mode, mode_pv | mode_qk);
    e.s_cbranch_scc1(".Lpartial_matrix_phase");
    e.stream().append(matrix_phase(k));
    e.label(".Lmatrix_done");
    e.s_waitcnt(fetch_instructions, 0, "the block fetched one phase ago is in LDS, V fragments are here");
    e.s_setprio(0);
    e.s_barrier();
    e.s_branch(".Lsoftmax_phase");
}

void emit_seldom(Emitter& e, const Bf16Kernel& k) {
    const WorkRegisters& w = k.work;

    e.directive(".p2align 6");
    e.label(".Lload_q");
    e.remark("---- Q of the next tile");
    e.s_bitcmp1_b32(w.next[0], flag_end);
    e.s_cbranch_scc1(".Lq_loaded");
    emit_load_q(e, k);
    e.s_branch(".Lq_loaded");

    e.label(".Lbegin_tile");
    e.remark("---- end of the previous tile");
    e.s_cmp("eq_u32", w.tile[0], 0);
    e.s_cbranch_scc1(".Lfresh_tile", "there is none");
    emit_epilogue(e, k, ".Lepilogue");
    e.s_bitcmp1_b32(w.now[0], flag_end);
    e.s_cbranch_scc1(".Lfinish");
    emit_clear_accumulator(e, k);
    e.label(".Lfresh_tile");
    e.s_mov_b32(k.fresh, 1);
    e.s_mov_b64(w.tile.sub(0, 2), w.now.sub(0, 2));
    e.s_mov_b64(w.tile.sub(2, 2), w.now.sub(2, 2));
    e.s_mov_b32(w.tile[0], 1);
    e.s_branch(".Ltile_begun");

    e.label(".Lnext_tile");
    e.remark("---- next tile of the fetch cursor");
    emit_next_tile(e, w, k.options, ".Lcursor");
    e.s_branch(".Lcursor_ready");

    e.label(".Lmasked_block");
    e.remark("---- mask");
    emit_mask(e, k);
    if (k.options.nan_exact)
        emit_find_special(e, k);
    e.s_branch(".Lmaximum");

    e.label(".Lrescale");
    e.remark("---- lazy rescale");
    emit_rescale(e, k, ".Lprobabilities");
    e.s_branch(".Lprobabilities");

    e.label(".Ldead_block");
    emit_cursor_work(e, k);
    e.s_branch(".Lsoftmax_done");

    e.label(".Lpartial_matrix_phase");
    e.remark("---- matrix phase with one product or none, or with non-finite V in a masked block");
    emit_fetch_block(e, k);
    e.s_bitcmp1_b32(k.wave.mode, 0);
    e.s_cbranch_scc0(".Lno_pv");
    if (k.options.nan_exact) {
        e.s_bitcmp1_b32(k.wave.mode, 2);
        e.s_cbranch_scc1(".Lspecial_pv");
    }
    emit_pv(e, k);
    e.label(".Lno_pv");
    e.s_bitcmp1_b32(k.wave.mode, 1);
    e.s_cbranch_scc0(".Lno_qk");
    emit_read_k(e, k);
    e.stream().append(schedule::interleave(stream_of([&](Emitter& q) { emit_qk(q, k); }),
                                           {{stream_of([&](Emitter& r) { emit_read_v(r, k); }), 0, 12}}));
    e.label(".Lno_qk");
    emit_next_block_work(e, k);
    emit_next_addresses(e, k);
    e.s_branch(".Lmatrix_done");

    if (k.options.nan_exact) {
        e.label(".Lspecial_pv");
        emit_pv_special(e, k);
        e.s_branch(".Lno_pv");
    }

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

KernelFile make_bf16_kernel(const std::string& name, const ForwardOptions& options,
                            std::vector<std::string> heading) {
    SAllocator scalars(102);
    VAllocator vectors(256);
    Bf16Kernel k;
    k.options = options;
    k.work = allocate_work(scalars);
    k.wave = allocate_wave(scalars);
    k.row_buffer = scalars.allocate("sRows", 4, 4, "buffer descriptor of the wave's rows of Q, O or LSE");
    k.first_key = scalars.allocate("sFirstKey", 1, 1, "first key of the block in the softmax phase");
    k.fresh = scalars.alias("sFresh", k.work.workgroup, "1: the accumulator is zero");
    k.v = allocate_bf16(vectors);

    KernelFile file;
    file.name = name;
    file.heading = std::move(heading);
    Emitter e(file.code);
    emit_setup(e, k);
    emit_main(e, k);
    emit_seldom(e, k);
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);

    file.workgroup_size = 512;
    file.lds_bytes = G::lds_bytes;
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
    file.arguments.push_back({"reserved", 200, 56, false});
    return file;
}

} // namespace zyfa::templates::attention
