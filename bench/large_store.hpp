// SPDX-License-Identifier: Apache-2.0
// Entries for the benchmarks of the store, and a store of 100,000 of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/support.hpp"
#include "cache/store.hpp"

namespace zyfa::bench {

cache::BinaryRecord stored_binary(std::size_t number); ///< 20 KB, a BF16 kernel's size
cache::WinnerRecord stored_winner(std::size_t number);

/// 50,000 winners with a binary of 2 KB each, made once and shared.
class LargeStore {
  public:
    static constexpr std::size_t winners = 50'000;
    static LargeStore& get();
    cache::Cache& cache() { return *cache_; }
    const std::string& path() const { return folder_.path(); }
    std::size_t next_new() { return winners + made_++; } ///< the number of an entry that is not there

  private:
    LargeStore();
    TemporaryFolder folder_;
    std::unique_ptr<cache::Cache> cache_;
    std::size_t made_ = 0;
};

} // namespace zyfa::bench
