// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/races.hpp"

namespace zyfa::sim::sanitizer {

GlobalRaces::Page* GlobalRaces::page(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    const auto found = pages_.find(address / page_bytes);
    if (found != pages_.end())
        return found->second.get();
    if (pages_.size() >= page_limit) {
        limited_.store(true, std::memory_order_relaxed);
        return nullptr;
    }
    return pages_.emplace(address / page_bytes, std::make_unique<Page>()).first->second.get();
}

} // namespace zyfa::sim::sanitizer
