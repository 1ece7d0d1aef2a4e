// SPDX-License-Identifier: Apache-2.0
// The sanitizer's rules one by one: the smallest kernel that breaks each, and its neighbour that does not.
#include "tests/sim/sanitizer_fixture.hpp"

#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

TEST_CASE("sanitizer: a load's result is there only after its wait, in the report and in the data") {
    const std::string load = start + "global_load_dword v2, v1, s[4:5]\n";
    const Outcome good = run_sanitized(load + "s_waitcnt vmcnt(0)\nv_add_u32 v2, 1, v2" + finish);
    check_clean(good);
    CHECK(good.out[5] == 7);

    const Outcome bad = run_sanitized(load + "v_add_u32 v2, 1, v2" + finish);
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
        run_sanitized(body + "s_waitcnt vmcnt(5)\nv_add_u32 v2, 1, v5\ns_waitcnt vmcnt(0)" + finish);
    CHECK(check_finds(outcome, "result used before its wait").fix ==
          "s_waitcnt vmcnt(2) needed, vmcnt(5) found");
    check_clean(run_sanitized(body + "s_waitcnt vmcnt(2)\nv_add_u32 v2, 1, v5\ns_waitcnt vmcnt(0)" + finish));
    // An operand of two registers waits for both.
    const std::string pair = "\nv_mov_b64 v[8:9], v[4:5]\ns_waitcnt vmcnt(0)";
    CHECK(
        check_finds(run_sanitized(body + "s_waitcnt vmcnt(4)" + pair + finish), "result used before its wait")
            .fix == "s_waitcnt vmcnt(2) needed, vmcnt(4) found");
    check_clean(run_sanitized(body + "s_waitcnt vmcnt(2)" + pair + finish));
}

TEST_CASE("sanitizer: scalar loads return in any order, so that only lgkmcnt(0) vouches for one") {
    const std::string loads = start + "s_load_dword s8, s[4:5], 0x0\ns_load_dword s9, s[4:5], 0x4\n";
    const Outcome bad =
        run_sanitized(loads + "s_waitcnt lgkmcnt(1)\nv_mov_b32 v2, s8\ns_waitcnt lgkmcnt(0)" + finish);
    CHECK(check_finds(bad, "result used before its wait").fix ==
          "s_waitcnt lgkmcnt(0) needed, lgkmcnt(1) found");
    check_clean(run_sanitized(loads + "s_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s8" + finish));
}

TEST_CASE("sanitizer: an outstanding load's destination must not be written") {
    const Outcome bad = run_sanitized(
        start + "global_load_dword v2, v1, s[4:5]\nv_mov_b32 v2, 0\ns_waitcnt vmcnt(0)" + finish);
    check_finds(bad, "destination of an outstanding load overwritten");
    // A second load to the same register lands after the first.
    check_clean(run_sanitized(start +
                              "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v2, v1, s[4:5]\n"
                              "s_waitcnt vmcnt(0)" +
                              finish));
}

TEST_CASE("sanitizer: of more loads to one register than a counter holds, the last one's result stays") {
    std::string global, lds, dma;
    for (int n = 0; n < 70; ++n)
        global += "global_load_dword v2, v1, s[4:5] offset:" + std::to_string(4 * n) + "\n";
    for (int n = 0; n < 20; ++n)
        lds += "ds_read_b32 v2, v3 offset:" + std::to_string(4 * n) + "\n";
    for (int n = 0; n < 70; ++n)
        dma += std::string("global_load_lds_dword ") + (n % 2 == 0 ? "v1" : "v4") + ", s[4:5]\n";
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        const Outcome from_memory =
            run_sanitized(start + global + "s_waitcnt vmcnt(0)" + finish, {}, 64, 1, {.seed = seed});
        check_clean(from_memory);
        CHECK(from_memory.out[5] == 5 + 69 + 1);
        const Outcome from_lds = run_sanitized(start + "ds_write_b32 v1, v1\nv_mov_b32 v3, 0\n" + lds +
                                                   "s_waitcnt lgkmcnt(0)" + finish,
                                               {.lds = 1024}, 64, 1, {.seed = seed});
        check_clean(from_lds);
        CHECK(from_lds.out[5] == 4 * 19);
        const Outcome to_lds =
            run_sanitized(start + "s_mov_b32 m0, 0\nv_add_u32 v4, 4, v1\n" + dma +
                              "s_waitcnt vmcnt(0)\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)" + finish,
                          {.lds = 1024}, 64, 1, {.seed = seed});
        check_clean(to_lds);
        CHECK(to_lds.out[5] == 7);
    }
}

