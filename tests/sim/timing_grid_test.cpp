// SPDX-License-Identifier: Apache-2.0
// The grid model: which caches the lines of many workgroups meet, and what of a kernel is left for it.
#include "tests/sim/engine_fixture.hpp"

#include "sim/code_object.hpp"
#include "sim/timing/address_slice.hpp"
#include "sim/timing/caches.hpp"
#include "sim/timing/grid_run.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// Reads 16 KiB from the first argument and stores to the second what it has loaded plus one.
constexpr const char* reader = R"(
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    v_mov_b32 v6, 0
    s_mov_b32 s8, 16
    s_waitcnt lgkmcnt(0)
loop:
    global_load_dwordx4 v[2:5], v1, s[4:5]
    v_add_u32 v1, 0x400, v1
    s_waitcnt vmcnt(0)
    v_add_f32 v6, v6, v2
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 loop
    v_lshlrev_b32 v7, 2, v0
    global_store_dword v7, v6, s[6:7]
)";

} // namespace

TEST_CASE("grid model: a line is missed once per XCD in L2 and once in the Infinity Cache") {
    Machine machine;
    machine.load(reader);
    auto* in = machine.buffer<float>(4096, 1.0f);
    auto* out = machine.buffer<float>(64, -1.0f);
    const std::uint64_t arguments[2] = {reinterpret_cast<std::uint64_t>(in),
                                        reinterpret_cast<std::uint64_t>(out)};
    Launch launch;
    launch.kernel = machine.code().kernel("k");
    launch.code = std::shared_ptr<CodeObject>(std::shared_ptr<void>(), &machine.code());
    launch.grid = {24, 1, 1};
    launch.block = {64, 1, 1};
    launch.kernarg = std::as_bytes(std::span(arguments));
    launch.grid_model = true;
    const LaunchResult result = machine.engine().run(launch);
    REQUIRE_MESSAGE(!result.fault, text(result));
    REQUIRE(result.grid);
    const timing::GridReport& grid = *result.grid;
    constexpr std::uint64_t lines = 16384 / 128;
    CHECK(grid.workgroups == 24);
    CHECK(grid.lines == 24 * lines);
    CHECK(grid.l2_hits == (24 - 8) * lines);
    CHECK(grid.infinity_cache_hits == 7 * lines);
    CHECK(grid.hbm_bytes == 16384);
    CHECK(grid.cycles >= grid.compute_cycles);
    CHECK(result.clock_ghz == 2.4);
}

namespace {

timing::AddressSlice slice_of(Machine& machine, const char* assembly) {
    machine.load(assembly);
    const auto& code = dynamic_cast<const CodeObjectImpl&>(machine.code());
    const auto entry = code.at(machine.code().kernel("k")->entry) - code.instructions().data();
    return timing::address_slice(code.instructions(), static_cast<std::size_t>(entry), true, {});
}

/// Mnemonics of what is left, in order; "-" where only costs are.
std::string text_of(const timing::AddressSlice& slice) {
    std::string text;
    for (const Instruction& i : slice.code)
        text += (text.empty() ? "" : " ") +
                std::string(i.kind == InstructionClass::control && std::string_view(i.mnemonic) != "s_endpgm"
                                ? "-"
                                : i.mnemonic);
    return text;
}

std::uint64_t instructions_of(const timing::AddressSlice& slice) {
    std::uint64_t sum = 0;
    for (const timing::AddressSlice::Cost& cost : slice.costs)
        sum += cost.instructions;
    return sum;
}

} // namespace

TEST_CASE("grid model: of a kernel there remains what addresses need, and the cost of the rest") {
    Machine machine;
    const timing::AddressSlice slice = slice_of(machine, reader);
    CHECK(slice.refused == "");
    CHECK(text_of(slice) == "s_load_dwordx4 v_lshlrev_b32 s_mov_b32 global_load_dwordx4 v_add_u32 s_sub_u32 "
                            "s_cmp_lg_u32 s_cbranch_scc1 s_endpgm");
    CHECK(instructions_of(slice) == 15);
}

TEST_CASE("grid model: a branch that depends on loaded data goes one way, and what follows only the other is "
          "dropped") {
    Machine machine;
    const timing::AddressSlice slice = slice_of(machine, R"(
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_cmp_lt_f32 vcc, 0, v2
    s_cbranch_vccnz elsewhere
    v_add_u32 v1, 0x400, v1
back:
    global_load_dword v2, v1, s[4:5]
    s_endpgm
elsewhere:
    v_add_u32 v1, 0x800, v1
    s_branch back
)");
    CHECK(slice.refused == "");
    CHECK(text_of(slice) ==
          "s_load_dwordx4 v_lshlrev_b32 global_load_dword v_add_u32 global_load_dword s_endpgm");
    CHECK(instructions_of(slice) == 10);
}

