// SPDX-License-Identifier: Apache-2.0
// The model of a compute unit: when waves end.
#include "tests/sim/engine_fixture.hpp"

#include "sim/timing/parameters.hpp"
#include "sim/timing/report.hpp"

#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;
using timing::Stall;

namespace {

std::shared_ptr<const timing::TimingReport> timed(const std::string& body, std::uint32_t waves = 1) {
    Machine machine;
    machine.load("s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\n"
                 "s_waitcnt lgkmcnt(0)\n" +
                 body);
    const auto argument = reinterpret_cast<std::uint64_t>(machine.buffer<float>(64 * waves));
    Launch launch;
    launch.kernel = machine.code().kernel("k");
    launch.code = std::shared_ptr<CodeObject>(std::shared_ptr<void>(), &machine.code());
    launch.block = {64 * waves, 1, 1};
    launch.kernarg = std::as_bytes(std::span(&argument, 1));
    launch.timed_workgroups = 1;
    const LaunchResult result = machine.engine().run(launch);
    REQUIRE_MESSAGE(!result.fault, text(result));
    REQUIRE(result.timing.size() == 1);
    return result.timing.front();
}

timing::Cycle waited_for_memory(const timing::WaveProfile& wave) {
    return wave.stalled[static_cast<unsigned>(Stall::vmcnt)];
}

const std::string store = "global_store_dword v1, v2, s[4:5]\n", wait = "s_waitcnt vmcnt(0)\n";

} // namespace

TEST_CASE("compute unit: a wave ends when its stores are done, and not later") {
    const timing::Cycle latency = timing::Parameters{}.store_latency;
    const auto plain = timed(""), storing = timed(store), waiting = timed(store + wait);
    CHECK(storing->cycles >= plain->cycles + latency);
    CHECK(storing->cycles <= plain->cycles + latency + 16);
    CHECK(waited_for_memory(plain->waves[0]) == 0);
    CHECK(waited_for_memory(storing->waves[0]) > latency - 16);
    // Who waits himself does not wait twice, and who has long stored does not wait.
    CHECK(waiting->cycles <= storing->cycles + 8);
    std::string work;
    for (unsigned n = 0; n < 8; ++n)
        work += "s_nop 15\n"; // 64 cycles
    CHECK(timed(store + work)->cycles == timed(work + "v_mov_b32 v3, 0\n")->cycles);
    CHECK(waited_for_memory(timed(store + work)->waves[0]) == 0);
}

TEST_CASE("compute unit: a wave that waits for its stores holds up its own end only") {
    // Wave 0 stores and ends; the others never store.
    const std::string body =
        "v_readfirstlane_b32 s8, v0\ns_nop 4\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 over\n" + store + "over:\n";
    const auto report = timed(body, 4);
    REQUIRE(report->waves.size() == 4);
    CHECK(waited_for_memory(report->waves[0]) > 0);
    for (unsigned wave = 1; wave < 4; ++wave) {
        CHECK(waited_for_memory(report->waves[wave]) == 0);
        CHECK(report->waves[wave].end < report->waves[0].end);
    }
}
