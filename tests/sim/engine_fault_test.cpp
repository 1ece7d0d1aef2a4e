// SPDX-License-Identifier: Apache-2.0
// What stops a launch, and what the report says.
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

#define CHECK_HAS(text, part) CHECK_MESSAGE(has(text, part), "'" << part << "' not in: " << text)

const char* const store_lane_plus_s8 = R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_load_dword s8, s[0:1], 0x8
        v_lshlrev_b32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
        v_add_u32 v1, s8, v1
        global_store_dword v1, v0, s[4:5] offset:16
)";

} // namespace

TEST_CASE("engine: an access past an allocation names it") {
    Machine machine;
    machine.load(store_lane_plus_s8);
    auto* out = machine.buffer<std::uint32_t>(64);
    const LaunchResult good = machine.run({1, 1, 1}, {60, 1, 1}, out, 0u);
    CHECK_MESSAGE(!good.fault, text(good));
    const LaunchResult bad = machine.run({1, 1, 1}, {64, 1, 1}, out, 0u);
    REQUIRE(bad.fault);
    CHECK(bad.fault->kind == "global memory fault");
    CHECK_HAS(bad.fault->text, "kernel k");
    CHECK_HAS(bad.fault->text, "global_store_dword v1, v0, s[4:5] offset:16");
    CHECK_HAS(bad.fault->text, "at k+0x1c");
    CHECK_HAS(bad.fault->text, "workgroup (0,0,0), wave 0, lane 60");
    CHECK_HAS(bad.fault->text, "store of 4 bytes at");
    CHECK_HAS(bad.fault->text, "offset 256, 4 bytes past the end of device allocation #");
    CHECK_HAS(bad.fault->text, "of 256 bytes");
    CHECK(bad.cycles == 0);
    // Nothing of a launch that failed stops the next one.
    CHECK(!machine.run({1, 1, 1}, {60, 1, 1}, out, 0u).fault);
}

TEST_CASE("engine: use after free is recognised") {
    Machine machine;
    machine.load(store_lane_plus_s8);
    auto* out = machine.buffer<std::uint32_t>(128);
    CHECK(!machine.run({1, 1, 1}, {64, 1, 1}, out, 0u).fault);
    REQUIRE(machine.memory().release(reinterpret_cast<std::uint64_t>(out)));
    const LaunchResult bad = machine.run({1, 1, 1}, {64, 1, 1}, out, 0u);
    REQUIRE(bad.fault);
    CHECK_HAS(bad.fault->text, "offset 16 of freed device allocation #");
}

TEST_CASE("engine: wild addresses and undefined registers fault") {
    Machine machine;
    machine.load("v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[10:11]\ns_waitcnt vmcnt(0)");
    const LaunchResult bad = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(bad.fault);
    CHECK(bad.fault->kind == "global memory fault");
    CHECK_HAS(bad.fault->text, "0xffbaad05ffbaad05");
}

TEST_CASE("engine: LDS and scratch are bounded") {
    Machine machine;
    KernelShape shape;
    shape.lds = 1024;
    shape.scratch = 16;
    machine.load("v_lshlrev_b32 v1, 4, v0\nds_write_b32 v1, v0 offset:16", shape);
    const LaunchResult lds = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(lds.fault);
    CHECK(lds.fault->kind == "lds out of bounds");
    CHECK_HAS(lds.fault->text, "lane 63");
    CHECK_HAS(lds.fault->text, "store of 4 bytes at offset 1024");
    CHECK_HAS(lds.fault->text, "1024 bytes are allocated");
    machine.load("v_mov_b32 v1, 0\nscratch_store_dword off, v1, off offset:16", shape);
    const LaunchResult scratch = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(scratch.fault);
    CHECK(scratch.fault->kind == "scratch out of bounds");
}

TEST_CASE("engine: what is no instruction, or not modelled, stops the launch where it is reached") {
    Machine machine;
    machine.load("s_branch .Lover\n.long 0xffffffff\n.Lover:");
    CHECK(!machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0}).fault);
    machine.load(".long 0xffffffff");
    const LaunchResult unknown = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(unknown.fault);
    CHECK(unknown.fault->kind == "unknown instruction");
    CHECK_HAS(unknown.fault->text, ".long 0xffffffff");
    machine.load("s_cbranch_g_fork s[4:5], s[6:7]");
    const LaunchResult unmodelled = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(unmodelled.fault);
    CHECK_HAS(unmodelled.fault->text, "s_cbranch_g_fork in this form is not modelled");
}

TEST_CASE("engine: registers beyond the descriptor's allocation are refused") {
    Machine machine;
    KernelShape shape;
    shape.vgprs = 16;
    machine.load("v_mov_b32 v15, 0\nv_mov_b32 v16, 0", shape);
    const LaunchResult bad = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(bad.fault);
    CHECK(bad.fault->kind == "register out of range");
    CHECK_HAS(bad.fault->text, "v16 is named, the kernel allocates 16");
}

TEST_CASE("engine: a hang ends") {
    DeviceConfig config;
    config.instruction_limit = 2'000'000;
    Machine machine(config);
    machine.load(".Lagain: s_branch .Lagain");
    const LaunchResult bad = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(bad.fault);
    CHECK(bad.fault->kind == "hang");
    CHECK_HAS(bad.fault->text, "at k+0x0");
    CHECK_HAS(bad.fault->text, "s_branch");
    CHECK_HAS(bad.fault->text, "wave 0");
}

TEST_CASE("engine: traps and launches out of range are reported") {
    Machine machine;
    machine.load("s_trap 2");
    const LaunchResult trap = machine.run({1, 1, 1}, {64, 1, 1}, std::uint64_t{0});
    REQUIRE(trap.fault);
    CHECK(trap.fault->kind == "trap");
    const LaunchResult big = machine.run({1, 1, 1}, {1025, 1, 1}, std::uint64_t{0});
    REQUIRE(big.fault);
    CHECK(big.fault->kind == "invalid launch");
}
