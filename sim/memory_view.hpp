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
    void refresh() noexcept;
    /// Whether [address, address + size) lies inside one live allocation; size > 0.
    bool contains(std::uint64_t address, std::uint64_t size) noexcept {
        for (const Range& range : ranges_) {
            const std::uint64_t offset = address - range.begin;
            if (offset < range.size && size <= range.size - offset)
                return true;
        }
        return look_up(address, size);
    }
    const Memory& memory() const noexcept { return *memory_; }

  private:
    struct Range {
        std::uint64_t begin = 0, size = 0;
    };
    bool look_up(std::uint64_t address, std::uint64_t size) noexcept;

    const Memory* memory_;
    std::array<Range, 6> ranges_{};
    std::size_t next_ = 0;
    std::uint64_t generation_ = 0;
};

} // namespace zyfa::sim
