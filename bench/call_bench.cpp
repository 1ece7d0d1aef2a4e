// SPDX-License-Identifier: Apache-2.0
// Host time of a resident call, against a HIP library whose launch does nothing. The raw launch is the floor;
// the difference is zyfa's.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "attention/context_impl.hpp"
#include "bench/large_store.hpp"
#include "bench/support.hpp"
#include "runtime/runtime.hpp"

namespace {

using namespace zyfa;

/// A context on the fake library, and shapes that are resident on it.
struct Resident {
    explicit Resident(std::size_t shapes, DType dtype = DType::bf16,
                      const std::string& cache_dir = ":memory:")
        : context(with(cache_dir)), runtime(context.impl().services().runtime()) {
        for (std::size_t i = 0; i < shapes; ++i) {
            const Problem problem = bench::problem(4, static_cast<std::int64_t>(256 * (i + 1)), dtype);
            calls.push_back(bench::arguments(
                problem, [&](std::size_t bytes) { return buffers.emplace_back(runtime, 0, bytes).data(); }));
            context.attention(calls.back());
        }
    }
    static ContextOptions with(const std::string& cache_dir) {
        ContextOptions options = bench::fake_device();
        options.cache_dir = cache_dir;
        return options;
    }
    /// Seconds of so many calls, one shape after the other.
    double seconds(std::size_t count) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < count; ++i) {
            context.attention(calls[i % calls.size()]);
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    Context context;
    std::shared_ptr<runtime::Runtime> runtime;
    std::vector<runtime::DeviceBuffer> buffers;
    std::vector<AttentionArgs> calls;
};

void raw_launch(benchmark::State& state) {
    const std::shared_ptr<runtime::Runtime> runtime = runtime::Runtime::open("0", ZYFA_FAKE_HIP);
    const runtime::Module module(runtime, 0, std::vector<std::byte>(64));
    void* function = module.function("nothing");
    std::array<std::byte, 256> kernarg{};
    for (auto _ : state) {
        runtime::launch(*runtime, function, {1, 1, 1}, {512, 1, 1}, 0, nullptr, kernarg);
    }
}
BENCHMARK(raw_launch)->Name("call/raw_hip_launch");

void resident_call(benchmark::State& state, DType dtype) {
    Resident resident(static_cast<std::size_t>(state.range(0)), dtype);
    std::size_t next = 0;
    for (auto _ : state) {
        resident.context.attention(resident.calls[next]);
        next = next + 1 == resident.calls.size() ? 0 : next + 1;
    }
}
void resident_bf16(benchmark::State& state) {
    resident_call(state, DType::bf16);
}
void resident_fp8(benchmark::State& state) {
    resident_call(state, DType::e4m3);
}
BENCHMARK(resident_bf16)->Name("call/attention_resident")->ArgName("shapes")->Arg(1)->Arg(8)->Arg(64);
BENCHMARK(resident_fp8)->Name("call/attention_resident_fp8")->ArgName("shapes")->Arg(1)->Arg(8)->Arg(64);

void resident_call_threads(benchmark::State& state) {
    static std::unique_ptr<Resident> resident;
    if (state.thread_index() == 0) {
        resident = std::make_unique<Resident>(8);
    }
    std::size_t next = static_cast<std::size_t>(state.thread_index());
    for (auto _ : state) {
        resident->context.attention(resident->calls[next % resident->calls.size()]);
        ++next;
    }
}
BENCHMARK(resident_call_threads)->Name("call/attention_resident_8_shapes")->Threads(2)->UseRealTime();

/// The same calls with a store of 100,000 entries and with an empty one in memory, in turns: `ratio` is the
/// median over the turns. A resident call looks at neither.
void resident_call_beside_store(benchmark::State& state) {
    constexpr std::size_t block = 2000;
    Resident full(8, DType::bf16, bench::LargeStore::get().path()), empty(8);
    std::vector<double> ratios;
    for (auto _ : state) {
        const double beside = full.seconds(block);
        ratios.push_back(beside / empty.seconds(block));
        state.SetIterationTime(beside / block);
    }
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                     ratios.end());
    state.counters["ratio"] = ratios[ratios.size() / 2];
}
BENCHMARK(resident_call_beside_store)
    ->Name("call/attention_resident_beside_100000_entries")
    ->UseManualTime()
    ->Iterations(301);

} // namespace
