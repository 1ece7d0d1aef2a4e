// SPDX-License-Identifier: Apache-2.0
// How the blocks of the BF16 kernels fill the phases of the common flow.
#include "templates/attention/bf16_kernel.hpp"

#include <algorithm>

#include "templates/attention/bf16_blocks.hpp"
#include "templates/attention/bf16_stages.hpp"
#include "templates/attention/forward_arguments.hpp"
#include "templates/attention/forward_flow.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/interleave.hpp"
#include "templates/schedule/waits.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

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

} // namespace

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
        companion(emit_next_block_work<Bf16Kernel>, pv - 1, all - 4),
        companion(emit_next_addresses<Bf16Kernel>, all - 3, all - 3),
    };
    if (phase == Phase::rescale)
        // Column tile t is multiplied well before its first MFMA, number 4 t.
        companions.insert(companions.begin(),
                          companion(emit_rescale_rest<Bf16Kernel>, 0, 3 * G::pv_steps - 2));
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

void emit_to_softmax(Emitter& e, const Bf16Kernel&) {
    e.s_branch(".Lmaximum");
}

void emit_rare_pv(Emitter& e, const Bf16Kernel& k) {
    emit_pv(e, k, PvOrder::keys_outer, false);
}

void emit_rare_qk(Emitter& e, const Bf16Kernel& k) {
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
}

KernelFile make_bf16_kernel(const std::string& name, const Bf16Geometry& geometry,
                            const ForwardOptions& options, Bf16Pipeline pipeline,
                            std::vector<std::string> heading) {
    SAllocator scalars(102);
    VAllocator vectors(256);
    Bf16StageKernel k;
    k.geometry = geometry;
    k.options = options;
    k.work = allocate_work(scalars);
    k.wave = allocate_wave(scalars);
    k.row_buffer = scalars.allocate("sRows", 4, 4, "buffer descriptor of the wave's rows of Q, O or LSE");
    k.first_key = scalars.allocate("sFirstKey", 1, 1, "first key of the block in the softmax phase");
    k.wave.fresh = scalars.alias("sFresh", k.work.workgroup, "16: the accumulator is to be taken as zero");
    k.v_behind =
        scalars.alias("sVBehind", k.row_buffer, "buffer descriptor of the V block before sVBuffer's");
    k.v = allocate_bf16(vectors, geometry, pipeline);

    KernelFile file;
    file.name = name;
    file.heading = std::move(heading);
    Emitter e(file.code);
    emit_setup(e, static_cast<const Bf16Kernel&>(k));
    if (pipeline == Bf16Pipeline::eight_stage)
        emit_stage_flow(e, k);
    else
        flow::emit_flow(e, static_cast<const Bf16Kernel&>(k));
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);

    file.workgroup_size = 512;
    file.lds_bytes = geometry.lds_bytes();
    file.kernarg_bytes = sizeof(Kernarg);
    file.vgprs = vectors.peak();
    file.sgprs = scalars.peak();
    file.register_maps =
        "// Scalar registers\n" + register_map(scalars) + "\n// Vector registers\n" + register_map(vectors);
    declare_arguments(file, options.split_bits > 0);
    return file;
}

} // namespace zyfa::templates::attention
