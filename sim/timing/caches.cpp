// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/caches.hpp"

#include <stdexcept>

namespace zyfa::sim::timing {

TagArray::TagArray(std::uint64_t bytes, unsigned line, unsigned ways)
    : line_(line), ways_(ways), sets_(line != 0 && ways != 0 ? bytes / line / ways : 0), tags_(sets_ * ways),
      used_(sets_ * ways) {
    if (sets_ == 0 || sets_ * line * ways != bytes)
        throw std::invalid_argument("cache size is no multiple of line times ways");
}

bool TagArray::touch(std::uint64_t address) {
    const std::uint64_t tag = address / line_ + 1;
    // Attention's strides are powers of two; the hardware hashes its sets too, so fold upper bits in.
    const std::uint64_t set = (tag ^ tag >> 11 ^ tag >> 17) % sets_;
    std::uint64_t* const tags = tags_.data() + set * ways_;
    std::uint32_t* const used = used_.data() + set * ways_;
    ++clock_;
    unsigned oldest = 0;
    for (unsigned way = 0; way < ways_; ++way) {
        if (tags[way] == tag) {
            used[way] = clock_;
            return true;
        }
        if (clock_ - used[way] > clock_ - used[oldest] || (tags[way] == 0 && tags[oldest] != 0))
            oldest = way;
    }
    tags[oldest] = tag;
    used[oldest] = clock_;
    return false;
}

} // namespace zyfa::sim::timing