TEST_CASE("sanitizer: LDS without a barrier, with one too early, and in order") {
    const KernelShape shape{.lds = 1024};
    // Every work-item reads what its neighbour of the next wave has written.
    const std::string write = start + "ds_write_b32 v1, v1\n";
    const std::string read = "v_xor_b32 v3, 0x100, v1\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)" + finish;
    check_clean(run_sanitized(write + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + read, shape, 128));
    CHECK(check_finds(run_sanitized(write + "s_waitcnt lgkmcnt(0)\n" + read, shape, 128), "LDS race").fix ==
          "s_barrier between the two");
    CHECK(check_finds(run_sanitized(write + "s_barrier\n" + read, shape, 128), "LDS race").fix ==
          "s_waitcnt lgkmcnt(0) needed before the s_barrier");
    const Outcome beyond = run_sanitized(start + "v_add_u32 v3, 0x400, v1\nds_write_b32 v3, v1\n", shape);
    check_finds(beyond, "lds out of bounds");
}

TEST_CASE("sanitizer: a load to LDS needs vmcnt, and a barrier for the other waves") {
    const KernelShape shape{.lds = 1024};
    const std::string load = start + "v_readfirstlane_b32 s8, v1\ns_nop 3\ns_mov_b32 m0, s8\ns_nop 0\n"
                                     "global_load_lds_dword v1, s[4:5]\n";
    const std::string own = "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)" + finish;
    const std::string other = "v_xor_b32 v3, 0x100, v1\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)" + finish;
    check_clean(run_sanitized(load + "s_waitcnt vmcnt(0)\n" + own, shape));
    CHECK(check_finds(run_sanitized(load + own, shape), "load to LDS used before its wait").fix ==
          "s_waitcnt vmcnt(0) needed, none found since");
    check_clean(run_sanitized(load + "s_waitcnt vmcnt(0)\ns_barrier\n" + other, shape, 128));
    const Outcome late = run_sanitized(load + "s_barrier\n" + other, shape, 128);
    CHECK(check_finds(late, "LDS race").fix == "s_waitcnt vmcnt(0) needed before the s_barrier");
    CHECK(late.out[5] != 5 + 64 + 1);
}

TEST_CASE("sanitizer: software wait states, by table and by what shipped code keeps") {
    const std::string zero =
        "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\n"
        "v_mov_b32 v16, 0\nv_mov_b32 v17, 0\nv_mov_b32 v18, 0\nv_mov_b32 v19, 0\ns_nop 1\n";
    const std::string matrix = start + zero + "v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[16:19], 0\n";
    check_clean(run_sanitized(matrix + "s_nop 7\ns_nop 3\nv_mov_b32 v2, v7" + finish));
    CHECK(check_finds(run_sanitized(matrix + "s_nop 3\nv_mov_b32 v2, v7" + finish),
                      "matrix result read too early")
              .fix == "s_nop 3 before it");
    // 16 slots behind two more matrix instructions: the pipe's own stalls take as long as the rule asks.
    check_clean(run_sanitized(matrix +
                              "v_mfma_f32_16x16x32_bf16 v[20:23], v[8:11], v[16:19], 0\n"
                              "v_mfma_f32_16x16x32_bf16 v[24:27], v[8:11], v[16:19], 0\nv_mov_b32 v2, v4" +
                              finish));
    check_finds(run_sanitized(start + "v_mov_b32 v3, 0\nv_exp_f32 v3, v3\nv_mov_b32 v2, v3" + finish),
                "transcendental result read too early");
    check_clean(
        run_sanitized(start + "v_mov_b32 v3, 0\nv_exp_f32 v3, v3\ns_nop 0\nv_mov_b32 v2, v3" + finish));
    check_finds(
        run_sanitized(start + "v_mov_b32 v3, 0\nv_readfirstlane_b32 s8, v3\nv_mov_b32 v2, s8" + finish),
        "vector result too early in v_readlane or v_readfirstlane");
    check_finds(
        run_sanitized(start + "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_permlane32_swap_b32 v2, v3" + finish),
        "vector result too early in v_permlane*_swap");
    // One wait state too few, and no harm in shipped kernels.
    check_finds(run_sanitized(start +
                              "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\ns_nop 0\nv_permlane32_swap_b32 v2, v3" +
                              finish),
                "vector result too early in v_permlane*_swap", Severity::note);
}

TEST_CASE("sanitizer: reports name a C++ kernel as its author does") {
    sanitizer::Report report;
    report.kernel = "_Z5scalePfi";
    report.findings.push_back({.rule = "LDS race", .detail = "d"});
    CHECK(sanitizer::to_text({&report, 1}, false)
              .starts_with("error: LDS race in kernel scale(float*, int)\n"));
    CHECK(sanitizer::to_json({&report, 1}, false).find("\"kernel\": \"_Z5scalePfi\"") != std::string::npos);
    report.kernel = "f"; // no mangled name, though also the mangled name of a type
    CHECK(sanitizer::to_text({&report, 1}, false).starts_with("error: LDS race in kernel f\n"));
}

