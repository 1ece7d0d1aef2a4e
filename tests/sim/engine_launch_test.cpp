// SPDX-License-Identifier: Apache-2.0
// Launches: initial state, workgroups, barriers, faults.
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>
#include <numeric>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

TEST_CASE("engine: adds two vectors over several workgroups") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx4 s[4:7], s[0:1], 0x0
        s_load_dwordx2 s[8:9], s[0:1], 0x10
        s_lshl_b32 s10, s2, 8
        v_lshl_add_u32 v1, v0, 2, s10
        s_waitcnt lgkmcnt(0)
        global_load_dword v2, v1, s[4:5]
        global_load_dword v3, v1, s[6:7]
        s_waitcnt vmcnt(0)
        v_add_f32 v2, v2, v3
        global_store_dword v1, v2, s[8:9]
    )");
    auto* a = machine.buffer<float>(1024);
    auto* b = machine.buffer<float>(1024);
    auto* c = machine.buffer<float>(1024);
    std::iota(a, a + 1024, 0.f);
    std::iota(b, b + 1024, 0.5f);
    const LaunchResult result = machine.run({16, 1, 1}, {64, 1, 1}, a, b, c);
    REQUIRE_MESSAGE(!result.fault, result.fault->text);
    CHECK(result.instructions == 16 * 11);
    CHECK(result.cycles > 0);
    for (int n = 0; n < 1024; ++n)
        CHECK(c[n] == 2.f * n + 0.5f);
}
