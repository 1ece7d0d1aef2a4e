// SPDX-License-Identifier: Apache-2.0
// Tags of a set-associative cache: what was touched lately, not what it held.
#pragma once

#include <cstdint>
#include <vector>

namespace zyfa::sim::timing {

class TagArray {
  public:
    /// `line` and the number of sets are powers of two. Throws std::invalid_argument otherwise.
    TagArray(std::uint64_t bytes, unsigned line, unsigned ways);
    /// Whether the line that holds `address` (below 2^48) is present; makes it the most recently used.
    bool touch(std::uint64_t address);
    unsigned line() const noexcept { return 1u << line_bits_; }

  private:
    unsigned line_bits_ = 0, set_bits_ = 0, ways_;
    /// By set, the most recently used first: the bits of the line's number above the set's, plus 1; 0: empty.
    /// With 16 ways a set is one cache line of the host.
    std::vector<std::uint32_t> tags_;
};

} // namespace zyfa::sim::timing
