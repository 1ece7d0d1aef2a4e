// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_fp8_paper_order: one loop of FP8 phases in the paper's order (Section IV-C) on the cycle
// model.
//
// The paper's MFMA wave issues two row sums, QK of the next block, then PV of the current one, and between
// them takes the maximum of the next block's scores and decides on the rescale; its softmax wave computes the
// probabilities only. Our kernels order PV before QK. This loop has the instructions of ours (LDS reads,
// fetch, scalar work of the cursor) in the paper's places, on registers of their own; it has no masks, no
// transitions between tiles, and its results mean nothing. Prints rows of bench/fp8/timing_table.py's table.
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/keys.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/timing/report.hpp"
#include "templates/asm/kernel_file.hpp"
#include "templates/attention/forward_arguments.hpp"
#include "templates/attention/fp8_blocks.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/interleave.hpp"
#include "templates/schedule/waits.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;
using namespace zyfa::templates::isa;
using namespace zyfa::templates::attention;
namespace schedule = zyfa::templates::schedule;

constexpr unsigned phases = 100;

template <class Block>
Stream stream_of(const Block& block) {
    Stream out;
    Emitter e(out);
    block(e);
    return out;
}

/// The matrix phase: P lies in registers of its own, since QK overwrites the scores first.
Stream matrix_phase(const Fp8Kernel& k, VReg p) {
    const Fp8Registers& v = k.v;
    const VReg sums = v.t.sub(0, 4);
    const Stream leading = stream_of([&](Emitter& e) {
        for (unsigned half = 0; half < 2; ++half)
            e.mfma(mfma_16x16x128_fp4_fp8, sums, v.selector, p.sub(8 * half, 8), 0);
        for (unsigned n = 0; n < 8; ++n)
            e.mfma(mfma_32x32x64_fp8, v.scores(n / 2), v.fragment(n), v.q.sub(8 * (n % 2), 8),
                   n % 2 == 0 ? Source(0) : Source(v.scores(n / 2)));
        for (unsigned n = 0; n < 8; ++n)
            e.mfma_scale(mfma_scale_32x32x64_fp8, v.output(n % 4), v.fragment(n), p.sub(8 * (n / 4), 8),
                         v.output(n % 4), v.scales, 2, v.scales, n / 4);
    });
    std::vector<schedule::Companion> companions;
    auto add = [&](unsigned first, unsigned last, auto&& block) {
        companions.push_back({stream_of(block), first, last});
    };
    for (unsigned n = 0; n < 8; ++n) {
        add(2 + n, 2 + n, [&](Emitter& e) { emit_read_v(e, k, n); });
        add(10 + n, 10 + n, [&](Emitter& e) { emit_read_k(e, k, n); });
    }
    add(2, 7, [&](Emitter& e) { emit_fetch_block(e, k); });
    add(4, 4, [&](Emitter& e) {
        e.v_lshlrev_b32(v.t[4], 23, v.scales);
        e.v_fma_f32(v.sum, sums[0], v.t[4], v.sum);
        e.v_fma_f32(v.sum, sums[1], v.t[4], v.sum);
    });
    add(8, 11, [&](Emitter& e) { emit_next_block_work(e, k); });
    add(12, 16, [&](Emitter& e) {
        for (unsigned tile = 0; tile < Fp8Geometry::key_tiles; ++tile)
            emit_tile_maximum(e, k, tile);
        emit_block_maximum(e, k);
        e.v_sub_f32(v.t[5], v.t[4], v.maximum);
        e.v_mul_f32(v.t[5], k.work.score_scale, v.t[5]);
        e.v_cmp("nge_f32", vcc, Float{1e30f}, v.t[5]);
    });
    return schedule::interleave(leading, companions);
}

/// The softmax phase: what emit_probabilities does, to `p`.
Stream softmax_phase(const Fp8Kernel& k, VReg p) {
    const Fp8Registers& v = k.v;
    const bool lean = k.probability.lean;
    const Stream vector = stream_of([&](Emitter& e) {
        for (unsigned half = 0; half < 2; ++half) {
            const VReg o = v.t[2], code = v.t[3];
            e.v_sub_f32(o, v.maximum, v.t[half]);
            e.v_mul_f32(o, k.work.score_scale, o);
            e.v_floor_f32(o, o);
            e.v_max_f32(o, 0, o);
            e.v_min_f32(o, Float{120.0f}, o);
            e.v_sub_f32(code, Float{127.0f}, o);
            e.v_fma_f32(v.t[half], o, Float{4.0f}, v.t[5]);
            e.v_cvt_pk_u8_f32(v.scales, code, half, v.scales);
        }
        for (unsigned step = 0; step < 64 + 5; ++step) {
            if (step < 64)
                e.v_fma_f32(v.s[step], v.s[step], k.code_scale, v.t[step / 32]);
            if (lean && step >= 4 && step - 4 < 64)
                e.v_cvt_pk_u8_f32(p[(step - 4) / 4], v.s[step - 4], step % 4, p[(step - 4) / 4]);
            if (!lean && step >= 2 && step - 2 < 64)
                e.v_exp_f32(v.s[step - 2], v.s[step - 2]);
            if (!lean && step >= 5 && step % 2 == 0)
                e.v_cvt_pk_fp8_f32(p[(step - 5) / 4], v.s[step - 6], v.s[step - 5], (step - 5) % 4 == 3);
        }
    });
    const Stream scalar = stream_of([&](Emitter& e) { emit_cursor_work(e, k); });
    if (lean)
        return schedule::interleave(vector, {{scalar, 20, 80}});
    return schedule::interleave(vector, {{scalar, 0, 30, Kind::trans}});
}