TEST_CASE("sanitizer: uninitialised registers, LDS and memory where they matter") {
    check_finds(run_sanitized(start + "v_mov_b32 v2, v9" + finish), "uninitialised register stored");
    check_finds(run_sanitized(start +
                              "v_mov_b32 v2, 0\nv_and_b32 v9, 3, v9\nglobal_load_dword v2, v9, s[4:5]\n"
                              "s_waitcnt vmcnt(0)" +
                              finish),
                "uninitialised register in an address");
    check_finds(
        run_sanitized(start + "v_mov_b32 v2, 0\ns_cmp_eq_u32 s40, 0\ns_cbranch_scc1 over\nover:" + finish),
        "branch depends on an uninitialised register");
    // Masked away, or both branches alike: it does not matter.
    check_clean(run_sanitized(start + "v_mov_b32 v2, v9\nv_and_b32 v2, 0, v2" + finish));
    check_finds(run_sanitized(start + "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)" + finish, {.lds = 1024}),
                "uninitialised register stored");
    check_finds(run_sanitized(start + "v_mfma_f32_16x16x32_bf16 v[4:7], v[8:11], v[16:19], 0\n"),
                "uninitialised register in a matrix instruction");

    Machine machine; // memory that nobody has written
    machine.sanitize();
    machine.load(start + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)" + finish);
    const std::uint64_t in = machine.memory().allocate(256, AllocationKind::device, 0);
    auto* const out = machine.buffer<std::uint32_t>(64);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE(result.sanitizer->findings.size() == 1);
    CHECK(result.sanitizer->findings[0].rule == "uninitialised register stored");
    CHECK(result.sanitizer->findings[0].detail.find(
              " holds bits that were never written; the wave loaded such bits last at k+0x") !=
          std::string::npos);
    machine.memory().mark_initialised(in, 256);
    CHECK(machine.run({1, 1, 1}, {64, 1, 1}, in, out).sanitizer->findings.empty());
}

TEST_CASE("sanitizer: conversions to part of a register leave the rest as it was") {
    const std::string wait = "s_nop 0\n";
    const auto fill = [&](const std::string& instruction, std::initializer_list<const char*> places) {
        std::string text = start + "v_mov_b32 v8, 1.0\nv_mov_b32 v9, 1.0\nv_mov_b32 v10, 1.0\n";
        for (const char* const place : places)
            text += instruction + place + "\n" + wait;
        return run_sanitized(text + finish);
    };
    const auto low = "", high = " op_sel:[0,0,1]", high_of_four = " op_sel:[0,0,0,1]";
    const char* const stored = "uninitialised register stored";
    for (const std::string half : {"v_cvt_pk_fp8_f32 v2, v8, v9", "v_cvt_pk_bf8_f32 v2, v8, v9"}) {
        CAPTURE(half);
        check_clean(fill(half, {low, high}));
        check_clean(fill(half, {high, low}));
        check_finds(fill(half, {low}), stored);
        check_finds(fill(half, {high, high}), stored);
    }
    check_clean(fill("v_cvt_scalef32_pk_fp8_f32 v2, v8, v9, v10", {low, high_of_four}));
    check_finds(fill("v_cvt_scalef32_pk_fp8_f32 v2, v8, v9, v10", {high_of_four}), stored);
    const char* const bytes[] = {" op_sel:[0,0,0,0]", " op_sel:[0,0,1,0]", " op_sel:[0,0,0,1]",
                                 " op_sel:[0,0,1,1]"};
    for (const std::string one :
         {"v_cvt_sr_fp8_f32 v2, v8, v9", "v_cvt_scalef32_pk_fp4_f32 v2, v8, v9, v10"}) {
        CAPTURE(one);
        check_clean(fill(one, {bytes[3], bytes[0], bytes[2], bytes[1]}));
        check_finds(fill(one, {bytes[0], bytes[1], bytes[2], bytes[2]}), stored);
    }
    // What is converted still counts: v11 was never written.
    check_finds(fill("v_cvt_pk_fp8_f32 v2, v8, v11", {low, high}), stored);
    check_finds(run_sanitized(start +
                              "v_mov_b32 v2, 0\nv_cvt_pk_fp8_f32 v2, v11, v11 op_sel:[0,0,1]\ns_nop 0" +
                              finish),
                stored);
}

