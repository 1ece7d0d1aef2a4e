// SPDX-License-Identifier: Apache-2.0
// What making one kernel costs, by stage, in a process that has loaded its assembler: instantiate (assembly
// text), assemble, link, load. process_bench.cpp has the cold process.
#include <chrono>
#include <memory>

#include <benchmark/benchmark.h>

#include "bench/support.hpp"
#include "core/keys.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

double ms_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// What is made: BF16, or FP8 with lean or exact P.
enum class Made { bf16, lean, exact };

Problem problem_of(Made made) {
    Problem problem = bench::problem(4, 4096, made == Made::bf16 ? DType::bf16 : DType::e4m3);
    if (made != Made::bf16)
        problem.probability = made == Made::lean ? Probability::lean : Probability::exact;
    return problem;
}

void stages(benchmark::State& state, const std::shared_ptr<jit::Assembler>& assembler, Made made) {
    if (!assembler) {
        state.SkipWithError("not on this machine");
        return;
    }
    std::shared_ptr<runtime::Runtime> runtime;
    try {
        runtime = runtime::Runtime::open("sim", "");
    } catch (const Error&) {
        state.SkipWithError("the simulator was not built");
        return;
    }
    const Problem problem = problem_of(made);
    const templates::Template& form = templates::template_for(problem);
    const Schedule schedule = form.default_schedule(problem);
    double instantiate = 0, assemble = 0, link = 0, load = 0;
    for (auto _ : state) {
        auto start = std::chrono::steady_clock::now();
        const templates::Kernel kernel = form.instantiate(classify(problem), schedule);
        instantiate += ms_since(start);
        jit::CodeObject code = assembler->assemble(kernel.assembly, kernel.target, kernel.name);
        assemble += code.assemble_ms;
        link += code.link_ms;
        start = std::chrono::steady_clock::now();
        const runtime::Module module(runtime, 0, std::move(code.elf));
        benchmark::DoNotOptimize(module.function(kernel.name));
        load += ms_since(start);
    }
    const auto mean = benchmark::Counter::kAvgIterations;
    state.counters["instantiate_ms"] = benchmark::Counter(instantiate, mean);
    state.counters["assemble_ms"] = benchmark::Counter(assemble, mean);
    state.counters["link_ms"] = benchmark::Counter(link, mean);
    state.counters["load_sim_ms"] =
        benchmark::Counter(load, mean); // the simulator's loader decodes every instruction
    state.SetLabel(assembler->toolchain());
}

template <Made made>
void comgr(benchmark::State& state) {
    stages(state, jit::make_comgr_assembler(""), made);
}
template <Made made>
void llvm(benchmark::State& state) {
    stages(state, jit::make_llvm_assembler(), made);
}
BENCHMARK(comgr<Made::bf16>)->Name("jit/stages_comgr")->Unit(benchmark::kMillisecond);
BENCHMARK(llvm<Made::bf16>)->Name("jit/stages_llvm")->Unit(benchmark::kMillisecond);
BENCHMARK(comgr<Made::lean>)->Name("jit/stages_comgr_fp8_lean")->Unit(benchmark::kMillisecond);
BENCHMARK(comgr<Made::exact>)->Name("jit/stages_comgr_fp8_exact")->Unit(benchmark::kMillisecond);

} // namespace