KernelFile make_loop(bool lean) {
    SAllocator scalars(102);
    VAllocator vectors(256);
    Fp8Kernel k;
    k.geometry = fp8_d128;
    k.geometry.spare_fragments = 0;
    k.options.block_bits = 7;
    k.probability.lean = lean;
    k.work = allocate_work(scalars);
    k.wave = allocate_wave(scalars);
    k.row_buffer = scalars.allocate("sRows", 4, 4, "");
    k.first_key = scalars.allocate("sCount", 1, 1, "phases left");
    k.large = scalars.allocate("sLarge", 1, 1, "");
    k.code_scale = lean ? scalars.allocate("sCodeScale", 1, 1, "") : k.work.score_scale;
    k.wave.fresh = scalars.alias("sFresh", k.work.workgroup, "");
    k.v = allocate_fp8(vectors, k.geometry, true);
    const VReg p = k.v.start;

    KernelFile file;
    file.name = "zyfa_fp8_paper_order";
    Emitter e(file.code);
    emit_setup(e, k);
    const WorkRegisters& w = k.work;
    for (const auto& [resource, pointer] : {std::pair{w.k_resource, w.k}, std::pair{w.v_resource, w.v}}) {
        e.s_mov_b64(resource.sub(0, 2), pointer);
        e.s_mov_b32(resource[2], 128 * 128);
    }
    e.s_mov_b32(w.blocks_left, Literal{1000});
    for (const VReg& all : {k.v.q, k.v.s, k.v.o, k.v.fragments, p, k.v.t})
        for (unsigned r = 0; r < all.count; ++r)
            e.v_mov_b32(all[r], 0);
    e.v_mov_b32(k.v.maximum, 0);
    e.v_mov_b32(k.v.sum, 0);
    e.s_mov_b32(k.first_key, Literal{phases});
    e.s_cmp("lt_u32", k.wave.index, 4, "waves 4-7 run one phase behind");
    e.s_cbranch_scc1(".Lloop");
    e.s_barrier();
    e.directive(".p2align 6");
    e.label(".Lloop");
    e.stream().append(softmax_phase(k, p));
    e.s_setprio(1);
    e.s_barrier();
    e.stream().append(matrix_phase(k, p));
    emit_next_addresses(e, k);
    e.s_waitcnt(static_cast<int>(k.geometry.fetch_instructions()), 0);
    e.s_setprio(0);
    e.s_barrier();
    e.s_sub_u32(k.first_key, k.first_key, 1);
    e.s_cmp("lg_u32", k.first_key, 0);
    e.s_cbranch_scc1(".Lloop");
    e.s_waitcnt(0, 0);
    e.s_endpgm();
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);
    file.workgroup_size = 512;
    file.lds_bytes = k.geometry.lds_bytes();
    file.kernarg_bytes = sizeof(Kernarg);
    file.vgprs = vectors.peak();
    file.sgprs = scalars.peak();
    file.register_maps = register_map(scalars) + "\n" + register_map(vectors);
    declare_arguments(file, false);
    return file;
}

bool time_loop(bool lean, jit::Assembler& assembler) {
    const std::int64_t seq = (phases + 8) * 128;
    const Problem problem = Problem::contiguous(DType::e4m3, 1, 1, 1, seq, seq, 128, 128, Mask::none);
    const templates::Template& form = templates::template_for(problem);
    templates::LaunchPlan plan = form.plan(problem, form.default_schedule(problem), {});
    const KernelFile file = make_loop(lean);
    sim::Memory memory;
    sim::DeviceConfig config;
    config.threads = 1;
    sim::Engine engine(memory, config);
    const auto code =
        sim::CodeObject::load(memory, assembler.assemble(to_text(file), "gfx950", file.name).elf, 0);
    const std::uint64_t tensor =
        memory.allocate(static_cast<std::size_t>(seq) * 256, sim::AllocationKind::device, 0);
    for (const templates::KernargPatch& patch : plan.patches)
        if (patch.field != templates::KernargField::score_scale &&
            patch.field != templates::KernargField::output_scale)
            std::memcpy(plan.kernarg.data() + patch.offset, &tensor, sizeof tensor);
    sim::Launch launch;
    launch.code = code;
    launch.kernel = code->kernel(file.name);
    launch.grid = {1, 1, 1};
    launch.block = plan.block;
    launch.kernarg = plan.kernarg;
    launch.timed_workgroups = 1;
    const sim::LaunchResult result = engine.run(launch);
    if (result.fault) {
        std::fprintf(stderr, "%s\n", result.fault->text.c_str());
        return false;
    }
    const sim::timing::TimingReport::Steady steady = result.timing.at(0)->steady();
    std::printf("| the paper's order, d = 128, %s (a loop) | %.0f | %.1f%% | | %.1f%% | | | | |\n",
                lean ? "lean" : "exact", steady.phase_cycles, 100 * steady.matrix_busy,
                100 * steady.matrix_busy * 1024 / 1088);
    return true;
}

} // namespace

int main() {
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    if (!assembler) {
        std::fprintf(stderr, "no assembler for gfx950\n");
        return 1;
    }
    return time_loop(true, *assembler) && time_loop(false, *assembler) ? 0 : 1;
}
