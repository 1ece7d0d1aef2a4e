// SPDX-License-Identifier: Apache-2.0
// zyfa sweep on one machine with two simulated GPUs, from a model's configuration to a mounted pack. (On a
// real Slurm: tests/sweep/sweep_on_slurm.sh.)
#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tool.hpp"

using zyfa::test::Output;
using zyfa::test::run_tool;
using zyfa::test::TemporaryFolder;
using Json = nlohmann::json;

namespace {

Json json_of(const Output& output) {
    INFO(output.out);
    INFO(output.err);
    const Json json = Json::parse(output.out, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    return json;
}

} // namespace

TEST_CASE("a model's configuration becomes a sweep, and the plan lists what is refused") {
    const TemporaryFolder folder;
    const std::string config = folder.write(
        "config.json", R"({"num_attention_heads": 4, "head_dim": 96, "max_position_embeddings": 1024})");
    CHECK(run_tool("sweep init --config " + config + " -o " + folder.path("sweep.json")).code == 0);
    const Output nothing = run_tool("sweep plan " + folder.path("sweep.json") + " --dry-run");
    CHECK(nothing.code == 2); // no template for d = 96
    CHECK(nothing.err.find("nothing is left to tune") != std::string::npos);

    const std::string wrong = folder.write(
        "wrong.json", R"({"format": "zyfa-sweep/1", "name": "x", "models": [{"heads_q": 1.5}]})");
    const Output refused = run_tool("sweep plan " + wrong + " --dry-run");
    CHECK(refused.code == 2);
    CHECK(refused.err.find("models[0].heads_q is 1.5") != std::string::npos);
    CHECK(run_tool("sweep run " + folder.path()).code == 7); // no plan there
}

TEST_CASE("a sweep runs on every GPU of the machine, on captured layers where they fit, and ends in a pack") {
    if (!ZYFA_HAS_SIM)
        return;
    const TemporaryFolder folder;
    const std::string spec = folder.write("sweep.json", R"({
        "format": "zyfa-sweep/1", "name": "tiny",
        "models": [{"heads_q": 4, "heads_kv": 1, "contexts": [128, 4096], "layers": ")" +
                                                            std::string(ZYFA_DATA_DIR) +
                                                            R"(/gqa_excerpt.safetensors"}],
        "exclude": [{"seq_q": 4096, "reason": "too long for a test"}],
        "candidates": "bf16_fwd_d128{tau=8.0}",
        "tuning": {"gate_rows": 8}, "agreement": {"across": "gpus"}, "lease_s": 5})");
    const std::string shared = folder.path("shared");
    const Json plan = json_of(run_tool("sweep plan " + spec + " --folder " + shared + " --json"));
    REQUIRE(plan["tasks"].size() == 1);
    CHECK(plan["excluded"].size() == 1);
    CHECK(plan["tasks"][0]["layers"].size() == 1);

    std::map<std::string, std::string> environment{
        {"ZYFA_SIM_DEVICES", "2"},
        {"ZYFA_SIM_OPTIONS", "threads=1,chip_spread=0.05,0.seed=1,1.seed=2"},
        {"ZYFA_CACHE_DIR", folder.path("cache")}};
    const Output without_gpu = run_tool("sweep run " + shared, environment);
    CHECK(without_gpu.code == 3); // never the simulator by itself
    const Output run = run_tool("sweep run " + shared + " --device sim --json", environment);
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 2); // one line per worker
    CHECK(json_of({0, run.out.substr(0, run.out.find('\n')), ""})["stopped"] == false);
    const Json status = json_of(run_tool("sweep status " + shared + " --json"));
    CHECK(status["complete"] == true);
    CHECK(status["lanes"][0]["sites"].size() == 2);
    CHECK(status["workers"].size() == 2);
    const Output words = run_tool("sweep status " + shared + " --watch");
    CHECK(words.code == 0);
    CHECK(words.out.find("finished") != std::string::npos);

    // Another run finds nothing to do.
    REQUIRE(run_tool("sweep resume " + shared + " --device sim", environment).code == 0);
    const Json again = json_of(run_tool("sweep status " + shared + " --json"));
    int done = 0;
    for (const Json& worker : again["workers"])
        done += worker["done"].get<int>();
    CHECK(done == 2);

    const std::string pack = folder.path("tiny.zyfapack"), key = folder.path("key");
    REQUIRE(run_tool("cache keygen " + key, environment).code == 0);
    const Json merged = json_of(
        run_tool("sweep merge " + shared + " -o " + pack + " --sign " + key + " --json", environment));
    CHECK(merged["packs"][0]["winners"] == 1);
    CHECK(merged["packs"][0]["missing"].empty());
    REQUIRE(run_tool("sweep report " + shared + " -o " + folder.path("tiny.html")).code == 0);
    CHECK(zyfa::test::read_text(folder.path("tiny.html")).find("captured:") != std::string::npos);

    REQUIRE(run_tool("cache trust " + merged["signer"].get<std::string>() + " site", environment).code == 0);
    environment["ZYFA_CACHE_LAYERS"] = pack;
    for (const char* lengths : {"--seq 128", "--seq 77 --seq-kv 200"}) {
        const Json call = json_of(run_tool("attention --device sim --mode must_hit --json --heads-q 4 "
                                           "--heads-kv 1 " +
                                               std::string(lengths),
                                           environment));
        CHECK(call["cache"]["result"] == "hit");
        CHECK(call["counters"]["assembled"] == 0);
        CHECK(call["counters"]["timed"] == 0);
    }
}
