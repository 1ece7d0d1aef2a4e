// SPDX-License-Identifier: Apache-2.0
// One host thread's window on the allocation registry: recent allocations are remembered, so that checking
// an access takes no lock in the usual case.
#pragma once

#include "sim/engine.hpp"

namespace zyfa::sim {

class MemoryView {
  public:
    explicit MemoryView(const Memory& memory) : memory_(&memory) {}
    /// Forgets what may have been released since; call between turns, not between accesses.
    void refresh();
    /// Whether [address, address + size) lies inside one live allocation; size > 0.
    /// `use`: what for, remembered per allocation; 0 for a mere question.
    bool contains(std::uint64_t address, std::uint64_t size, std::uint8_t use = 0) {
        for (Range& range : ranges_) {
            const std::uint64_t offset = address - range.begin;
            if (offset < range.size && size <= range.size - offset) {
                range.use |= use;
                return true;
            }
        }
        return look_up(address, size, use);
    }
    const Memory& memory() const noexcept { return *memory_; }

    static constexpr std::uint8_t reads = 1, writes = 2;
    struct Use {
        std::uint64_t begin = 0, size = 0;
        std::uint8_t use = 0;
    };
    /// Adds the allocations used since the last call, each possibly more than once.
    void take_uses(std::vector<Use>& uses);

  private:
    using Range = Use;
    bool look_up(std::uint64_t address, std::uint64_t size, std::uint8_t use);

    const Memory* memory_;
    std::array<Range, 6> ranges_{};
    std::vector<Use> used_; ///< of ranges that had to make room
    std::size_t next_ = 0;
    std::uint64_t generation_ = 0;
};

} // namespace zyfa::sim
