// SPDX-License-Identifier: Apache-2.0
// The sanitizer's rules one by one: the smallest kernel that breaks each, and its neighbour that does not.
#include "sim/sanitizer/report.hpp"
#include "tests/sim/engine_fixture.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;
using sanitizer::Finding;
using sanitizer::Severity;

namespace {

/// Arguments to s[4:5] and s[6:7], this work-item's byte offset of a dword to v1.
const std::string start =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v1\n"
    "s_waitcnt lgkmcnt(0)\n";
const std::string finish = "\nglobal_store_dword v1, v2, s[6:7]\n";

struct Outcome {
    LaunchResult result;
    std::vector<std::uint32_t> out;

    const sanitizer::Report& report() const { return *result.sanitizer; }
    const Finding* find(const std::string& rule) const {
        for (const Finding& f : report().findings)
            if (f.rule == rule)
                return &f;
        return nullptr;
    }
    std::string text() const { return sanitizer::to_text({&report(), 1}, false); }
};

Outcome run(const std::string& body, KernelShape shape = {}, unsigned block = 64, unsigned groups = 1,
            DeviceConfig config = {}) {
    Machine machine(config);
    machine.sanitize();
    machine.load(body, shape);
    auto* const in = machine.buffer<std::uint32_t>(1024);
    auto* const out = machine.buffer<std::uint32_t>(1024);
    for (unsigned n = 0; n < 1024; ++n)
        in[n] = n + 1;
    Outcome outcome;
    outcome.result = machine.run({groups, 1, 1}, {block, 1, 1}, in, out);
    outcome.out.assign(out, out + 1024);
    return outcome;
}

void check_clean(const Outcome& outcome) {
    CHECK_MESSAGE(outcome.report().findings.empty(), outcome.text());
}
const Finding& check_finds(const Outcome& outcome, const std::string& rule,
                           Severity severity = Severity::error) {
    static const Finding none;
    const Finding* const found = outcome.find(rule);
    CHECK_MESSAGE(found != nullptr, outcome.text());
    if (found == nullptr)
        return none;
    CHECK(found->severity == severity);
    return *found;
}

} // namespace

TEST_CASE("sanitizer: a load's result is there only after its wait, in the report and in the data") {
    const std::string load = start + "global_load_dword v2, v1, s[4:5]\n";
    const Outcome good = run(load + "s_waitcnt vmcnt(0)\nv_add_u32 v2, 1, v2" + finish);
    check_clean(good);
    CHECK(good.out[5] == 7);

    const Outcome bad = run(load + "v_add_u32 v2, 1, v2" + finish);
    const Finding& f = check_finds(bad, "result used before its wait");
    CHECK(f.at.disassembly.find("v_add_u32") != std::string::npos);
    CHECK(f.other.disassembly.find("global_load_dword") != std::string::npos);
    CHECK(f.fix == "s_waitcnt vmcnt(0) needed, none found since");
    CHECK(f.place == "workgroup (0,0,0), wave 0");
    CHECK(bad.out[5] != 7); // landed as late as it may
    CHECK(bad.text().find("ERROR SUMMARY: ") != std::string::npos);
}

TEST_CASE("sanitizer: the smallest wait is named beside the one found") {
    std::string body = start;
    for (int n = 2; n < 8; ++n)
        body += "global_load_dword v" + std::to_string(n) + ", v1, s[4:5]\n";
    const Outcome outcome =
        run(body + "s_waitcnt vmcnt(5)\nv_add_u32 v2, 1, v5\ns_waitcnt vmcnt(0)" + finish);
    CHECK(check_finds(outcome, "result used before its wait").fix ==
          "s_waitcnt vmcnt(2) needed, vmcnt(5) found");
    check_clean(run(body + "s_waitcnt vmcnt(2)\nv_add_u32 v2, 1, v5\ns_waitcnt vmcnt(0)" + finish));
    // An operand of two registers waits for both.
    const std::string pair = "\nv_mov_b64 v[8:9], v[4:5]\ns_waitcnt vmcnt(0)";
    CHECK(check_finds(run(body + "s_waitcnt vmcnt(4)" + pair + finish), "result used before its wait").fix ==
          "s_waitcnt vmcnt(2) needed, vmcnt(4) found");
    check_clean(run(body + "s_waitcnt vmcnt(2)" + pair + finish));
}

