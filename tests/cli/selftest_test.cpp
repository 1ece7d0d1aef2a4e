// SPDX-License-Identifier: Apache-2.0
#include "cli/selftest.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

using namespace zyfa;
using namespace zyfa::cli;

TEST_CASE("facts have names, rules and instructions") {
    std::set<std::string> names;
    for (const selftest::Fact& fact : selftest::all_facts()) {
        CAPTURE(fact.name);
        CHECK(names.insert(fact.name).second);
        CHECK(!fact.what.empty());
        CHECK(!fact.mnemonics.empty());
        CHECK(fact.checked > 0);
        // The fact's own kernel uses what it vouches for.
        CHECK(!selftest::relies_on(fact.body, {fact}).empty());
    }
}

TEST_CASE("a kernel relies on the facts of its instructions, in whatever encoding") {
    const std::vector<selftest::Fact>& facts = selftest::all_facts();
    CHECK(selftest::relies_on("  v_cvt_pk_bf16_f32 v1, v2, v3\n", facts) ==
          std::vector<std::string>{"cvt-bf16"});
    CHECK(selftest::relies_on("v_exp_f32_e32 v1, v2", facts) == std::vector<std::string>{"exp-flush"});
    CHECK(selftest::relies_on("v_exp_f32_sdwa v1, v2", facts) == std::vector<std::string>{"exp-flush"});
    CHECK(selftest::relies_on("v_max_f32x v1, v2\nxv_exp_f32 v0", facts).empty());
}

#if ZYFA_HAS_SIM
TEST_CASE("a device that does not keep to a fact is found out, by lane and word") {
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    REQUIRE(assembler);
    std::vector<selftest::Fact> facts = selftest::all_facts();
    const auto fact =
        std::find_if(facts.begin(), facts.end(), [](const selftest::Fact& f) { return f.name == "lds-dma"; });
    REQUIRE(fact != facts.end());
    fact->expected[5][2] += 1; // as if the hardware did something else
    facts.push_back({.name = "wild",
                     .what = "a fault is an answer too",
                     .mnemonics = {"global_load_dword"},
                     .body = "v_mov_b32 v3, 0\nglobal_load_dword v8, v3, s[20:21]"});
    facts.push_back(facts.front()); // what comes after a fault is still tried
    facts.back().name = "again";
    for (const selftest::Outcome& outcome : selftest::run(runtime, 0, *assembler, facts)) {
        CAPTURE(outcome.fact->name);
        CAPTURE(outcome.message);
        if (outcome.fact->name == "lds-dma") {
            CHECK_FALSE(outcome.held);
            CHECK(outcome.message.find("lane 5, word 2") != std::string::npos);
        } else {
            CHECK(outcome.held == (outcome.fact->name != "wild"));
        }
    }
}
#endif
