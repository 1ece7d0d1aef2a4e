// SPDX-License-Identifier: Apache-2.0
// K and V in LDS: the transfers fill every byte once, and reads are free of bank conflicts by the phases and
// banks measured on MI355X (HipKittens).
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "templates/attention/bf16_registers.hpp"

using namespace zyfa::templates::attention;

namespace {

using Lanes = std::vector<unsigned>;

/// Lanes that compete, for ds_read_b128 (HipKittens); the second half of the wave likewise.
std::vector<Lanes> phases_b128() {
    std::vector<Lanes> out{{0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27},
                           {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31}};
    for (unsigned i = 0; i < 2; ++i) {
        Lanes upper = out[i];
        for (unsigned& lane : upper)
            lane += 32;
        out.push_back(upper);
    }
    return out;
}

/// ds_read_b64 and ds_read_b64_tr_*: lanes 0-31, then 32-63.
std::vector<Lanes> phases_b64() {
    std::vector<Lanes> out(2);
    for (unsigned lane = 0; lane < 64; ++lane)
        out[lane / 32].push_back(lane);
    return out;
}

/// ds_write_b128: 8 consecutive lanes, 32 banks (AMD rocRoller LDSBankModel).
std::vector<Lanes> phases_write_b128() {
    std::vector<Lanes> out(8);
    for (unsigned lane = 0; lane < 64; ++lane)
        out[lane / 8].push_back(lane);
    return out;
}

/// Distinct dword addresses on the busiest bank of the worst phase.
template <typename Address>
unsigned ways(const std::vector<Lanes>& phases, unsigned banks, unsigned dwords, Address&& address) {
    unsigned worst = 0;
    for (const Lanes& lanes : phases) {
        std::vector<std::set<unsigned>> bank(banks);
        for (unsigned lane : lanes)
            for (unsigned d = 0; d < dwords; ++d) {
                const unsigned dword = address(lane) / 4 + d;
                bank[dword % banks].insert(dword);
            }
        for (const auto& addresses : bank)
            worst = std::max(worst, static_cast<unsigned>(addresses.size()));
    }
    return worst;
}

} // namespace

TEST_CASE("a block's transfers fill its rows exactly, at the layout's place") {
    for (const KvLayout layout : {bf16_d128.k(), bf16_d192.k(), bf16_d128.v()}) {
        std::set<unsigned> filled;
        for (unsigned wave = 0; wave < 8; ++wave)
            for (unsigned chunk = 0; chunk < layout.chunks(); ++chunk)
                for (unsigned lane = 0; lane < 64; ++lane) {
                    // where the hardware puts it: M0 of wave and chunk, 16 bytes per lane
                    const unsigned lds = wave * layout.pitch + chunk * layout.chunk_bytes() + 16 * lane;
                    CHECK(lds == layout.offset(dma_key(wave, lane), 128 * chunk + dma_byte(lane)));
                    CHECK(lds + 16 <= layout.bytes());
                    CHECK(filled.insert(lds).second);
                }
        CHECK(filled.size() == layout.keys * layout.row_bytes / 16);
    }
}

TEST_CASE("operand reads reach the keys and columns of their fragment") {
    const KvLayout k = bf16_d192.k(), v = bf16_d192.v();
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned tile = 0; tile < 2; ++tile)
            for (unsigned step = 0; step < bf16_d192.qk_steps(); ++step)
                CHECK(k_read_lane(k, lane) + k_read_constant(k, tile, step) ==
                      k.offset(32 * tile + lane % 32, 2 * (16 * step + 8 * (lane / 32))));
        for (unsigned tile = 0; tile < 4; ++tile)
            for (unsigned step = 0; step < 4; ++step)
                for (unsigned half = 0; half < 2; ++half)
                    CHECK(v_read_lane(v, lane) + v_read_constant(v, tile, step, half) ==
                          v.offset(16 * step + 8 * half + 4 * (lane / 32) + lane % 16 / 4,
                                   2 * (32 * tile + 16 * (lane % 32 / 16) + 4 * (lane % 4))));
    }
}

TEST_CASE("no bank conflict in K reads, V reads and the staging of O") {
    using G = Bf16Geometry;
    for (const Bf16Geometry& g : {bf16_d128, bf16_d192}) {
        CHECK(ways(phases_b128(), 64, 4, [&](unsigned lane) { return k_read_lane(g.k(), lane); }) == 1);
        CHECK(ways(phases_b64(), 64, 2, [&](unsigned lane) { return v_read_lane(g.v(), lane); }) == 1);
    }
    CHECK(ways(phases_write_b128(), 32, 4,
               [](unsigned lane) { return lane % 32 * G::stage_pitch + 16 * (lane / 32); }) == 1);
    // Without padding, neighbouring keys would lie on the same banks.
    const KvLayout plain{1024, 256};
    CHECK(ways(phases_b128(), 64, 4, [&](unsigned lane) { return k_read_lane(plain, lane); }) == 8);
    CHECK(ways(phases_b64(), 64, 2, [&](unsigned lane) { return v_read_lane(plain, lane); }) == 4);
}

TEST_CASE("operand registers are a ring: V of the next block is in place when QK ends") {
    for (const Bf16Geometry& g : {bf16_d128, bf16_d192}) {
        std::set<unsigned> last;
        for (unsigned j = 0; j < g.qk_products(); ++j) {
            CHECK(g.k_fragment_slot(j) < g.fragments());
            // a register's next user comes a full turn later
            if (j >= g.fragments())
                CHECK(g.k_fragment_slot(j) == g.k_fragment_slot(j - g.fragments()));
            if (j + Bf16Geometry::spare_fragments >= g.qk_products())
                last.insert(g.k_fragment_slot(j));
        }
        CHECK(*last.begin() == g.pv_products()); // QK's last products use none of V's registers
        CHECK(last.size() == Bf16Geometry::spare_fragments);
    }
}