TEST_CASE("sanitizer: scalar loads return in any order, so that only lgkmcnt(0) vouches for one") {
    const std::string loads = start + "s_load_dword s8, s[4:5], 0x0\ns_load_dword s9, s[4:5], 0x4\n";
    const Outcome bad = run(loads + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v2, s8\ns_waitcnt lgkmcnt(0)" + finish);
    CHECK(check_finds(bad, "result used before its wait").fix ==
          "s_waitcnt lgkmcnt(0) needed, lgkmcnt(1) found");
    check_clean(run(loads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s8" + finish));
}

TEST_CASE("sanitizer: an outstanding load's destination must not be written") {
    const Outcome bad =
        run(start + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v2, 0\ns_waitcnt vmcnt(0)" + finish);
    check_finds(bad, "destination of an outstanding load overwritten");
    // A second load to the same register lands after the first.
    check_clean(run(start +
                    "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v2, v1, s[4:5]\n"
                    "s_waitcnt vmcnt(0)" +
                    finish));
}

TEST_CASE("sanitizer: LDS without a barrier, with one too early, and in order") {
    const KernelShape shape{.lds = 1024};
    // Every work-item reads what its neighbour of the next wave has written.
    const std::string write = start + "ds_write_b32 v1, v1\n";
    const std::string read = "v_xor_b32 v3, 0x100, v1\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)" + finish;
    check_clean(run(write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read, shape, 128));
    CHECK(check_finds(run(write + "s_waitcnt lgkmcnt(0)\n" + read, shape, 128), "LDS race").fix ==
          "s_barrier between the two");
    CHECK(check_finds(run(write + "s_barrier\n" + read, shape, 128), "LDS race").fix ==
          "s_waitcnt lgkmcnt(0) needed before the s_barrier");
    const Outcome beyond = run(start + "v_add_u32 v3, 0x400, v1\nds_write_b32 v3, v1\n", shape);
    check_finds(beyond, "lds out of bounds");
    CHECK(beyond.result.fault);
}

TEST_CASE("sanitizer: a load to LDS needs vmcnt, and a barrier for the other waves") {
    const KernelShape shape{.lds = 1024};
    const std::string load = start + "v_readfirstlane_b32 s8, v1\ns_nop 3\ns_mov_b32 m0, s8\ns_nop 0\n"
                                     "global_load_lds_dword v1, s[4:5]\n";
    const std::string own = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)" + finish;
    const std::string other = "v_xor_b32 v3, 0x100, v1\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)" + finish;
    check_clean(run(load + "s_waitcnt vmcnt(0)\n" + own, shape));
    CHECK(check_finds(run(load + own, shape), "load to LDS used before its wait").fix ==
          "s_waitcnt vmcnt(0) needed, none found since");
    check_clean(run(load + "s_waitcnt vmcnt(0)\ns_barrier\n" + other, shape, 128));
    const Outcome late = run(load + "s_barrier\n" + other, shape, 128);
    CHECK(check_finds(late, "LDS race").fix == "s_waitcnt vmcnt(0) needed before the s_barrier");
    CHECK(late.out[5] != 5 + 64 + 1);
}

TEST_CASE("sanitizer: software wait states, by table and by what shipped code keeps") {
    const std::string zero =
        "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\n"
        "v_mov_b32 v16, 0\nv_mov_b32 v17, 0\nv_mov_b32 v18, 0\nv_mov_b32 v19, 0\ns_nop 1\n";
    const std::string matrix = start + zero + "v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[16:19], 0\n";
    check_clean(run(matrix + "s_nop 7\ns_nop 3\nv_mov_b32 v2, v7" + finish));
    CHECK(
        check_finds(run(matrix + "s_nop 3\nv_mov_b32 v2, v7" + finish), "matrix result read too early").fix ==
        "s_nop 3 before it");
    // 16 slots behind two more matrix instructions: the pipe's own stalls take as long as the rule asks.
    check_clean(run(matrix +
                    "v_mfma_f32_16x16x32_bf16 v[20:23], v[8:11], v[16:19], 0\n"
                    "v_mfma_f32_16x16x32_bf16 v[24:27], v[8:11], v[16:19], 0\nv_mov_b32 v2, v4" +
                    finish));
    check_finds(run(start + "v_mov_b32 v3, 0\nv_exp_f32 v3, v3\nv_mov_b32 v2, v3" + finish),
                "transcendental result read too early");
    check_clean(run(start + "v_mov_b32 v3, 0\nv_exp_f32 v3, v3\ns_nop 0\nv_mov_b32 v2, v3" + finish));
    check_finds(run(start + "v_mov_b32 v3, 0\nv_readfirstlane_b32 s8, v3\nv_mov_b32 v2, s8" + finish),
                "vector result too early in v_readlane or v_readfirstlane");
    check_finds(run(start + "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_permlane32_swap_b32 v2, v3" + finish),
                "vector result too early in v_permlane*_swap");
    // One wait state too few, and no harm in shipped kernels.
    check_finds(
        run(start + "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 0\nv_permlane32_swap_b32 v2, v3" + finish),
        "vector result too early in v_permlane*_swap", Severity::note);
}

TEST_CASE("sanitizer: uninitialised registers, LDS and memory where they matter") {
    check_finds(run(start + "v_mov_b32 v2, v9" + finish), "uninitialised register stored");
    check_finds(run(start +
                    "v_mov_b32 v2, 0\nv_and_b32 v9, 3, v9\nglobal_load_dword v2, v9, s[4:5]\n"
                    "s_waitcnt vmcnt(0)" +
                    finish),
                "uninitialised register in an address");
    check_finds(run(start + "v_mov_b32 v2, 0\ns_cmp_eq_u32 s40, 0\ns_cbranch_scc1 over\nover:" + finish),
                "branch depends on an uninitialised register");
    // Masked away, or both branches alike: it does not matter.
    check_clean(run(start + "v_mov_b32 v2, v9\nv_and_b32 v2, 0, v2" + finish));
    check_finds(run(start + "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)" + finish, {.lds = 1024}),
                "uninitialised register stored");
    check_finds(run(start + "v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[16:19], 0\n"),
                "uninitialised register in a matrix instruction");

    Machine machine; // memory that nobody has written
    machine.sanitize();
    machine.load(start + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)" + finish);
    const std::uint64_t in = machine.memory().allocate(256, AllocationKind::device, 0);
    auto* const out = machine.buffer<std::uint32_t>(64);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE(result.sanitizer->findings.size() == 1);
    CHECK(result.sanitizer->findings[0].rule == "uninitialised register stored");
    machine.memory().mark_initialised(in, 256);
    CHECK(machine.run({1, 1, 1}, {64, 1, 1}, in, out).sanitizer->findings.empty());
}

TEST_CASE("sanitizer: out of bounds and use after free stop the launch and are errors") {
    const Outcome beyond =
        run(start + "v_mov_b32 v2, 0\nv_mov_b32 v3, 0x2000\nglobal_load_dword v2, v3, s[4:5]\n");
    const Finding& f = check_finds(beyond, "global memory fault");
    CHECK(f.at.disassembly.find("global_load_dword") != std::string::npos);
    CHECK(f.detail.find("allocation") != std::string::npos);

    Machine machine;
    machine.sanitize();
    machine.load(start + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\n");
    auto* const gone = machine.buffer<std::uint32_t>(64);
    machine.memory().release(reinterpret_cast<std::uint64_t>(gone));
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, gone, gone);
    REQUIRE(result.sanitizer->findings.size() == 1);
    CHECK(result.sanitizer->findings[0].detail.find("freed") != std::string::npos);
}

TEST_CASE("sanitizer: races in global memory between waves and between workgroups") {
    // All write dword 0.
    const std::string same = start + "v_mov_b32 v3, 0\nv_mov_b32 v2, 1\nglobal_store_dword v3, v2, s[6:7]\n";
    check_clean(run(same));
    check_finds(run(same, {}, 128), "global memory race in a workgroup");
    check_finds(run(same, {}, 64, 2), "global memory race between workgroups");
    check_clean(
        run(start + "v_mov_b32 v3, 0\nv_mov_b32 v2, 1\nglobal_atomic_add v3, v2, s[6:7]\n", {}, 128, 4));
}

TEST_CASE("sanitizer: misaligned accesses and barriers that not all reach") {
    check_finds(run(start + "v_add_u32 v3, 2, v1\nds_read2_b32 v[4:5], v3 offset1:1\n", {.lds = 1024}),
                "misaligned access");
    check_finds(run(start + "v_readfirstlane_b32 s8, v1\ns_nop 3\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 over\n"
                            "s_barrier\nover:\n",
                    {}, 128),
                "barrier divergence", Severity::note);
}

TEST_CASE("sanitizer: a seed lets memory land early, the report stays the same") {
    const std::string body = start +
                             "global_load_dword v2, v1, s[4:5]\nv_add_u32 v3, 1, v2\n"
                             "s_waitcnt vmcnt(0)\nv_mov_b32 v2, v3" +
                             finish;
    bool early = false, late = false;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Outcome outcome = run(body, {}, 64, 1, {.seed = seed});
        check_finds(outcome, "result used before its wait");
        (outcome.out[5] == 7 ? early : late) = true;
    }
    CHECK(early);
    CHECK(late);
}

TEST_CASE("sanitizer: reports of several launches add up; JSON carries what the text does") {
    const Outcome bad = run(start + "global_load_dword v2, v1, s[4:5]\nv_add_u32 v2, 1, v2" + finish);
    std::vector<sanitizer::Report> all;
    sanitizer::add(all, bad.report());
    sanitizer::add(all, bad.report());
    REQUIRE(all.size() == 1);
    CHECK(all[0].findings.size() == bad.report().findings.size());
    CHECK(all[0].findings[0].count == 2 * bad.report().findings[0].count);
    const std::string json = sanitizer::to_json(all, false);
    CHECK(json.find("\"rule\": \"result used before its wait\"") != std::string::npos);
    CHECK(json.find("\"errors\": ") != std::string::npos);
    CHECK(sanitizer::errors(all, false) >= 1);
}
