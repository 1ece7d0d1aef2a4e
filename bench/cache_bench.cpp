// SPDX-License-Identifier: Apache-2.0
// The store: look-ups that a first call makes, publishing, opening.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/support.hpp"
#include "cache/pack.hpp"
#include "cache/store.hpp"
#include "cache/transfer.hpp"
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

/// A store of 100,000 entries (50,000 winners with a binary of 2 KB each), made once and shared.
class LargeStore {
  public:
    static constexpr std::size_t winners = 50'000;
    static LargeStore& get() {
        static LargeStore store;
        return store;
    }
    cache::Cache& cache() { return *cache_; }
    const std::string& path() const { return folder_.path(); }
    std::size_t next_new() { return winners + made_++; }

  private:
    LargeStore() {
        cache::Cache::Options options = in(folder_);
        options.limits = {.bytes = std::uint64_t{8} << 30, .entries = 10'000'000};
        cache_ = std::make_unique<cache::Cache>(options);
        cache::Content content;
        for (std::size_t i = 0; i < winners; ++i) {
            content.winners.push_back(winner(i));
            content.binaries.push_back(binary(i));
            content.binaries.back().code_object.resize(2000);
        }
        cache_->take(content, {});
    }
    bench::TemporaryFolder folder_;
    std::unique_ptr<cache::Cache> cache_;
    std::size_t made_ = 0;
};

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
