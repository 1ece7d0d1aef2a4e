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

void stages(benchmark::State& state, const std::shared_ptr<jit::Assembler>& assembler) {
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
    const Problem problem = bench::problem(4, 4096);
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

void comgr(benchmark::State& state) {
    stages(state, jit::make_comgr_assembler(""));
}
void llvm(benchmark::State& state) {
    stages(state, jit::make_llvm_assembler());
}
BENCHMARK(comgr)->Name("jit/stages_comgr")->Unit(benchmark::kMillisecond);
BENCHMARK(llvm)->Name("jit/stages_llvm")->Unit(benchmark::kMillisecond);

} // namespace
