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
    REQUIRE_MESSAGE(!result.fault, text(result));
    CHECK(result.instructions == 16 * 11);
    CHECK(result.cycles > 0);
    for (int n = 0; n < 1024; ++n)
        CHECK(c[n] == 2.f * n + 0.5f);
}

TEST_CASE("engine: workgroup ids, work-item ids and the waves of a workgroup") {
    KernelShape shape;
    shape.work_item_dimensions = 2;
    Machine machine;
    machine.load(R"(
        s_load_dwordx2 s[8:9], s[0:1], 0x0
        v_and_b32 v1, 0x3ff, v0
        v_bfe_u32 v2, v0, 10, 10
        v_bfe_u32 v3, v0, 20, 10
        s_mul_i32 s10, s4, 6
        s_mul_i32 s11, s3, 3
        s_add_u32 s10, s10, s11
        s_add_u32 s10, s10, s2
        s_mul_i32 s10, s10, 192
        v_mad_u32_u24 v4, v2, 16, v1
        v_mad_u32_u24 v4, v3, 64, v4
        v_add_u32 v5, s10, v4
        v_lshlrev_b32 v5, 2, v5
        s_waitcnt lgkmcnt(0)
        global_store_dword v5, v0, s[8:9]
    )",
                 shape);
    auto* out = machine.buffer<std::uint32_t>(192 * 12, ~0u);
    const LaunchResult result = machine.run({3, 2, 2}, {16, 4, 3}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (unsigned n = 0; n < 192 * 12; ++n)
        CHECK(out[n] == (n % 16 | n / 16 % 4 << 10 | n / 64 % 3 << 20));
}

TEST_CASE("engine: a partial wave has its work-items only") {
    Machine machine;
    machine.load(R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 9
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[4:5]
    )");
    auto* out = machine.buffer<std::uint32_t>(128);
    REQUIRE(!machine.run({1, 1, 1}, {70, 1, 1}, out).fault);
    for (unsigned n = 0; n < 128; ++n)
        CHECK(out[n] == (n < 70 ? 9 : 0));
}

namespace {
/// Each of 4 waves writes its number to LDS and, after a barrier, reads its neighbour's.
const char* const neighbours = R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        ds_write_b32 v1, v0
        v_add_u32 v2, 64, v0
        v_and_b32 v2, 255, v2
        v_lshlrev_b32 v2, 2, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_read_b32 v3, v2
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v3, s[4:5]
)";
} // namespace

TEST_CASE("engine: barriers, in any order of waves and workgroups") {
    for (std::uint64_t seed : {0, 1, 2}) {
        DeviceConfig config;
        config.seed = seed;
        config.threads = 2;
        Machine machine(config);
        KernelShape shape;
        shape.lds = 1024;
        machine.load(neighbours, shape);
        auto* out = machine.buffer<std::uint32_t>(256);
        const LaunchResult result = machine.run({5, 1, 1}, {256, 1, 1}, out);
        REQUIRE_MESSAGE(!result.fault, text(result));
        for (unsigned n = 0; n < 256; ++n)
            CHECK(out[n] == (n + 64) % 256);
    }
}

TEST_CASE("engine: a wave that has ended counts as arrived at a barrier") {
    Machine machine;
    machine.load(R"(
        v_readfirstlane_b32 s8, v0
        s_cmp_lt_u32 s8, 64
        s_cbranch_scc1 .Lout
        s_barrier
        .Lout:
    )");
    CHECK(!machine.run({1, 1, 1}, {256, 1, 1}, std::uint64_t{0}).fault);
}

TEST_CASE("engine: workgroups that wait for each other make progress") {
    // Workgroup 0 spins until workgroup 299 has stored; the device holds more than one at a time.
    DeviceConfig config;
    config.threads = 1;
    Machine machine(config);
    machine.load(R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_mov_b32 v1, 0
        v_mov_b32 v2, 1
        s_waitcnt lgkmcnt(0)
        s_cmp_eq_u32 s2, 299
        s_cbranch_scc1 .Lstore
        s_cmp_lg_u32 s2, 0
        s_cbranch_scc1 .Lout
        .Lspin:
        global_load_dword v3, v1, s[4:5] sc1
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s6, v3
        s_cmp_eq_u32 s6, 0
        s_cbranch_scc1 .Lspin
        global_store_dword v1, v2, s[4:5] offset:4
        s_branch .Lout
        .Lstore:
        global_store_dword v1, v2, s[4:5]
        .Lout:
    )");
    auto* out = machine.buffer<std::uint32_t>(2);
    const LaunchResult result = machine.run({300, 1, 1}, {64, 1, 1}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    CHECK(out[1] == 1);
}

TEST_CASE("engine: results and modelled cycles do not depend on threads") {
    double cycles[2];
    for (unsigned threads : {1u, 2u}) {
        DeviceConfig config;
        config.threads = threads;
        Machine machine(config);
        KernelShape shape;
        shape.lds = 1024;
        machine.load(neighbours, shape);
        auto* out = machine.buffer<std::uint32_t>(256);
        const LaunchResult result = machine.run({700, 1, 1}, {256, 1, 1}, out);
        REQUIRE(!result.fault);
        CHECK(result.instructions == 700 * 4 * 12);
        CHECK(result.seconds == doctest::Approx(result.cycles / 2.4e9));
        cycles[threads - 1] = result.cycles;
    }
    CHECK(cycles[0] == cycles[1]);
}
