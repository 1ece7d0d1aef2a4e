// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_shape_table [longest S] [kernel] [name=value] [SD]: the paper's configurations (Table VI,
// Figure 8) on the simulator's timing model, as CSV; bench/performance_page.py makes the page of it. Inputs
// are Gaussian, of standard deviation 0.1 unless SD is given.
//
// Per configuration, workgroup 0 of the launch as a GPU of 256 compute units would get it runs on the cycle
// model; the others have the same work (tiles come in pairs of equal length). Of more than two pairs, one and
// then two are run: each further one adds what the second added. All heads read the same data, so that memory
// stays small. TFLOP/s by the paper's formula (1), at the clock that the model says a whole chip of such
// workgroups settles at. Nothing here is measured on a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/drawn_launch.hpp"
#include "core/keys.hpp"
#include "jit/assembler.hpp"
#include "sim/engine.hpp"
#include "sim/timing/clock_model.hpp"
#include "sim/timing/report.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

constexpr std::uint32_t compute_units = 256;

struct Row {
    double cycles = 0, steady = 0, whole = 0, useful = 0, clock_ghz = 0, tflops = 0;
};

/// Formula (1): half of the products of a full score matrix.
double flops(const Problem& p) {
    const auto s = static_cast<double>(p.seq_q);
    return static_cast<double>(p.batch * p.heads_q) * s * s * static_cast<double>(p.dim_qk + p.dim_v);
}

/// What one workgroup took, as numbers that pairs of tiles add to.
struct Work {
    double cycles = 0, loop = 0, busy = 0, matrix = 0; ///< matrix: of all SIMDs
    void add(const Work& w, double times) {
        cycles += times * w.cycles, loop += times * w.loop, busy += times * w.busy;
        matrix += times * w.matrix;
    }
};

Work work_of(const sim::timing::TimingReport& report) {
    Work w;
    w.cycles = static_cast<double>(report.cycles);
    w.loop = static_cast<double>(report.last_matrix - report.first_matrix);
    w.busy = report.whole_loop() * w.loop;
    for (const std::uint64_t cycles : report.matrix)
        w.matrix += static_cast<double>(cycles);
    return w;
}

Row measure(const Problem& p, jit::Assembler& assembler, const char* schedule_text, double sd) {
    const templates::Template& form = templates::template_for(p);
    Schedule schedule = form.default_schedule(p);
    if (schedule_text) { // "name=value"
        const char* const value = std::strchr(schedule_text, '=') + 1;
        char* end = nullptr;
        const double number = std::strtod(value, &end);
        ParameterValue& parameter = schedule.parameters.at(std::string(schedule_text, value - 1));
        if (*end == '\0')
            parameter = number;
        else
            parameter = std::string(value);
    }
    const templates::Kernel kernel = form.instantiate(classify(p), schedule);
    templates::LaunchPlan plan = form.plan(p, schedule, {});

    sim::Memory memory;
    sim::DeviceConfig config;
    config.threads = 1;
    sim::Engine engine(memory, config);
    const auto code =
        sim::CodeObject::load(memory, assembler.assemble(kernel.assembly, kernel.target, kernel.name).elf, 0);
    bench::Addresses at;
    at.q = bench::gaussian(memory, p.dtype, p.seq_q * p.dim_qk, 1, sd);
    at.k = bench::gaussian(memory, p.dtype, p.seq_q * p.dim_qk, 2, sd);
    at.v = bench::gaussian(memory, p.dtype, p.seq_q * 128, 3, sd);
    at.o = memory.allocate(static_cast<std::size_t>(p.seq_q * 256), sim::AllocationKind::device, 0);
    at.lse = memory.allocate(static_cast<std::size_t>(p.seq_q * 4), sim::AllocationKind::device, 0);
    bench::set_addresses(plan, at);
    // Of the whole grid, workgroup 0 runs, and of its pairs of tiles `pairs`.
    auto run = [&](std::uint32_t pairs) {
        templates::attention::Kernarg kernarg;
        std::memcpy(&kernarg, plan.kernarg.data(), sizeof kernarg);
        kernarg.items = std::min(kernarg.items, pairs * kernarg.step);
        std::memcpy(plan.kernarg.data(), &kernarg, sizeof kernarg);
        sim::Launch launch;
        launch.code = code;
        launch.kernel = code->kernel(plan.kernel);
        launch.grid = {1, 1, 1}; // its step stays that of the whole grid
        launch.block = plan.block;
        launch.kernarg = plan.kernarg;
        launch.timed_workgroups = 1;
        const sim::LaunchResult result = engine.run(launch);
        if (result.fault) {
            std::fprintf(stderr, "%s\n", result.fault->text.c_str());
            std::exit(1);
        }
        return result.timing.at(0);
    };
    const auto pairs = std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(p.seq_q * p.heads_q / 512 / compute_units)); // of each workgroup
    const std::shared_ptr<const sim::timing::TimingReport> report = run(std::min(pairs, 2u));
    Work work = work_of(*report);
    if (pairs > 2) {
        Work further = work;
        further.add(work_of(*run(1)), -1);
        work.add(further, pairs - 2);
    }
    Row row;
    row.cycles = work.cycles;
    row.steady = report->steady().matrix_busy; // inside one tile; 0 where none is long enough
    row.whole = work.busy / work.loop;
    // 1024 FLOP per cycle of a SIMD in BF16, twice as many in FP8 (paper Section III-A)
    row.useful = flops(p) / ((p.dtype == DType::e4m3 ? 2048 : 1024) * work.matrix * compute_units);
    row.clock_ghz = sim::timing::sustained_ghz(report->activity());
    row.tflops = flops(p) / (row.cycles / row.clock_ghz) * 1e-3;
    return row;
}

