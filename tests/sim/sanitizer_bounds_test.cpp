// SPDX-License-Identifier: Apache-2.0
// Accesses to what is not there: each pair once, with a count, and the launch goes on.
#include "tests/sim/sanitizer_fixture.hpp"

#include <algorithm>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

std::uint64_t times(const Outcome& outcome, const std::string& rule) {
    const Finding* const f = outcome.find(rule);
    return f == nullptr ? 0 : f->count;
}

} // namespace

TEST_CASE("sanitizer: an access out of bounds loads zeros, stores nothing, and the launch goes on") {
    // Lanes 32 and up are 0x2000 bytes further on than the 4096 that are there.
    const std::string beyond = start + "v_cmp_lt_u32 vcc, 0x7c, v1\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0x2000\n"
                                       "v_cndmask_b32 v3, v2, v3, vcc\nv_add_u32 v3, v1, v3\n";
    const Outcome load = run_sanitized(
        beyond + "v_mov_b32 v2, 7\nglobal_load_dword v2, v3, s[4:5]\ns_waitcnt vmcnt(0)" + finish);
    CHECK_FALSE(load.result.fault);
    const Finding& f = check_finds(load, "global memory out of bounds");
    CHECK(load.report().findings.size() == 1);
    CHECK(f.count == 32);
    CHECK(f.at.disassembly.find("global_load_dword") != std::string::npos);
    CHECK(f.place == "workgroup (0,0,0), wave 0, lane 32");
    CHECK(f.detail.find("4228 bytes past the end of device allocation") != std::string::npos);
    CHECK(load.out[31] == 32);
    CHECK(load.out[32] == 0);

    const Outcome store =
        run_sanitized(beyond + "v_mov_b32 v2, 7\nglobal_store_dword v3, v2, s[6:7]\n", {}, 64, 2);
    CHECK(store.report().findings.size() == 2); // and the workgroups' race
    CHECK(times(store, "global memory out of bounds") == 64);
    CHECK(store.out[31] == 7);
    CHECK(std::count(store.out.begin(), store.out.end(), 7u) == 32);

    const Outcome atomic = run_sanitized(beyond +
                                         "v_mov_b32 v4, 3\nglobal_atomic_add v2, v3, v4, s[6:7] sc0\n"
                                         "s_waitcnt vmcnt(0)\nv_add_u32 v2, 1, v2\n" +
                                         finish);
    CHECK(times(atomic, "global memory out of bounds") == 32);
    CHECK(atomic.out[40] == 1);
}

TEST_CASE("sanitizer: all that is out of bounds is found in one run") {
    const KernelShape shape{.lds = 1024, .scratch = 16};
    const std::string far = "v_mov_b32 v3, 0x2000\n";
    const Outcome outcome = run_sanitized(
        start + far +
            "ds_read_b32 v4, v3\nds_write_b32 v3, v1\nds_read2_b32 v[6:7], v3 offset1:1\n"
            "s_waitcnt lgkmcnt(0)\nv_add_u32 v2, v4, v6\n"
            "global_load_dword v5, v3, s[4:5]\nscratch_store_dword off, v1, off offset:16\n"
            "s_load_dwordx4 s[8:11], s[4:5], 0x1000\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
            "v_add_u32 v2, s8, v2\nv_add_u32 v2, v5, v2\n"
            "s_mov_b32 s12, s4\ns_mov_b32 s13, s5\ns_mov_b32 s14, 0x8000\ns_mov_b32 s15, 0x20000\n"
            "buffer_load_dword v8, v3, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\nv_add_u32 v2, v8, v2\n"
            "s_mov_b32 m0, 0x3c0\ns_nop 0\nglobal_load_lds_dword v1, s[4:5]\ns_waitcnt vmcnt(0)" +
            finish,
        shape);
    CHECK_FALSE(outcome.result.fault);
    std::vector<std::string> found;
    for (const Finding& f : outcome.report().findings) {
        CHECK(f.severity == Severity::error);
        found.push_back(f.at.disassembly.substr(0, f.at.disassembly.find(' ')) + ": " + f.rule + " " +
                        std::to_string(f.count));
    }
    std::sort(found.begin(), found.end());
    const std::vector<std::string> expected{"buffer_load_dword: global memory out of bounds 64",
                                            "ds_read2_b32: lds out of bounds 128",
                                            "ds_read_b32: lds out of bounds 64",
                                            "ds_write_b32: lds out of bounds 64",
                                            "global_load_dword: global memory out of bounds 64",
                                            "global_load_lds_dword: lds out of bounds 48",
                                            "s_load_dwordx4: global memory out of bounds 1",
                                            "scratch_store_dword: scratch out of bounds 64"};
    CHECK(found == expected);
    CHECK(std::all_of(outcome.out.begin(), outcome.out.begin() + 64, [](auto word) { return word == 0; }));
    CHECK(outcome.text().find("ERROR SUMMARY: 8 errors") != std::string::npos);
}

TEST_CASE("sanitizer: use after free names the allocation that was") {
    Machine machine;
    machine.sanitize();
    machine.load(start + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n" + finish);
    auto* const gone = machine.buffer<std::uint32_t>(64);
    auto* const out = machine.buffer<std::uint32_t>(64, 5);
    machine.memory().release(reinterpret_cast<std::uint64_t>(gone));
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, gone, out);
    CHECK_FALSE(result.fault);
    REQUIRE(result.sanitizer->findings.size() == 1);
    CHECK(result.sanitizer->findings[0].rule == "global memory used after free");
    CHECK(result.sanitizer->findings[0].detail.find("freed") != std::string::npos);
    CHECK(result.sanitizer->findings[0].count == 64);
    CHECK(out[3] == 0);
}

TEST_CASE("sanitizer: what no zero can stand for still stops the launch") {
    const Outcome outcome =
        run_sanitized(start + "s_mov_b32 s8, 0x1234\ns_mov_b32 s9, 0\ns_setpc_b64 s[8:9]\n");
    REQUIRE(outcome.result.fault);
    CHECK(outcome.report().findings.at(0).detail.find("the launch stopped here") != std::string::npos);
}
