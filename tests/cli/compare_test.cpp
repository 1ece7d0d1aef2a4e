// SPDX-License-Identifier: Apache-2.0
// zyfa compare, zyfa tune --verify, kernels from files, and rulings, as a user meets them.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cache/store.hpp"
#include "core/digest.hpp"
#include "core/profile_key.hpp"
#include "core/schedule.hpp"
#include "tests/cli/tool.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

using Json = nlohmann::json;

const std::string shape = " --seq 128 --heads 1 ";
const std::string slower = "'bf16_fwd_d128{chiplet_map=runs,key_order=from_first,key_parts=1,nan_exact=true,"
                           "persistent=true,tau=0.0}'";

std::string parts(const char* count) {
    return std::string("'bf16_fwd_d128{chiplet_map=runs,key_order=from_first,key_parts=") + count +
           ",nan_exact=true,persistent=true,tau=0.5}'";
}

struct Tool {
    TemporaryFolder folder;
    std::map<std::string, std::string> environment{{"ZYFA_DEVICE", "sim"},
                                                   {"ZYFA_CACHE_DIR", folder.path("c")}};

    Output run(const std::string& arguments) { return run_tool(arguments, environment); }
    Json json(const std::string& arguments, int code = 0) {
        const Output output = run(arguments + " --json");
        CAPTURE(output.err);
        CHECK(output.code == code);
        return Json::parse(output.out, nullptr, false);
    }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE(
    "an edited kernel that loops forever is killed, one that faults is crashed, and neither is a winner") {
    Tool tool;
    REQUIRE(tool.run("asm" + shape + "-o " + tool.folder.path("good.s")).code == 0);
    const std::string text = read_text(tool.folder.path("good.s"));
    const std::string entry = "zyfa_fwd_bf16_d128_causal_lse:\n";
    const std::string hang =
        tool.folder.write("hang.s", replaced(text, entry, entry + ".Lx:\n  s_branch .Lx\n"));
    const std::string fault =
        tool.folder.write("fault.s", replaced(text, entry,
                                              entry + "  v_mov_b32_e32 v2, 0\n  v_mov_b32_e32 v3, 0\n"
                                                      "  global_store_dword v[2:3], v2, off\n"));
    const Json json = tool.json("tune" + shape + "--candidate-limit 5 --candidate " + hang + " --candidate " +
                                    fault + " --candidate " + tool.folder.path("good.s"),
                                1);
    std::map<std::string, std::string> results;
    for (const Json& comparison : json["comparisons"])
        results[comparison["candidate"]] = comparison["result"];
    CHECK(results[hang] == "failed");
    CHECK(results[fault] == "failed");
    CHECK(results[tool.folder.path("good.s")] == "tie");
    std::map<std::string, int> status;
    for (const Json& measurement : json["measurements"])
        ++status[measurement["status"]];
    CHECK(status["timed_out"] == 1);
    CHECK(status["crashed"] == 1);
    CHECK(status["measured"] == 2);
    CHECK(tool.json("cache list")["winners"].empty());

    const Json here = tool.json("compare default " + hang + shape + "--isolate off --candidate-limit 2", 1);
    CHECK(here["comparisons"][0]["result"] == "failed");
    CHECK(here["measurements"][1]["status"] == "timed_out");
}

TEST_CASE("sustained: a swing is found and measured over, a drift withholds the verdict") {
    Tool tool;
    const std::string question =
        "compare " + parts("4") + " " + parts("1") + " --seq 1024 --heads 1 --policy sustained";
    const auto verdict = [&](const char* clock, int code) {
        tool.environment["ZYFA_SIM_OPTIONS"] = clock;
        return tool.json(question, code);
    };
    CHECK(verdict("clock_drift=0", 0)["comparisons"][0]["result"] == "slower");
    CHECK(verdict("clock_swing=0.04", 0)["comparisons"][0]["result"] == "slower");
    const Json drifts = verdict("clock_drift=-0.01", 9);
    CHECK(drifts["comparisons"][0]["result"] == "withheld");
    CHECK(drifts["verdict"].get<std::string>().find("the default's") != std::string::npos);
}

TEST_CASE("compare says which is faster, and exit code 9 says that it is undecided") {
    Tool tool;
    CHECK(tool.json("compare default winner --policy model" + shape, 4)["error"]["code"] == "cache_miss");
    const Json json = tool.json("compare default " + slower + " --policy model" + shape, 9);
    CHECK(json["comparisons"][0]["result"] == "tie"); // at one key block, tau changes little
    CHECK(json["simulated"] == true);
    CHECK(tool.run("compare default default" + shape).code == 2);
    CHECK(tool.run("compare default" + shape).code == 2);
}

TEST_CASE("of three, each is held against the first; what was not measured is withheld") {
    Tool tool;
    const std::string long_rows = " --seq 1024 --heads 1 ";
    const auto results = [](const Json& json) {
        std::vector<std::string> list;
        for (const Json& comparison : json["comparisons"])
            list.push_back(comparison["result"]);
        return list;
    };
    const std::string three = "compare " + parts("1") + " " + parts("2") + " " + parts("4") + long_rows;
    CHECK(results(tool.json(three)) == std::vector<std::string>{"faster", "faster"});
    CHECK(results(tool.json(three + "--policy model")) == std::vector<std::string>{"faster", "faster"});
    CHECK(results(tool.json(three + "--budget 0.001")) == std::vector<std::string>{"withheld", "withheld"});
    CHECK(results(tool.json("compare " + parts("4") + " " + parts("1") + long_rows)) ==
          std::vector<std::string>{"slower"});
}

TEST_CASE("verify of a winner that is slower than the default says no longer; one not measured is withheld") {
    Tool tool;
    const std::string long_rows = " --seq 1024 --heads 1 ";
    REQUIRE(tool.run("tune --candidate 'bf16_fwd_d128{chiplet_map=none,key_order=from_first,key_parts=4,"
                     "nan_exact=true,persistent=true,tau=0.5}'" +
                     long_rows)
                .code == 0);
    cache::Cache cache({.user_dir = tool.folder.path("c"), .read_only = {}});
    cache::Found found = cache.find(cache.winners().at(0).key).value();
    found.winner.schedule = Schedule::parse("bf16_fwd_d128{chiplet_map=runs,key_order=from_first,key_parts=1,"
                                            "nan_exact=true,persistent=true,tau=0.5}")
                                .canonical();
    cache.publish(found.winner, found.binary);
    cache::WinnerRecord beside = found.winner;
    beside.data_profile = "captured:a";
    beside.key_text = key_with_profile(beside.key_text, beside.data_profile);
    beside.key = digest(beside.key_text);
    cache.publish(beside, found.binary);
    for (const Digest& key : {found.winner.key, beside.key}) {
        const std::string verify = "tune --verify " + key.hex();
        const Json json = tool.json(verify, 1);
        CHECK(json["result"] == "no longer");
        CHECK(json["same_binary"] == false);
        CHECK(tool.json(verify + " --policy sustained", 1)["result"] == "no longer");
        const Json unmeasured = tool.json(verify + " --budget 0.001", 9);
        CHECK(unmeasured["result"] == "withheld");
        CHECK(unmeasured["why"] == "the budget was spent");
    }
}

TEST_CASE("verify says that a fresh winner holds; pins and bans are seen by every command") {
    Tool tool;
    REQUIRE(tool.run("tune" + shape + "--budget 3").code == 0);
    const std::string key = tool.json("cache list")["winners"][0]["digest"];
    const std::string winner = tool.json("cache list")["winners"][0]["schedule"];
    const Json json = tool.json("tune --verify " + key.substr(0, 12));
    CHECK(json["result"] == "holds");
    CHECK(json["same_binary"] == true);
    CHECK(tool.run("tune --verify ffffffff").code == 2);

    CHECK(tool.json("cache pin " + key + " --reason because")["winner"] == winner);
    CHECK(tool.run("cache list").out.find("pinned") != std::string::npos);
    CHECK(tool.run("cache show " + key).out.find("because") != std::string::npos);
    CHECK(tool.json("attention" + shape)["cache"]["reason"].get<std::string>().find(
              "pinned by hand (because)") == 0);
    CHECK(tool.run("cache ban " + key + " '" + winner + "'").code == 2); // it is pinned
    CHECK(tool.run("cache unpin " + key).code == 0);
    CHECK(tool.run("cache unpin " + key).code == 2);
    CHECK(tool.json("cache ban " + key + " '" + winner + "'")["winner"] == "");
    CHECK(tool.json("attention --mode replay" + shape)["schedule"]["text"] != winner);
    CHECK(tool.run("cache unban " + key + " '" + winner + "'").code == 0);
    CHECK(tool.run("cache rollback " + key).code == 2); // there is no former winner
    CHECK(tool.json("cache history " + key)["former_winners"].empty());
    CHECK(tool.run("cache ban --every-key '" + winner + "'").code == 0);
    CHECK(tool.json("cache list")["winners"].empty());
    CHECK(tool.run("cache unban --every-key '" + winner + "'").code == 0);
    CHECK(tool.json("cache list")["winners"].size() == 1);
}
