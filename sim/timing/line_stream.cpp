// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/line_stream.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace zyfa::sim::timing {

namespace {

void append_new(std::vector<std::uint64_t>& lines, std::uint64_t line) {
    if (lines.empty() || (lines.back() != line && std::find(lines.begin(), lines.end(), line) == lines.end()))
        lines.push_back(line);
}

/// The words of a buffer descriptor (CDNA4 ISA, buffer resource descriptor).
std::uint64_t base_of(const Wave& wave, const Instruction& i) {
    const std::uint32_t* words = wave.s + i.src[2].index;
    return std::uint64_t{words[0]} | std::uint64_t{words[1] & 0xffff} << 32;
}

} // namespace

LineObserver::LineObserver(unsigned line_bytes)
    : line_bits_(static_cast<unsigned>(std::countr_zero(line_bytes))) {}

void LineObserver::access(Wave& wave, const Instruction& i, const std::uint64_t* addresses,
                          std::uint64_t active, unsigned) {
    if (i.kind != InstructionClass::vmem || (i.flags & flag::load) == 0 || (i.flags & flag::scratch) != 0)
        return;
    if ((i.flags & flag::global) == 0)
        active &= ~wave.thread->partial;
    lines_.clear();
    for (; active != 0; active &= active - 1)
        append_new(lines_, addresses[std::countr_zero(active)] >> line_bits_);
    if (!lines_.empty())
        load(wave, lines_);
}

void LineStream::load(const Wave& wave, std::span<const std::uint64_t> lines) {
    std::uint64_t digest = 1469598103934665603ull; // FNV-1a's start, by words
    for (const std::uint64_t line : lines)
        digest = (digest ^ line) * 1099511628211ull;
    digests_[wave.id].push_back(digest);
}

bool LineStream::begins(const LineStream& other) const {
    for (std::size_t wave = 0; wave < digests_.size(); ++wave)
        if (digests_[wave].size() > other.digests_[wave].size() ||
            !std::equal(digests_[wave].begin(), digests_[wave].end(), other.digests_[wave].begin()))
            return false;
    return true;
}

bool LineMemo::fits(const Pattern& pattern, const Wave& wave, const Instruction& i, unsigned line_bits) {
    return pattern.known && wave.s[i.src[2].index + 2] >= pattern.end &&
           (base_of(wave, i) & ((1u << line_bits) - 1)) == pattern.low_base &&
           read32(wave, i.src[3]) == pattern.scalar_offset &&
           std::memcmp(pattern.offsets, wave.v + i.src[0].value, sizeof pattern.offsets) == 0;
}

void LineMemo::learn(Pattern& pattern, const Wave& wave, const Instruction& i, unsigned line_bits) {
    std::memcpy(pattern.offsets, wave.v + i.src[0].value, sizeof pattern.offsets);
    pattern.scalar_offset = read32(wave, i.src[3]);
    pattern.low_base = static_cast<std::uint32_t>(base_of(wave, i) & ((1u << line_bits) - 1));
    pattern.end = 0;
    pattern.lines.clear();
    for (const std::uint32_t offset : pattern.offsets) {
        const std::uint64_t at = std::uint64_t{offset + i.imm} + pattern.scalar_offset;
        pattern.end = std::max(pattern.end, at + i.bytes);
        append_new(pattern.lines, (pattern.low_base + at) >> line_bits);
    }
    pattern.known = true;
}

bool LineMemo::load(Wave& wave, const Instruction& i, std::size_t number, LineObserver& observer) {
    // Raw buffers with an offset per lane; no stride, no swizzle, every lane active, dwords.
    if (i.kind != InstructionClass::vmem || i.src[2].kind != OperandKind::sgpr || i.src[2].words != 4 ||
        (i.flags & (flag::offen | flag::idxen | flag::load)) != (flag::offen | flag::load) || i.bytes < 4 ||
        wave.exec() != ~0ull)
        return false;
    const std::uint32_t* descriptor = wave.s + i.src[2].index;
    if (descriptor[1] >> 31 != 0 || (descriptor[3] >> 23 & 1) != 0)
        return false;
    Pattern& pattern = patterns_[number * waves_ + wave.id];
    if (!fits(pattern, wave, i, observer.line_bits())) {
        learn(pattern, wave, i, observer.line_bits());
        if (!fits(pattern, wave, i, observer.line_bits()))
            return false; // some lanes lie beyond the buffer's end
    }
    const std::uint64_t first = base_of(wave, i) >> observer.line_bits();
    lines_.clear();
    for (const std::uint64_t line : pattern.lines)
        lines_.push_back(first + line);
    observer.load(wave, lines_);
    return true;
}

} // namespace zyfa::sim::timing
