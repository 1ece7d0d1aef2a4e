// SPDX-License-Identifier: Apache-2.0
// Speed of the simulator: wave instructions per second of host time on the BF16 kernel (an MFMA counts once).
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "attention/context_impl.hpp"
#include "bench/support.hpp"
#include "core/distributions.hpp"
#include "runtime/runtime.hpp"
#include "sim/hip/zyfa_sim.h"
#include "templates/template.hpp"

namespace {

using namespace zyfa;

void bf16_causal(benchmark::State& state) {
    const Problem problem = bench::problem(1, state.range(0));
    ContextOptions options;
    options.device = "sim";
    options.cache_dir = ":memory:";
    options.mode = Mode::off;
    try {
        Context context(options);
        const std::shared_ptr<runtime::Runtime> runtime = context.impl().services().runtime();
        const auto set =
            reinterpret_cast<decltype(&zyfaSimSetDevice)>(runtime->extension("zyfaSimSetDevice"));
        const auto last =
            reinterpret_cast<decltype(&zyfaSimLastLaunch)>(runtime->extension("zyfaSimLastLaunch"));
        set(0, "threads", std::to_string(state.range(1)).c_str());
        set(0, "sanitize", state.range(2) != 0 ? "1" : "0");
        std::vector<runtime::DeviceBuffer> buffers;
        AttentionArgs args = bench::arguments(
            problem, [&](std::size_t bytes) { return buffers.emplace_back(runtime, 0, bytes).data(); });
        const DrawnInputs inputs = draw_inputs(problem, Distribution::gaussian, 1);
        buffers[0].upload(inputs.q);
        buffers[1].upload(inputs.k);
        buffers[2].upload(inputs.v);
        context.prepare(problem);
        std::uint64_t instructions = 0;
        for (auto _ : state) {
            context.attention(args);
            runtime::synchronize(*runtime, 0);
            zyfaSimLaunch launch{};
            last(0, &launch);
            instructions += launch.instructions;
        }
        state.counters["instructions"] =
            benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kAvgIterations);
        state.counters["instructions_per_s"] =
            benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
        set(0, "threads", "0");
        set(0, "sanitize", "0");
    } catch (const Error& error) {
        state.SkipWithError(error.what());
    }
}
BENCHMARK(bf16_causal)
    ->Name("simulator/bf16_d128_causal_one_head")
    ->ArgNames({"seq", "threads", "sanitize"})
    ->Args({1024, 1, 0})
    ->Args({1024, 1, 1})
    ->Args({4096, 1, 0})
    ->Args({4096, 0, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

} // namespace
