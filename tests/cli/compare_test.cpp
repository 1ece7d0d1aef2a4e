// SPDX-License-Identifier: Apache-2.0
// zyfa compare, zyfa tune --verify, kernels from files, and rulings, as a user meets them.
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/tool.hpp"

using namespace zyfa::test;

namespace {

using Json = nlohmann::json;

const std::string shape = " --seq 128 --heads 1 ";
const std::string slower = "'bf16_fwd_d128{chiplet_map=runs,key_order=from_first,key_parts=1,nan_exact=true,"
                           "persistent=true,tau=0.0}'";

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
