// SPDX-License-Identifier: Apache-2.0
// Which cache lines the vector loads of a workgroup ask for, in their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/wave.hpp"

namespace zyfa::sim::timing {

/// Is told of the lines of every load: each once, in the order of the lanes that ask first. What lies beyond
/// a buffer's end, scratch and stores are left out.
class LineObserver : public Observer {
  public:
    explicit LineObserver(unsigned line_bytes);
    void access(Wave& wave, const Instruction& i, const std::uint64_t* addresses, std::uint64_t active,
                unsigned bytes) final;
    /// Of one load: numbers of lines.
    virtual void load(const Wave& wave, std::span<const std::uint64_t> lines) = 0;
    unsigned line_bits() const noexcept { return line_bits_; }

  private:
    unsigned line_bits_;
    std::vector<std::uint64_t> lines_;
};

/// A digest of the lines of every load, wave by wave.
class LineStream final : public LineObserver {
  public:
    LineStream(std::size_t waves, unsigned line_bytes) : LineObserver(line_bytes), digests_(waves) {}
    void load(const Wave& wave, std::span<const std::uint64_t> lines) override;
    /// Whether every wave of `other` began with the loads of this one.
    bool begins(const LineStream& other) const;

  private:
    std::vector<std::vector<std::uint64_t>> digests_; ///< by wave, one per load
};

/// The lines of raw buffer loads relative to the buffer's base, remembered by instruction and wave: a
/// kernel's offsets are the same from block to block and from workgroup to workgroup, only bases move.
class LineMemo {
  public:
    LineMemo(std::size_t instructions, std::size_t waves) : waves_(waves), patterns_(instructions * waves) {}
    /// Tells the observer of instruction `number`'s lines. False: not known, the instruction itself must ask.
    bool load(Wave& wave, const Instruction& i, std::size_t number, LineObserver& observer);

  private:
    struct Pattern {
        bool known = false;
        std::uint32_t offsets[lanes];
        std::uint32_t scalar_offset = 0, low_base = 0; ///< soffset; the base's place in its line
        std::uint64_t end = 0;                         ///< least num_records that holds every lane
        std::vector<std::uint64_t> lines;              ///< from the base's line on
    };
    static bool fits(const Pattern& pattern, const Wave& wave, const Instruction& i, unsigned line_bits);
    static void learn(Pattern& pattern, const Wave& wave, const Instruction& i, unsigned line_bits);

    std::size_t waves_;
    std::vector<Pattern> patterns_;
    std::vector<std::uint64_t> lines_;
};

} // namespace zyfa::sim::timing