Problem problem_of(DType dtype, std::int64_t dim_qk, std::int64_t group, std::int64_t seq, double sd) {
    const std::int64_t heads = std::max<std::int64_t>(32, 262144 / seq);
    Problem p = Problem::contiguous(dtype, 1, heads, heads / group, seq, seq, dim_qk, 128, Mask::causal);
    for (Strides* s : {&p.q, &p.k, &p.v, &p.o})
        s->head = s->batch = 0;
    p.lse_head_stride = p.lse_batch_stride = 0;
    if (dtype == DType::e4m3)
        p.q_descale = p.k_descale = p.v_descale = bench::descale_of(sd);
    return p;
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t longest = argc > 1 ? std::atoll(argv[1]) : 32768;
    const std::string only = argc > 2 ? argv[2] : "";     // fp8_128, say
    const char* parameter = argc > 3 ? argv[3] : nullptr; // tau=8, say
    const double sd = argc > 4 ? std::atof(argv[4]) : bench::paper_sd;
    if (!(sd > 0) || (parameter && !std::strchr(parameter, '='))) {
        std::fprintf(stderr, "usage: zyfa_shape_table [longest S] [kernel] [name=value] [SD]\n");
        return 2;
    }
    std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    if (!assembler) {
        std::fprintf(stderr, "no assembler for gfx950\n");
        return 1;
    }
    std::printf("kernel,heads,S,cycles,matrix_busy_steady,matrix_busy_whole,useful_share,clock_ghz,tflops\n");
    struct Form {
        const char* name;
        DType dtype;
        std::int64_t dim_qk;
        Probability probability = Probability::automatic;
    };
    for (const Form& form : {Form{"bf16_128", DType::bf16, 128}, Form{"bf16_192", DType::bf16, 192},
                             Form{"fp8_128", DType::e4m3, 128}, Form{"fp8_192", DType::e4m3, 192},
                             Form{"fp8_192_lean", DType::e4m3, 192, Probability::lean}}) {
        if (!only.empty() && only != form.name)
            continue;
        for (const std::int64_t group : {1, 4})
            for (std::int64_t seq = 1024; seq <= longest; seq *= 2) {
                Problem p = problem_of(form.dtype, form.dim_qk, group, seq, sd);
                p.probability = form.probability;
                const Row r = measure(p, *assembler, parameter, sd);
                std::printf("%s,%s,%lld,%.0f,%.3f,%.3f,%.3f,%.2f,%.0f\n", form.name,
                            group == 1 ? "MHA" : "GQA", static_cast<long long>(seq), r.cycles, r.steady,
                            r.whole, r.useful, r.clock_ghz, r.tflops);
                std::fflush(stdout);
            }
    }
    return 0;
}