TEST_CASE("sanitizer: races in global memory between waves and between workgroups") {
    // All write dword 0.
    const std::string same = start + "v_mov_b32 v3, 0\nv_mov_b32 v2, 1\nglobal_store_dword v3, v2, s[6:7]\n";
    check_clean(run_sanitized(same));
    check_finds(run_sanitized(same, {}, 128), "global memory race in a workgroup");
    check_finds(run_sanitized(same, {}, 64, 2), "global memory race between workgroups");
    check_clean(run_sanitized(start + "v_mov_b32 v3, 0\nv_mov_b32 v2, 1\nglobal_atomic_add v3, v2, s[6:7]\n",
                              {}, 128, 4));
}

TEST_CASE("sanitizer: misaligned accesses and barriers that not all reach") {
    check_finds(
        run_sanitized(start + "v_add_u32 v3, 2, v1\nds_read2_b32 v[4:5], v3 offset1:1\n", {.lds = 1024}),
        "misaligned access");
    check_finds(
        run_sanitized(start + "v_readfirstlane_b32 s8, v1\ns_nop 3\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 over\n"
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
        const Outcome outcome = run_sanitized(body, {}, 64, 1, {.seed = seed});
        check_finds(outcome, "result used before its wait");
        (outcome.out[5] == 7 ? early : late) = true;
    }
    CHECK(early);
    CHECK(late);
}

TEST_CASE("sanitizer: reports of several launches add up; JSON carries what the text does") {
    const Outcome bad =
        run_sanitized(start + "global_load_dword v2, v1, s[4:5]\nv_add_u32 v2, 1, v2" + finish);
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

TEST_CASE("sanitizer: wait states of FP64 matrix instructions, of dot products and of narrow conversions") {
    std::string zero;
    for (int n = 8; n < 36; ++n)
        zero += "v_mov_b32 v" + std::to_string(n) + ", 0\n";
    const auto nops = [](unsigned states) {
        std::string text;
        for (; states > 0; states -= std::min(states, 8u))
            text += "s_nop " + std::to_string(std::min(states, 8u) - 1) + "\n";
        return text;
    };
    struct Case {
        const char* producer;
        const char* consumer;
        unsigned states;
        const char* rule;
        Severity severity;
    };
    const char* const read = "matrix result read too early";
    const char* const large = "v_mfma_f64_16x16x4_f64 v[8:15], v[16:17], v[18:19], v[8:15]\n";
    const char* const small = "v_mfma_f64_4x4x4_4b_f64 v[8:9], v[16:17], v[18:19], v[8:9]\n";
    const Case cases[] = {
        {large, "ds_write_b32 v1, v8\n", 18, read, Severity::error},
        {large, "v_mov_b32 v2, v8\n", 19, read, Severity::error},
        {large, "v_mov_b32 v8, 0\n", 11, "matrix result overwritten too early", Severity::error},
        {large, "v_fma_f64 v[20:21], v[22:23], v[24:25], v[26:27]\n", 2,
         "FP64 multiply-add too early after a FP64 matrix instruction", Severity::note},
        {small, "ds_write_b32 v1, v8\n", 9, read, Severity::error},
        {small, "v_mov_b32 v2, v8\n", 6, read, Severity::error},
        {small, small, 4, "matrix result too early in an overlapping accumulator", Severity::error},
        {"v_dot2_f32_f16 v8, v9, v10, v11\n", "v_dot2_f32_f16 v12, v8, v10, v11\n", 3,
         "dot product result used too early", Severity::error},
        {"v_dot2_f32_f16 v8, v9, v10, v11\n", "ds_write_b32 v1, v8\n", 3, "dot product result used too early",
         Severity::error},
        {"v_cvt_scalef32_sr_pk_fp4_f32 v8, v[10:11], v12, v13\n", "v_mov_b32 v2, v8\n", 1,
         "partly written register used too early", Severity::error},
        {"v_cvt_scalef32_sr_fp8_f16 v8, v10, v12, v13 op_sel:[0,0,1,0]\n", "v_mov_b32 v2, v8\n", 1,
         "partly written register used too early", Severity::error},
        {"v_cvt_pk_fp8_f32 v8, v10, v11 op_sel:[0,0,1]\n", "v_mov_b32 v2, v8\n", 1,
         "partly written register used too early", Severity::note},
    };
    const KernelShape shape{.lds = 1024};
    for (const Case& c : cases) {
        CAPTURE(std::string(c.producer));
        CAPTURE(std::string(c.consumer));
        const std::string begin = start + zero + nops(4) + c.producer,
                          end = std::string(c.consumer) + nops(20);
        check_finds(run_sanitized(begin + nops(c.states - 1) + end, shape), c.rule, c.severity);
        check_clean(run_sanitized(begin + nops(c.states) + end, shape));
    }
    // An accumulator is forwarded from one dot product to the next.
    check_clean(run_sanitized(
        start + zero + "v_dot2_f32_f16 v8, v9, v10, v11\nv_dot2_f32_f16 v8, v12, v13, v8\n" + nops(4),
        shape));
}
