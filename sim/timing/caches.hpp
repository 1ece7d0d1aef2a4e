// SPDX-License-Identifier: Apache-2.0
// Tags of a set-associative cache: what was touched lately, not what it held.
#pragma once

#include <cstdint>
#include <vector>

namespace zyfa::sim::timing {

class TagArray {
  public:
    /// `bytes` must be a multiple of line * ways. Throws std::invalid_argument otherwise.
    TagArray(std::uint64_t bytes, unsigned line, unsigned ways);
    /// Whether the line that holds `address` is present; makes it the most recently used.
    bool touch(std::uint64_t address);
    unsigned line() const noexcept { return line_; }

  private:
    unsigned line_, ways_;
    std::uint64_t sets_;
    std::uint32_t clock_ = 0;
    std::vector<std::uint64_t> tags_; ///< line number + 1; 0: empty
    std::vector<std::uint32_t> used_; ///< clock_ at the last touch
};

} // namespace zyfa::sim::timing
