// SPDX-License-Identifier: Apache-2.0
// Memory operations of one wave that s_waitcnt has not yet vouched for. A load's result is held back, and its
// destination poisoned, until the counters guarantee it: what lands as late as the rules allow makes a
// missing wait visible in the data too.
#pragma once

#include "sim/sanitizer/traits.hpp"
#include "sim/wave.hpp"

#include <deque>
#include <memory>

namespace zyfa::sim::sanitizer {

/// Lanes of one access: a read2 or write2 has two of them.
struct LaneAccess {
    std::uint64_t address[lanes]; ///< as a flat address: LDS and scratch in their apertures
    std::uint8_t bytes[lanes];    ///< 0: out of a buffer's range
    std::uint64_t active = 0;
};

struct Operation {
    const Traits* traits = nullptr;
    Counter counter = Counter::none;
    std::uint32_t serial = 0; ///< among the wave's operations, from 1
    std::uint64_t issued = 0; ///< instructions of the wave so far
    bool early = false;       ///< landed at once, as a seed had it; the counters do not know yet
    bool vm_open = false, lgkm_open = false;
    // Result for registers.
    Use destination;
    std::uint64_t active = 0;
    std::uint32_t mask = ~0u; ///< bits of each register that are loaded
    std::vector<std::uint32_t> data;
    // Result for LDS.
    std::vector<std::uint32_t> lds_address;
    std::vector<std::byte> lds_data;
    unsigned lds_bytes = 0;           ///< per lane
    std::vector<std::uint32_t> cells; ///< dwords of LDS that it reads or writes
};

class PendingOperations {
  public:
    /// The last s_waitcnt and when it was, for reports.
    struct LastWait {
        const Traits* traits = nullptr;
        std::uint64_t at = 0;
    };

    bool empty() const noexcept { return vm_.empty() && lds_.empty() && unordered_.empty(); }
    bool registers_open() const noexcept { return open_ != 0; }
    bool open(unsigned unit) const noexcept { return units_[unit] != 0; }

    /// With a seed, about half of the operations land at once instead of as late as they may.
    void seed(std::uint64_t seed) noexcept { random_ = seed; }
    /// Before a memory instruction executes: lands what must have come back for the counters to take one
    /// more. Not later, as its own result may go where the older ones' do.
    void make_room(Wave& wave);
    /// A fresh operation that will be counted by `counter`.
    Operation& add(const Wave& wave, const Traits& t, Counter counter);
    /// Takes the executed load's result out of the registers and leaves poison.
    void hold_registers(Wave& wave, Operation& operation, std::uint64_t active, std::uint32_t mask);
    void wait(Wave& wave, unsigned vm, unsigned lgkm);
    void note_wait(const Traits& t, std::uint64_t at) noexcept { last_wait_ = {&t, at}; }

    /// Youngest operation that will still write the register; null if none.
    const Operation* writer_of(unsigned unit) const;
    /// Whether an operation that vmcnt counts has come back.
    bool landed(std::uint32_t serial) const noexcept { return vm_.empty() || vm_.front()->serial > serial; }
    /// Youngest load to LDS that will still write the byte.
    const Operation* writer_of_lds(std::uint64_t address) const;
    /// LDS-DMA: what the executed load has put there is held back, `before` is what was there.
    void hold_lds(Wave& wave, Operation& operation, const std::vector<std::byte>& before);
    /// "s_waitcnt vmcnt(2) needed, vmcnt(5) found"
    std::string fix(const Operation& operation) const;
    /// "vmcnt(2)"
    std::string needed(const Operation& operation) const;

    template <class F>
    void for_each(F&& f) {
        for (auto* queue : {&vm_, &lds_, &unordered_})
            for (auto& operation : *queue)
                f(*operation);
    }

  private:
    using Queue = std::deque<std::unique_ptr<Operation>>;
    void land(Wave& wave, Operation& operation);
    /// Whether one that is older lands later, in the same registers or bytes of LDS: then this one does, too.
    bool follows_late_one(const Operation& operation) const;
    void pop(Wave& wave, Queue& queue);

    Queue vm_, lds_, unordered_;
    std::vector<std::unique_ptr<Operation>> spare_;
    std::uint64_t random_ = 0;       ///< state of a generator; 0: everything lands late
    std::uint8_t units_[units] = {}; ///< operations that will write each register
    unsigned open_ = 0;
    std::uint32_t serial_ = 0;
    LastWait last_wait_;
};

} // namespace zyfa::sim::sanitizer
