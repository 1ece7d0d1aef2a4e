// SPDX-License-Identifier: Apache-2.0
// Register allocation by name. A kernel asks for ranges, gives some back when their live range ends, and the
// map is printed at the head of its assembly.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "templates/asm/registers.hpp"

namespace zyfa::templates::isa {

template <Bank B>
class Allocator {
  public:
    /// `capacity`: registers that may be used (VGPRs: 256 per bank; SGPRs: 102 beside VCC, CDNA4 ISA).
    explicit Allocator(unsigned capacity) : used_(capacity, false) {}

    /// The lowest free run. Wide operands want alignment: 2 for vector tuples (gfx90a and later), 2 or 4 for
    /// scalar ones. `note` says what the range holds; it is printed in the map.
    Registers<B> allocate(const std::string& name, unsigned count, unsigned alignment, std::string note);
    /// A second name for a part of a live range.
    Registers<B> alias(const std::string& name, Registers<B> part, std::string note);
    /// Ends a live range; later allocations may reuse it.
    void release(Registers<B> range);

    unsigned peak() const { return peak_; }

    struct Entry {
        std::string name, note;
        unsigned first = 0, count = 0;
        bool alias = false;
    };
    const std::deque<Entry>& entries() const { return entries_; }

  private:
    std::vector<bool> used_;
    std::deque<Entry> entries_; ///< stable: registers point at the names
    unsigned peak_ = 0;
};
using VAllocator = Allocator<Bank::vgpr>;
using AAllocator = Allocator<Bank::agpr>;
using SAllocator = Allocator<Bank::sgpr>;

/// The assembler symbols of all allocations and, beside each, what it holds.
template <Bank B>
std::string register_map(const Allocator<B>& allocator);

} // namespace zyfa::templates::isa
