// SPDX-License-Identifier: Apache-2.0
// The LDS phases and banks that HipKittens measured on an MI355X, as the counter saw them: two lanes conflict
// if and only if they share a phase and their dwords share a bank.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/timing/lds_banks.hpp"

using namespace zyfa::sim::timing;

namespace {

/// "0-3,12-15" as lanes.
std::vector<unsigned> lanes_of(const std::string& text) {
    std::vector<unsigned> lanes;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, end - at);
        const auto dash = part.find('-');
        const unsigned first = static_cast<unsigned>(std::stoul(part));
        const unsigned last =
            dash == std::string::npos ? first : static_cast<unsigned>(std::stoul(part.substr(dash + 1)));
        for (unsigned lane = first; lane <= last; ++lane)
            lanes.push_back(lane);
        at = end + 1;
    }
    return lanes;
}

struct Measured {
    const char* name;
    LdsDirection direction;
    unsigned bytes, banks;
    std::vector<std::string> phases;
};

const std::vector<Measured> measured = {
    {"ds_read_b128",
     LdsDirection::read,
     16,
     64,
     {"0-3,12-15,20-27", "4-11,16-19,28-31", "32-35,44-47,52-59", "36-43,48-51,60-63"}},
    {"ds_read_b64", LdsDirection::read, 8, 64, {"0-31", "32-63"}},
    {"ds_read_b96",
     LdsDirection::read,
     12,
     32,
     {"0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27", "32-35,52-55", "36-39,48-51", "40-43,60-63",
      "44-47,56-59"}},
    {"ds_write_b64", LdsDirection::write, 8, 32, {"0-15", "16-31", "32-47", "48-63"}},
};

} // namespace

TEST_CASE("lanes conflict exactly where the MI355X's counter saw it") {
    for (const Measured& m : measured) {
        CAPTURE(m.name);
        std::array<int, 64> phase_of{};
        for (std::size_t n = 0; n < m.phases.size(); ++n)
            for (const unsigned lane : lanes_of(m.phases[n]))
                phase_of[lane] = static_cast<int>(n);
        for (unsigned a = 0; a < 64; ++a)
            for (unsigned b = 0; b < 64; ++b) {
                if (a == b)
                    continue;
                std::array<std::uint64_t, 64> address{};
                address[a] = 0;
                address[b] = 4ull * m.banks; // same bank, other dword
                const std::uint64_t active = 1ull << a | 1ull << b;
                const unsigned conflicts = lds_conflicts(m.direction, m.bytes, address.data(), active);
                REQUIRE(conflicts == (phase_of[a] == phase_of[b] ? 1u : 0u));
            }
    }
}

TEST_CASE("addresses wrap after the measured number of banks") {
    for (const Measured& m : measured) {
        CAPTURE(m.name);
        const unsigned dwords = m.bytes / 4;
        for (unsigned bank = dwords; bank <= 128; ++bank) {
            std::array<std::uint64_t, 64> address{};
            address[1] = 4ull * bank; // lanes 0 and 1 share a phase in every measured case
            const bool overlap = bank % m.banks < dwords || bank % m.banks > m.banks - dwords;
            CHECK(lds_conflicts(m.direction, m.bytes, address.data(), 3) == (overlap ? 1u : 0u));
        }
    }
}

TEST_CASE("equal addresses broadcast") {
    std::array<std::uint64_t, 64> address{};
    CHECK(lds_conflicts(LdsDirection::read, 16, address.data(), ~0ull) == 0);
    CHECK(lds_passes(LdsDirection::read, 16, address.data(), ~0ull) == 4);
}

TEST_CASE("conflict ways of known layouts") {
    std::array<std::uint64_t, 64> address{};
    const auto ways = [&] { return lds_passes(LdsDirection::read, 16, address.data(), ~0ull) / 4; };
    for (unsigned t = 0; t < 64; ++t)
        address[t] = 128ull * t;
    CHECK(ways() == 8);
    for (unsigned t = 0; t < 64; ++t)
        address[t] = 16ull * t;
    CHECK(ways() == 1);
    for (unsigned t = 0; t < 64; ++t)
        address[t] = 144ull * t;
    CHECK(ways() == 1);
    // AITER's K layout: half rows of 64 bytes, 8 keys to a block of 1040 bytes.
    for (unsigned t = 0; t < 64; ++t)
        address[t] = 1040ull * (t % 32 / 8) + 64ull * (t % 8) + 16ull * (t / 32);
    CHECK(ways() == 1);
}

TEST_CASE("port cycles of conflict-free accesses follow the lanes per clock") {
    std::array<std::uint64_t, 64> address{};
    const auto cycles = [&](LdsDirection direction, unsigned bytes) {
        for (unsigned t = 0; t < 64; ++t)
            address[t] = std::uint64_t{bytes} * t;
        return lds_port_cycles(direction, bytes, address.data(), ~0ull);
    };
    CHECK(cycles(LdsDirection::read, 4) == 4);
    CHECK(cycles(LdsDirection::read, 8) == 4);
    CHECK(cycles(LdsDirection::read, 16) == 8);
    CHECK(cycles(LdsDirection::write, 4) == 8);
    CHECK(cycles(LdsDirection::write, 8) == 12);
    CHECK(cycles(LdsDirection::write, 16) == 20);
}