TEST_CASE("grid model: addresses out of memory or out of LDS are not cut down") {
    Machine machine;
    CHECK(slice_of(machine, R"(
    v_lshlrev_b32 v1, 2, v0
    global_load_dword v2, v1, s[0:1]
    s_waitcnt vmcnt(0)
    global_load_dword v3, v2, s[0:1]
)")
              .refused == "addresses that depend on loaded data");
    CHECK(slice_of(machine, R"(
    v_lshlrev_b32 v1, 2, v0
    ds_read_b32 v2, v1
    s_waitcnt lgkmcnt(0)
    global_load_dword v3, v2, s[0:1]
)")
              .refused == "addresses that depend on loaded data");
    // Half of the lanes keep what they had: the move before EXEC changes counts.
    const timing::AddressSlice half = slice_of(machine, R"(
    v_mov_b32 v1, 0
    v_mov_b32 v1, 16
    s_mov_b32 exec_lo, 0
    v_mov_b32 v1, 32
    s_mov_b64 exec, -1
    global_load_dword v3, v1, s[0:1]
)");
    CHECK(text_of(half) == "v_mov_b32 s_mov_b32 v_mov_b32 s_mov_b64 global_load_dword s_endpgm");
}

TEST_CASE(
    "grid model: what DPP leaves of the old value counts where a row is masked or a lane has no source") {
    const auto refused = [](const std::string& control) {
        Machine machine;
        const std::string body = "global_load_dword v5, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
                                 "v_mov_b32_dpp v5, v0 " +
                                 control + "\nglobal_load_dword v6, v5, s[0:1]\n";
        return slice_of(machine, body.c_str()).refused;
    };
    const std::string unmasked = " row_mask:0xf bank_mask:0xf";
    CHECK(refused("quad_perm:[0,0,2,2]" + unmasked) == "");
    CHECK(refused("row_shr:1" + unmasked + " bound_ctrl:0") == "");
    CHECK(refused("row_shr:1" + unmasked) == "addresses that depend on loaded data");
    CHECK(refused("quad_perm:[0,0,2,2] row_mask:0x7 bank_mask:0xf") ==
          "addresses that depend on loaded data");
}

namespace {

/// Loads, then goes on 256 or 512 bytes further by what it has loaded; four times.
constexpr const char* chooser = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_mov_b32 s8, 4
    s_waitcnt lgkmcnt(0)
loop:
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_cmp_lt_f32 vcc, 0, v2
    v_add_u32 v1, 0x100, v1
    s_cbranch_vccz small
    v_add_u32 v1, 0x100, v1
small:
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 loop
)";

} // namespace

TEST_CASE("grid model: a slice that loads elsewhere than the kernel is found out, and the kernel executed") {
    for (const bool mixed : {false, true}) {
        Machine machine;
        machine.load(chooser);
        auto* in = machine.buffer<float>(1024, 1.0f);
        if (mixed)
            std::fill(in + 128, in + 256, -1.0f);
        const auto argument = reinterpret_cast<std::uint64_t>(in);
        Launch launch;
        launch.kernel = machine.code().kernel("k");
        launch.code = std::shared_ptr<CodeObject>(std::shared_ptr<void>(), &machine.code());
        launch.grid = {1, 1, 1};
        launch.block = {64, 1, 1};
        launch.kernarg = std::as_bytes(std::span(&argument, 1));
        launch.grid_model = true;
        const LaunchResult result = machine.engine().run(launch);
        REQUIRE_MESSAGE(!result.fault, text(result));
        CHECK(result.grid->lines == 4 * 256 / 128);
        CHECK(result.grid->executed_whole == (mixed ? "addresses that depend on data" : ""));
    }
}

TEST_CASE("grid model: a launch that is run and timed takes longer where its workgroups share no lines") {
    // 1024 workgroups read 16 KiB each: all the same, or each its own.
    const auto cycles = [](unsigned shift, unsigned timed) {
        Machine machine;
        std::string body = reader;
        const std::string wait = "s_waitcnt lgkmcnt(0)\n";
        body.insert(body.find(wait) + wait.size(), "s_lshl_b32 s9, s2, " + std::to_string(shift) +
                                                       "\ns_add_u32 s4, s4, s9\ns_addc_u32 s5, s5, 0\n");
        machine.load(body);
        const std::uint64_t arguments[2] = {
            reinterpret_cast<std::uint64_t>(machine.buffer<float>(1024 * 4096, 1.0f)),
            reinterpret_cast<std::uint64_t>(machine.buffer<float>(64, -1.0f))};
        Launch launch;
        launch.kernel = machine.code().kernel("k");
        launch.code = std::shared_ptr<CodeObject>(std::shared_ptr<void>(), &machine.code());
        launch.grid = {1024, 1, 1};
        launch.block = {64, 1, 1};
        launch.dynamic_lds = 100'000; // one to a compute unit: four rounds
        launch.kernarg = std::as_bytes(std::span(arguments));
        launch.timed_workgroups = timed;
        const LaunchResult result = machine.engine().run(launch);
        REQUIRE_MESSAGE(!result.fault, text(result));
        return result.cycles;
    };
    // Offsets of 2^14 bytes are workgroups' own, those of 1 byte cross at most one line more.
    CHECK(cycles(14, 2) > 1.02 * cycles(0, 2));
    CHECK(cycles(14, 0) == cycles(0, 0)); // without a timed workgroup the cost model says nothing of memory
}

TEST_CASE("cache tags: the least recently used of a full set makes room") {
    timing::TagArray cache(4 * 64, 64, 4); // one set
    for (std::uint64_t line = 0; line < 4; ++line)
        CHECK_FALSE(cache.touch(line * 64));
    CHECK(cache.touch(0));
    CHECK_FALSE(cache.touch(4 * 64)); // takes the place of line 1
    CHECK(cache.touch(63));
    CHECK_FALSE(cache.touch(64));
    CHECK_THROWS_AS(timing::TagArray(100, 64, 4), std::invalid_argument);
}
