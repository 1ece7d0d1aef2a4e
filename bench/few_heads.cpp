// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_few_heads [heads] [keys]: what a split over keys saves where few heads leave most of the
// chip idle, on the simulator's timing model.
//
// Both kernels of a split are launched whole, on Gaussian data, with many of their workgroups on the cycle
// model. The forward kernel's items have a compute unit each: the longest one counts. The workspace is
// charged apart, as the compute-unit model knows no bandwidth beyond L2: every byte that the forward kernel
// has written is moved twice. Nothing here is measured on a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/drawn_launch.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/timing/report.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

constexpr double launch_cycles = 12000; ///< 5 us at 2.4 GHz, as the simulator's events have it
/// Whole chip, per cycle of 2.4 GHz: Infinity Cache reads 17.2 TB/s at its peak (CDNA3 white paper), HBM 6.2
/// measured (paper Section II). The workspace fits in the former; this lies between them.
constexpr double bytes_per_cycle = 4000;

struct Times {
    double forward = 0, merge = 0, written = 0;
    double plain() const { return forward + launch_cycles + (merge > 0 ? merge + launch_cycles : 0); }
    double charged() const {
        const double traffic = written / bytes_per_cycle;
        return plain() + traffic + std::max(0.0, traffic - merge);
    }
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

Times measure(const Problem& p, std::int64_t parts, jit::Assembler& assembler) {
    const templates::Template& form = templates::template_for(p);
    Schedule schedule = form.default_schedule(p);
    schedule.parameters["key_parts"] = parts;
    const templates::Kernel kernel = form.instantiate(classify(p), schedule);
    templates::LaunchPlan plan = form.plan(p, schedule, {});

    sim::Memory memory;
    sim::Engine engine(memory, {});
    const auto code =
        sim::CodeObject::load(memory, assembler.assemble(kernel.assembly, kernel.target, kernel.name).elf, 0);
    const std::int64_t rows = p.batch * p.heads_q * p.seq_q, keys = p.batch * p.heads_kv * p.seq_kv;
    bench::Addresses at;
    at.q = bench::gaussian(memory, p.dtype, rows * p.dim_qk, 1);
    at.k = bench::gaussian(memory, p.dtype, keys * p.dim_qk, 2);
    at.v = bench::gaussian(memory, p.dtype, keys * p.dim_v, 3);
    at.o = memory.allocate(static_cast<std::size_t>(rows * p.dim_v) * 2, sim::AllocationKind::device, 0);
    at.lse = memory.allocate(static_cast<std::size_t>(rows) * 4, sim::AllocationKind::device, 0);
    constexpr std::uint32_t unwritten = 0x7fc0dead;
    const std::size_t words = plan.workspace_bytes / 4;
    if (words > 0) {
        at.workspace = memory.allocate(plan.workspace_bytes, sim::AllocationKind::device, 0);
        std::fill_n(reinterpret_cast<std::uint32_t*>(at.workspace), words, unwritten);
    }
    bench::set_addresses(plan, at);
    auto run = [&](const std::string& name, const auto& grid, const auto& block) {
        sim::Launch launch;
        launch.code = code;
        launch.kernel = code->kernel(name);
        launch.grid = grid;
        launch.block = block;
        launch.kernarg = plan.kernarg;
        launch.timed_workgroups = 64;
        const sim::LaunchResult result = engine.run(launch);
        if (result.fault)
            give_up(result.fault->text);
        return result;
    };
    Times times;
    if (plan.grid[0] > 256)
        give_up("more items than compute units");
    for (const auto& report : run(plan.kernel, plan.grid, plan.block).timing)
        times.forward = std::max(times.forward, static_cast<double>(report->cycles));
    const auto* word = reinterpret_cast<const std::uint32_t*>(at.workspace);
    times.written =
        4 * static_cast<double>(words - static_cast<std::size_t>(std::count(word, word + words, unwritten)));
    if (plan.merge)
        times.merge = run(plan.merge->kernel, plan.merge->grid, plan.merge->block).cycles;
    return times;
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t heads = argc > 1 ? std::atoll(argv[1]) : 4,
                       keys = argc > 2 ? std::atoll(argv[2]) : 4096;
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    if (!assembler)
        give_up("no assembler for gfx950");
    std::printf("kernel,parts,forward,merge,workspace_MB,cycles_with_launches,times_faster,"
                "cycles_with_traffic,times_faster\n");
    for (const DType dtype : {DType::bf16, DType::e4m3})
        for (const std::int64_t dim_qk : {128, 192}) {
            Problem p = Problem::contiguous(dtype, 1, heads, heads, keys, keys, dim_qk, 128, Mask::causal);
            if (dtype == DType::e4m3)
                p.q_descale = p.k_descale = p.v_descale = bench::descale_of(bench::paper_sd);
            const Schedule chosen = templates::template_for(p).default_schedule(p);
            const auto best = std::get<std::int64_t>(chosen.parameters.at("key_parts"));
            const Times whole = measure(p, 1, *assembler);
            for (const std::int64_t parts : {std::int64_t{1}, best / 2, best, 2 * best}) {
                if (parts < 1 || parts > 16 || parts * heads * keys / 512 > 256 || (parts == 1 && best == 2))
                    continue;
                const Times t = parts == 1 ? whole : measure(p, parts, *assembler);
                std::printf("%s_%lld,%lld%s,%.0f,%.0f,%.1f,%.0f,%.2f,%.0f,%.2f\n",
                            dtype == DType::bf16 ? "bf16" : "fp8", static_cast<long long>(dim_qk),
                            static_cast<long long>(parts), parts == best ? " (default)" : "", t.forward,
                            t.merge, t.written * 1e-6, t.plain(), whole.plain() / t.plain(), t.charged(),
                            whole.plain() / t.charged());
                std::fflush(stdout);
            }
        }
    return 0;
}
