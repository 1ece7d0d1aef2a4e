// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_few_heads [heads] [keys] [causal|full]: what a split over keys saves where few heads leave
// most of the chip idle, on the simulator's timing model.
//
// Kernels are launched whole, on Gaussian data, with all workgroups on the compute-unit model. Workgroups of
// a split have a compute unit each and wait for nobody, but the last one to come for a tile merges it, and
// which one that is is a matter of time. So two launches are run: one in which nobody comes last, by what the
// counters hold at its start; and one whose counters begin so that of each tile's workgroups the one that
// took longest in the first finds the last number. The slowest workgroup of the second is the call's time.
//
// The compute-unit model knows no memory beyond L2. What it leaves out is charged apart: the latency of
// memory where the merge's chain of loads and stores leads there, and the workspace's traffic. Nothing here
// is measured on a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/drawn_launch.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/timing/parameters.hpp"
#include "sim/timing/report.hpp"
#include "templates/attention/work.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

constexpr double launch_cycles = 12000; ///< 5 us at 2.4 GHz, as the simulator's events have it
/// Whole chip, per cycle of 2.4 GHz: Infinity Cache reads 17.2 TB/s at its peak (CDNA3 white paper), HBM 6.2
/// measured (paper Section II). The workspace fits in the former; this lies between them.
constexpr double bytes_per_cycle = 4000;
/// Release, counter, and first read of the others' parts go to memory one after the other, where the
/// compute-unit model has L2's latency.
constexpr double trips_to_memory = 3;
constexpr std::int64_t tile_rows = 256;
/// Beyond any number of parts: the first increment takes a counter to 0, and nobody finds the last number.
constexpr std::uint32_t nobody_last = 1u << 30;

