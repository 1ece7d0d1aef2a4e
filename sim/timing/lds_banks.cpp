// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/lds_banks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace zyfa::sim::timing {

namespace {

constexpr std::uint64_t range(unsigned first, unsigned last) {
    return (last == 63 ? ~0ull : (1ull << (last + 1)) - 1) & ~((1ull << first) - 1);
}

constexpr std::array<std::uint64_t, 4> read_b128 = {
    range(0, 3) | range(12, 15) | range(20, 27), range(4, 11) | range(16, 19) | range(28, 31),
    range(32, 35) | range(44, 47) | range(52, 59), range(36, 43) | range(48, 51) | range(60, 63)};
constexpr std::array<std::uint64_t, 8> read_b96 = {
    range(0, 3) | range(20, 23),   range(4, 7) | range(16, 19),   range(8, 11) | range(28, 31),
    range(12, 15) | range(24, 27), range(32, 35) | range(52, 55), range(36, 39) | range(48, 51),
    range(40, 43) | range(60, 63), range(44, 47) | range(56, 59)};
constexpr std::array<std::uint64_t, 2> halves = {range(0, 31), range(32, 63)};
constexpr std::array<std::uint64_t, 4> quarters = {range(0, 15), range(16, 31), range(32, 47), range(48, 63)};
constexpr std::array<std::uint64_t, 8> eighths = {range(0, 7),   range(8, 15),  range(16, 23), range(24, 31),
                                                  range(32, 39), range(40, 47), range(48, 55), range(56, 63)};

unsigned lanes_per_clock(LdsDirection direction, unsigned bytes) {
    if (direction == LdsDirection::read)
        return bytes <= 8 ? 16 : bytes <= 12 ? 4 : 8;
    return bytes <= 4 ? 16 : bytes <= 8 ? 8 : 4;
}

} // namespace

LdsPhases lds_phases(LdsDirection direction, unsigned bytes) {
    if (direction == LdsDirection::read) {
        if (bytes > 12)
            return {read_b128, 64};
        if (bytes > 8)
            return {read_b96, 32};
        return bytes > 4 ? LdsPhases{halves, 64} : LdsPhases{quarters, 32};
    }
    return bytes > 8 ? LdsPhases{eighths, 32} : LdsPhases{quarters, 32};
}

unsigned lds_passes(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                    std::uint64_t active) {
    const LdsPhases phases = lds_phases(direction, bytes);
    const unsigned dwords = std::max(1u, bytes / 4);
    unsigned passes = 0;
    for (const std::uint64_t phase : phases.lanes) {
        // At most 32 lanes x 4 dwords; distinct dwords per bank, found by a short list per bank.
        std::array<std::array<std::uint64_t, 32>, 64> seen;
        std::array<std::uint8_t, 64> count{};
        unsigned worst = 0;
        for (std::uint64_t lanes = phase & active; lanes != 0; lanes &= lanes - 1) {
            const std::uint64_t first = addresses[std::countr_zero(lanes)] / 4;
            for (unsigned n = 0; n < dwords; ++n) {
                const std::uint64_t dword = first + n;
                const std::size_t bank = dword % phases.banks;
                std::array<std::uint64_t, 32>& list = seen[bank];
                const auto end = list.begin() + count[bank];
                if (std::find(list.begin(), end, dword) != end)
                    continue;
                if (count[bank] < list.size())
                    list[count[bank]++] = dword;
                worst = std::max<unsigned>(worst, count[bank]);
            }
        }
        passes += worst;
    }
    return passes;
}

unsigned lds_conflicts(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                       std::uint64_t active) {
    unsigned phases = 0;
    for (const std::uint64_t phase : lds_phases(direction, bytes).lanes)
        phases += (phase & active) != 0;
    return lds_passes(direction, bytes, addresses, active) - phases;
}

unsigned lds_port_cycles(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                         std::uint64_t active) {
    const unsigned dwords = std::max(1u, bytes / 4);
    const unsigned data = 64 / lanes_per_clock(direction, bytes);
    const unsigned phases = static_cast<unsigned>(lds_phases(direction, bytes).lanes.size());
    const unsigned passes = lds_passes(direction, bytes, addresses, active);
    const unsigned issue = 4 + (direction == LdsDirection::write ? 4 * dwords : 0);
    return std::max((data * passes + phases - 1) / phases, issue);
}

} // namespace zyfa::sim::timing
