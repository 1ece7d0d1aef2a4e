// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/caches.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace zyfa::sim::timing {

TagArray::TagArray(std::uint64_t bytes, unsigned line, unsigned ways) : ways_(ways) {
    const std::uint64_t sets = line != 0 && ways != 0 ? bytes / line / ways : 0;
    if (!std::has_single_bit(line) || !std::has_single_bit(sets) || sets * line * ways != bytes)
        throw std::invalid_argument("cache of " + std::to_string(bytes) +
                                    " bytes: line size and number of sets must be powers of two");
    line_bits_ = static_cast<unsigned>(std::countr_zero(line));
    set_bits_ = static_cast<unsigned>(std::countr_zero(sets));
    tags_.resize(sets * ways);
}

bool TagArray::touch(std::uint64_t address) {
    const std::uint64_t number = address >> line_bits_;
    // Attention's strides are powers of two; the hardware hashes its sets too, so fold upper bits in. A set
    // and the upper bits still name one line only.
    const std::uint64_t set = (number ^ number >> 11 ^ number >> 17) & ((1ull << set_bits_) - 1);
    const auto tag = static_cast<std::uint32_t>((number >> set_bits_) + 1);
    std::uint32_t* const tags = tags_.data() + set * ways_;
    if (tags[0] == tag)
        return true;
    unsigned way = 1;
    while (way < ways_ && tags[way] != tag)
        ++way;
    const bool present = way < ways_;
    std::memmove(tags + 1, tags, sizeof *tags * (present ? way : ways_ - 1));
    tags[0] = tag;
    return present;
}

} // namespace zyfa::sim::timing
