// SPDX-License-Identifier: Apache-2.0
// Races byte by byte: neighbours that share a dword are none.
#include "tests/sim/sanitizer_fixture.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// Every work-item updates the 16 bits at byte 2 + 2 n in place, so that waves, and workgroups, meet in the
/// middle of a dword; n counts over the launch, or within the workgroup.
const std::string number = "s_lshl_b32 s8, s2, 6\nv_and_b32 v1, 0x3ff, v0\nv_add_u32 v3, s8, v1\n"
                           "v_lshlrev_b32 v3, 1, v3\nv_lshlrev_b32 v1, 1, v1\n";

} // namespace

TEST_CASE("sanitizer: workgroups that update neighbouring halves of a dword do not race") {
    const std::string arguments = "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
    const std::string update = "global_load_ushort v2, v3, s[6:7] offset:2\ns_waitcnt vmcnt(0)\n"
                               "v_add_u32 v2, 5, v2\ns_barrier\nglobal_store_short v3, v2, s[6:7] offset:2\n";
    const Outcome good = run_sanitized(arguments + number + update, {}, 64, 4);
    check_clean(good);
    CHECK(good.out[0] == 5u << 16);
    CHECK(good.out[32] == (5u | 5u << 16));
    // The next one's half as well: a race.
    check_finds(
        run_sanitized(arguments + number + "global_load_dword v4, v3, s[6:7] offset:2\n" + update, {}, 64, 4),
        "global memory race between workgroups");
    // And waves of one workgroup, without the barrier.
    const std::string waves = "v_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v3, 1, v1\n"
                              "global_load_ushort v2, v3, s[6:7] offset:2\ns_waitcnt vmcnt(0)\n"
                              "global_store_short v3, v2, s[6:7] offset:2\n";
    check_clean(run_sanitized(arguments + waves, {}, 128));
    check_finds(run_sanitized(arguments + waves +
                                  "global_store_byte v3, v2, s[6:7] offset:3\n"
                                  "global_load_ushort v2, v3, s[6:7] offset:4\n",
                              {}, 128),
                "global memory race in a workgroup");
}

TEST_CASE("sanitizer: waves that update neighbouring halves of a dword of LDS do not race") {
    const std::string update = number +
                               "v_mov_b32 v2, 0\nds_write_b16 v1, v2 offset:2\ns_waitcnt lgkmcnt(0)\n"
                               "ds_read_u16 v2, v1 offset:2\ns_waitcnt lgkmcnt(0)\n"
                               "ds_write_b16 v1, v2 offset:2\n";
    check_clean(run_sanitized(update, {.lds = 1024}, 256));
    check_finds(run_sanitized(update + "ds_read_u16 v2, v1 offset:4\n", {.lds = 1024}, 256), "LDS race");
    // Read by others in an earlier interval: done.
    check_clean(run_sanitized(number + "v_mov_b32 v2, 0\nds_write_b16 v1, v2 offset:2\ns_waitcnt lgkmcnt(0)\n"
                                       "s_barrier\nv_max_u32 v4, 2, v1\nv_subrev_u32 v4, 2, v4\n"
                                       "ds_read_u16 v2, v4 offset:2\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                                       "ds_read_u16 v2, v1 offset:2\ns_waitcnt lgkmcnt(0)\n"
                                       "ds_write_b16 v1, v2 offset:2\n",
                              {.lds = 1024}, 256));
}
