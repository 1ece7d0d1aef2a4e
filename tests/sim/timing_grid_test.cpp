// SPDX-License-Identifier: Apache-2.0
// The grid model: which caches the lines of many workgroups meet, and what of a kernel is left for it.
#include "tests/sim/engine_fixture.hpp"

#include "sim/code_object.hpp"
#include "sim/timing/address_slice.hpp"
#include "sim/timing/caches.hpp"
#include "sim/timing/grid_run.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("grid model: of a kernel there remains what addresses need") {
    Machine machine;
    machine.load(reader);
    const auto& code = dynamic_cast<const CodeObjectImpl&>(machine.code());
    const std::vector<Instruction> slice = timing::address_slice(code.instructions());
    REQUIRE(slice.size() == code.instructions().size());
    unsigned removed = 0;
    for (std::size_t n = 0; n < slice.size(); ++n) {
        if (slice[n].execute == code.instructions()[n].execute)
            continue;
        ++removed;
        const std::string_view name = slice[n].mnemonic;
        CHECK_MESSAGE((name == "v_add_f32" || name == "global_store_dword" || name == "v_mov_b32"), name);
    }
    CHECK(removed == 3);
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
