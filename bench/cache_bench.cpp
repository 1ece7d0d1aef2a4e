// SPDX-License-Identifier: Apache-2.0
// The store: look-ups that a first call makes, publishing, opening.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/support.hpp"
#include "cache/store.hpp"
#include "core/digest.hpp"

namespace {

using namespace zyfa;

constexpr std::size_t code_object_bytes = 20'000; // a BF16 kernel's size

cache::BinaryRecord binary(std::size_t number) {
    cache::BinaryRecord record;
    record.key_text = "bench binary " + std::to_string(number);
    record.key = digest(record.key_text);
    record.kernel_name = "bench_kernel";
    record.target = "gfx950";
    record.toolchain = "none";
    record.code_object.resize(code_object_bytes);
    for (std::size_t i = 0; i < record.code_object.size(); ++i) { // not compressible to nothing
        record.code_object[i] = static_cast<std::byte>((i * 2654435761u + number) >> 11 & 0xff);
    }
    return record;
}

cache::WinnerRecord winner(std::size_t number) {
    cache::WinnerRecord record;
    record.key_text = "bench winner " + std::to_string(number);
    record.key = digest(record.key_text);
    record.schedule = "bench{n=" + std::to_string(number) + "}";
    record.binary = binary(number).key;
    record.evidence_json = "{}";
    record.data_profile = "gaussian";
    record.policy = "model";
    record.versions_json = "{}";
    return record;
}

cache::Cache::Options in(const bench::TemporaryFolder& folder) {
    return {.user_dir = folder.path(), .read_only = {}};
}

void fill(cache::Cache& cache, std::size_t entries) {
    for (std::size_t i = 0; i < entries; ++i) {
        cache.publish(winner(i), binary(i));
    }
}

void find(benchmark::State& state) {
    const bench::TemporaryFolder folder;
    cache::Cache cache(in(folder));
    const std::size_t entries = static_cast<std::size_t>(state.range(0));
    fill(cache, entries);
    std::size_t next = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(cache.find(winner(next).key));
        next = (next + 7) % entries;
    }
}
BENCHMARK(find)
    ->Name("cache/find_winner_and_binary")
    ->ArgName("entries")
    ->Arg(1)
    ->Arg(500)
    ->Unit(benchmark::kMicrosecond);

void miss(benchmark::State& state) {
    const bench::TemporaryFolder folder;
    cache::Cache cache(in(folder));
    fill(cache, 500);
    const Digest key = digest("not there");
    for (auto _ : state) {
        benchmark::DoNotOptimize(cache.find(key));
    }
}
BENCHMARK(miss)->Name("cache/miss_of_500")->Unit(benchmark::kMicrosecond);

void publish(benchmark::State& state) {
    const bench::TemporaryFolder folder;
    cache::Cache cache(in(folder));
    std::size_t next = 0;
    for (auto _ : state) {
        cache.publish(winner(next), binary(next));
        ++next;
    }
}
BENCHMARK(publish)->Name("cache/publish")->Unit(benchmark::kMicrosecond)->Iterations(200);

void open(benchmark::State& state) {
    const bench::TemporaryFolder folder;
    {
        cache::Cache cache(in(folder));
        fill(cache, 100);
    }
    for (auto _ : state) {
        cache::Cache cache(in(folder));
        benchmark::DoNotOptimize(cache.find(winner(3).key));
    }
}
BENCHMARK(open)->Name("cache/open_and_find")->Unit(benchmark::kMicrosecond);

} // namespace