struct Times {
    double alone = 0;   ///< slowest workgroup if nobody merges
    double call = 0;    ///< slowest workgroup, merges included
    double written = 0; ///< bytes of the workspace
    double plain() const { return call + launch_cycles; }
    double charged() const {
        if (written == 0)
            return plain();
        const sim::timing::Parameters unit;
        const double traffic = written / bytes_per_cycle;
        return plain() + trips_to_memory * (unit.hbm_latency - unit.l2_latency) + traffic +
               std::max(0.0, traffic - (call - alone));
    }
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

/// Workgroups that compute a part of a tile, by head and tile, in the order of their numbers.
using Sharers = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint64_t>>;

/// As the kernels deal them out with chiplet_map=runs (templates/attention/work.hpp).
Sharers sharers_of(const Problem& p, std::int64_t parts, std::int64_t items) {
    const std::int64_t block = p.dtype == DType::bf16 ? 64 : 128, tiles = p.seq_q / tile_rows;
    const bool causal = p.mask == Mask::causal;
    const std::int64_t groups = causal ? tiles / 2 : tiles;
    const auto blocks_of = [&](std::int64_t tile) {
        return (causal ? (tile + 1) * tile_rows : p.seq_kv) / block;
    };
    Sharers sharers;
    for (std::int64_t item = 0; item < items; ++item) {
        const std::int64_t position = item % 8 * (items / 8) + item / 8, group = position % groups,
                           head = position / groups % p.heads_q, part = position / groups / p.heads_q;
        std::int64_t first = blocks_of(group), all = first;
        if (causal)
            all += templates::attention::transition_blocks + blocks_of(tiles - 1 - group) +
                   templates::attention::diagonal_blocks;
        const std::int64_t begin = all * part / parts, end = all * (part + 1) / parts;
        if (begin < first)
            sharers[{head, group}].push_back(static_cast<std::uint64_t>(item));
        first += templates::attention::transition_blocks;
        if (causal && end > first && begin < all - templates::attention::diagonal_blocks)
            sharers[{head, tiles - 1 - group}].push_back(static_cast<std::uint64_t>(item));
    }
    return sharers;
}

Times measure(const Problem& p, std::int64_t parts, jit::Assembler& assembler) {
    const templates::Template& form = templates::template_for(p);
    Schedule schedule = form.default_schedule(p);
    schedule.parameters["key_parts"] = parts;
    schedule.parameters["chiplet_map"] = std::string("runs");
    const templates::Kernel kernel = form.instantiate(classify(p), schedule);
    templates::LaunchPlan plan = form.plan(p, schedule, {});
    if (plan.grid[0] > 256)
        give_up("more items than compute units");

    sim::Memory memory;
    sim::DeviceConfig config;
    config.threads = 1; // workgroups in the order of their numbers
    sim::Engine engine(memory, config);
    const auto code =
        sim::CodeObject::load(memory, assembler.assemble(kernel.assembly, kernel.target, kernel.name).elf, 0);
    const std::int64_t rows = p.batch * p.heads_q * p.seq_q, keys = p.batch * p.heads_kv * p.seq_kv;
    const auto outputs = static_cast<std::size_t>(rows * p.dim_v);
    bench::Addresses at;
    at.q = bench::gaussian(memory, p.dtype, rows * p.dim_qk, 1);
    at.k = bench::gaussian(memory, p.dtype, keys * p.dim_qk, 2);
    at.v = bench::gaussian(memory, p.dtype, keys * p.dim_v, 3);
    at.o = memory.allocate(outputs * 2, sim::AllocationKind::device, 0);
    at.lse = memory.allocate(static_cast<std::size_t>(rows) * 4, sim::AllocationKind::device, 0);
    constexpr std::uint32_t unwritten = 0x7fc0dead;
    const std::size_t words = plan.workspace_bytes / 4, counters = plan.counter_bytes / 4;
    auto* const counter =
        words > 0 ? reinterpret_cast<std::uint32_t*>(
                        at.counters = memory.allocate(plan.counter_bytes, sim::AllocationKind::device, 0))
                  : nullptr;
    if (words > 0) {
        at.workspace = memory.allocate(plan.workspace_bytes, sim::AllocationKind::device, 0);
        std::fill_n(reinterpret_cast<std::uint32_t*>(at.workspace), words, unwritten);
        std::fill_n(counter, counters, nobody_last);
    }
    bench::set_addresses(plan, at);
    auto run = [&] {
        sim::Launch launch;
        launch.code = code;
        launch.kernel = code->kernel(plan.kernel);
        launch.grid = plan.grid;
        launch.block = plan.block;
        launch.kernarg = plan.kernarg;
        launch.timed_workgroups = plan.grid[0];
        const sim::LaunchResult result = engine.run(launch);
        if (result.fault)
            give_up(result.fault->text);
        std::vector<double> cycles;
        for (const auto& report : result.timing)
            cycles.push_back(static_cast<double>(report->cycles));
        if (cycles.size() != plan.grid[0])
            give_up("not every workgroup was timed");
        return cycles;
    };
    const auto longest = [](const std::vector<double>& cycles) {
        return *std::max_element(cycles.begin(), cycles.end());
    };
    Times times;
    const std::vector<double> alone = run();
    times.alone = times.call = longest(alone);
    if (words == 0)
        return times;
    const auto* word = reinterpret_cast<const std::uint32_t*>(at.workspace);
    times.written =
        4 * static_cast<double>(words - static_cast<std::size_t>(std::count(word, word + words, unwritten)));

    const std::size_t wave_tiles = static_cast<std::size_t>(p.seq_q) / 32;
    for (const auto& [tile, workgroups] : sharers_of(p, parts, plan.grid[0])) {
        const auto slowest = std::max_element(workgroups.begin(), workgroups.end(),
                                              [&](auto a, auto b) { return alone[a] < alone[b]; });
        for (std::size_t wave = 0; wave < tile_rows / 32; ++wave)
            counter[static_cast<std::size_t>(tile.first) * wave_tiles +
                    static_cast<std::size_t>(tile.second) * (tile_rows / 32) + wave] =
                static_cast<std::uint32_t>(workgroups.end() - 1 - slowest);
    }
    auto* const o = reinterpret_cast<std::uint16_t*>(at.o);
    constexpr std::uint16_t missing = 0x7fc1; // a NaN that no kernel makes
    std::fill_n(o, outputs, missing);
    times.call = longest(run());
    if (std::count(o, o + outputs, missing) != 0)
        give_up("a tile was not merged: its workgroups are not those that this program takes them for");
    return times;
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t heads = argc > 1 ? std::atoll(argv[1]) : 4,
                       keys = argc > 2 ? std::atoll(argv[2]) : 4096;
    const Mask mask = argc > 3 && std::strcmp(argv[3], "full") == 0 ? Mask::none : Mask::causal;
    if (heads < 1 || keys < 512 || keys % 512 != 0)
        give_up("heads from 1 on, keys in multiples of 512");
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    if (!assembler)
        give_up("no assembler for gfx950");
    std::printf("kernel,parts,workgroup,with_merge,workspace_MB,cycles_with_launch,times_faster,"
                "cycles_with_memory,times_faster\n");
    for (const DType dtype : {DType::bf16, DType::e4m3})
        for (const std::int64_t dim_qk : {128, 192}) {
            Problem p = Problem::contiguous(dtype, 1, heads, heads, keys, keys, dim_qk, 128, mask);
            if (dtype == DType::e4m3)
                p.q_descale = p.k_descale = p.v_descale = bench::descale_of(bench::paper_sd);
            const Schedule chosen = templates::template_for(p).default_schedule(p);
            const auto best = std::get<std::int64_t>(chosen.parameters.at("key_parts"));
            const Times whole = measure(p, 1, *assembler);
            for (const std::int64_t parts : {std::int64_t{1}, best / 2, best, 2 * best}) {
                const std::int64_t items =
                    parts * heads * keys / (mask == Mask::causal ? 2 * tile_rows : tile_rows);
                if (parts < 1 || parts > 16 || items > 256 || (parts == 1 && best == 2))
                    continue;
                const Times t = parts == 1 ? whole : measure(p, parts, *assembler);
                std::printf("%s_%lld,%lld%s,%.0f,%.0f,%.1f,%.0f,%.2f,%.0f,%.2f\n",
                            dtype == DType::bf16 ? "bf16" : "fp8", static_cast<long long>(dim_qk),
                            static_cast<long long>(parts), parts == best ? " (default)" : "", t.alone, t.call,
                            t.written * 1e-6, t.plain(), whole.plain() / t.plain(), t.charged(),
                            whole.plain() / t.charged());
                std::fflush(stdout);
            }
        }
    return 0;
}
