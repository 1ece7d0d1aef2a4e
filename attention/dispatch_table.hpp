// SPDX-License-Identifier: Apache-2.0
// The in-process table of resident kernels: read without locks on every call, written rarely.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "attention/call_key.hpp"

namespace zyfa::call {

struct Resident;

/// Open addressing over atomic pointers to entries that never move or die before the table. A reader sees
/// either the array before a growth or the one after it; old arrays stay until the table goes (they add up to
/// no more than the newest one).
class DispatchTable {
  public:
    DispatchTable();
    ~DispatchTable();
    DispatchTable(const DispatchTable&) = delete;
    DispatchTable& operator=(const DispatchTable&) = delete;

    /// Null if the key is not there. Lock-free.
    const Resident* find(const CallKey& key) const noexcept;
    /// Adds the key, or lets it lead to another resident kernel from the next call on.
    void insert(const CallKey& key, const Resident* resident);
    /// The same, unless the table was emptied since `generation` was asked for: what has been selected by
    /// then may be outdated.
    void insert(const CallKey& key, const Resident* resident, std::uint64_t generation);
    std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

    /// Empties the table. Residents that calls under way have found stay valid: they are not the table's.
    void clear();

    /// Changes when a key is made to lead elsewhere or nowhere; no two tables of a process ever have the
    /// same. What a thread remembers of a look-up holds as long as this does.
    std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  private:
    struct Entry;
    struct Array;
    static Entry* probe(const Array& array, const CallKey& key, std::uint64_t hash) noexcept;
    static void place(Array& array, Entry* entry) noexcept;
    void insert_locked(const CallKey& key, const Resident* resident);
    void publish(std::unique_ptr<Array> array);

    std::atomic<const Array*> array_;
    std::atomic<std::uint64_t> version_;
    std::atomic<std::uint64_t> generation_{0}; ///< how often the table was emptied
    std::mutex writing_;
    std::vector<std::unique_ptr<Array>> arrays_;
    std::vector<std::unique_ptr<Entry>> entries_; ///< the newest array holds those from first_live_ on
    std::size_t first_live_ = 0;
};

} // namespace zyfa::call
