// SPDX-License-Identifier: Apache-2.0
// Growth and publication of the dispatch table.
#include "attention/dispatch_table.hpp"

namespace zyfa::call {

struct DispatchTable::Entry {
    CallKey key;
    std::uint64_t hash;
    std::atomic<const Resident*> resident;
};

struct DispatchTable::Array {
    explicit Array(std::size_t size) : mask(size - 1), slots(size) {}
    std::size_t mask; ///< size - 1; the size is a power of two
    std::vector<std::atomic<Entry*>> slots;
};

namespace {

constexpr std::size_t first_size = 64;

std::uint64_t next_version() {
    static std::atomic<std::uint64_t> counter{1}; // 0 is what a thread that remembers nothing holds
    return counter.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

DispatchTable::DispatchTable() : version_(next_version()) {
    publish(std::make_unique<Array>(first_size));
}

DispatchTable::~DispatchTable() = default;

DispatchTable::Entry* DispatchTable::probe(const Array& array, const CallKey& key,
                                           std::uint64_t hash) noexcept {
    for (std::size_t i = hash & array.mask;; i = (i + 1) & array.mask) {
        Entry* entry = array.slots[i].load(std::memory_order_acquire);
        if (!entry || (entry->hash == hash && entry->key == key))
            return entry;
    }
}

void DispatchTable::place(Array& array, Entry* entry) noexcept {
    std::size_t i = entry->hash & array.mask;
    while (array.slots[i].load(std::memory_order_relaxed))
        i = (i + 1) & array.mask;
    array.slots[i].store(entry, std::memory_order_release);
}

const Resident* DispatchTable::find(const CallKey& key) const noexcept {
    const Entry* entry = probe(*array_.load(std::memory_order_acquire), key, hash(key));
    return entry ? entry->resident.load(std::memory_order_acquire) : nullptr;
}

void DispatchTable::insert(const CallKey& key, const Resident* resident) {
    const std::lock_guard lock(writing_);
    insert_locked(key, resident);
}

void DispatchTable::insert(const CallKey& key, const Resident* resident, std::uint64_t generation) {
    const std::lock_guard lock(writing_);
    if (generation_.load(std::memory_order_relaxed) == generation)
        insert_locked(key, resident);
}

void DispatchTable::insert_locked(const CallKey& key, const Resident* resident) {
    const std::uint64_t hashed = hash(key);
    if (Entry* known = probe(*arrays_.back(), key, hashed)) {
        if (known->resident.exchange(resident, std::memory_order_acq_rel) != resident)
            version_.store(next_version(), std::memory_order_release);
        return;
    }
    entries_.push_back(std::make_unique<Entry>());
    Entry* entry = entries_.back().get();
    entry->key = key;
    entry->hash = hashed;
    entry->resident.store(resident, std::memory_order_relaxed);
    if (2 * (entries_.size() - first_live_) <=
        arrays_.back()->slots.size()) { // at most half full: probes stay short
        place(*arrays_.back(), entry);
        return;
    }
    auto grown = std::make_unique<Array>(2 * arrays_.back()->slots.size());
    for (std::size_t i = first_live_; i < entries_.size(); ++i)
        place(*grown, entries_[i].get());
    publish(std::move(grown));
}

void DispatchTable::clear() {
    const std::lock_guard lock(writing_);
    first_live_ = entries_.size();
    generation_.fetch_add(1, std::memory_order_release);
    publish(std::make_unique<Array>(first_size));
    version_.store(next_version(), std::memory_order_release);
}

void DispatchTable::publish(std::unique_ptr<Array> array) {
    arrays_.push_back(std::move(array));
    array_.store(arrays_.back().get(), std::memory_order_release);
}

} // namespace zyfa::call
