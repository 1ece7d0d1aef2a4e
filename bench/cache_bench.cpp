// SPDX-License-Identifier: Apache-2.0
// The store: look-ups that a first call makes, publishing, opening.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/large_store.hpp"
#include "bench/support.hpp"
#include "cache/pack.hpp"
#include "cache/store.hpp"
#include "cache/transfer.hpp"
#include "core/digest.hpp"

namespace {

using namespace zyfa;
using bench::LargeStore;

cache::WinnerRecord winner(std::size_t number) {
    return bench::stored_winner(number);
}

cache::BinaryRecord binary(std::size_t number) {
    return bench::stored_binary(number);
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

void find_large(benchmark::State& state) {
    cache::Cache& cache = LargeStore::get().cache();
    std::size_t next = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(cache.find(winner(next).key));
        next = (next + 7919) % LargeStore::winners;
    }
}
BENCHMARK(find_large)->Name("cache/of_100000/find_winner_and_binary")->Unit(benchmark::kMicrosecond);

void miss_large(benchmark::State& state) {
    cache::Cache& cache = LargeStore::get().cache();
    const Digest key = digest("not there");
    for (auto _ : state) {
        benchmark::DoNotOptimize(cache.find(key));
    }
}
BENCHMARK(miss_large)->Name("cache/of_100000/miss")->Unit(benchmark::kMicrosecond);

void publish_large(benchmark::State& state) {
    LargeStore& store = LargeStore::get();
    for (auto _ : state) {
        const std::size_t n = store.next_new();
        store.cache().publish(winner(n), binary(n));
    }
}
BENCHMARK(publish_large)->Name("cache/of_100000/publish")->Unit(benchmark::kMicrosecond)->Iterations(200);

void open_large(benchmark::State& state) {
    const LargeStore& store = LargeStore::get();
    for (auto _ : state) {
        cache::Cache cache({.user_dir = store.path(), .read_only = {}});
        benchmark::DoNotOptimize(cache.find(winner(3).key));
    }
}
BENCHMARK(open_large)->Name("cache/of_100000/open_and_find")->Unit(benchmark::kMicrosecond);

/// Removes so many of the entries; the cost should follow that number, not what stays.
void prune_large(benchmark::State& state) {
    cache::Cache& cache = LargeStore::get().cache();
    const auto removed = static_cast<std::uint64_t>(state.range(0));
    for (auto _ : state) {
        const cache::Statistics now = cache.statistics().at(0);
        benchmark::DoNotOptimize(
            cache.prune({.bytes = std::uint64_t{8} << 30, .entries = now.winners + now.binaries - removed}));
    }
}
BENCHMARK(prune_large)
    ->Name("cache/of_100000/prune")
    ->ArgName("entries")
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(2);

} // namespace
