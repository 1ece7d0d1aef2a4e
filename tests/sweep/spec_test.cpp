// SPDX-License-Identifier: Apache-2.0
// sweep.json: reading, refusing, writing, and making one of a model's configuration.
#include "sweep/spec.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

namespace {

/// The argument and message of the error that a text gives.
std::pair<std::string, std::string> refusal(const std::string& json) {
    try {
        parse_spec(json);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        return {error.argument(), error.what()};
    }
    return {};
}

std::string with(const std::string& fields) {
    return R"({"format": "zyfa-sweep/1", "name": "x", "models": [{"heads_q": 8, "contexts": 256}])" + fields +
           "}";
}

/// The documentation's example.
std::string documented() {
    std::ifstream file(ZYFA_DOCS_DIR "/sweeps.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str(), start = "<!-- sweep.json -->\n```json\n";
    const std::size_t from = all.find(start);
    REQUIRE(from != std::string::npos);
    return all.substr(from + start.size(), all.find("```", from + start.size()) - from - start.size());
}

} // namespace

TEST_CASE("the documentation's sweep.json is read, and written back the same") {
    const Spec spec = parse_spec(documented());
    CHECK(spec.name == "llama-3.1-70b");
    REQUIRE(spec.models.size() == 1);
    CHECK(spec.models[0].heads_kv == 8);
    CHECK(spec.models[0].contexts.back() == Lengths{512, 16384});
    CHECK(spec.models[0].layouts == std::vector{Problem::Layout::bshd});
    REQUIRE(spec.exclusions.size() == 1);
    CHECK(spec.exclusions[0].seq_q->max == 1024);
    CHECK(spec.tuning.budget_s == 120);
    CHECK(spec.lease_s == 60);
    const std::string text = to_json(spec);
    CHECK(to_json(parse_spec(text)) == text);
}

TEST_CASE("what is wrong in a sweep.json is named with its path") {
    CHECK(refusal("{").first == "sweep.json");
    CHECK(refusal("[]").first == "the file");
    CHECK(refusal("{}").first == "format");
    CHECK(refusal(R"({"format": "zyfa-sweep/2", "name": "x", "models": []})").first == "format");
    CHECK(refusal(R"({"format": "zyfa-sweep/1", "name": "x", "models": []})").first == "models");
    CHECK(refusal(R"({"format": "zyfa-sweep/1", "name": "x", "models": [{"contexts": 1}]})").first ==
          "models[0].heads_q");
    const auto heads = refusal(
        R"({"format": "zyfa-sweep/1", "name": "x", "models": {"heads_q": 8, "heads_kv": 3, "contexts": 1}})");
    CHECK(heads.first == "models.heads_kv");
    CHECK(heads.second.find("divisor of heads_q, 8") != std::string::npos);
    CHECK(refusal(with(R"(, "lease": 3)")).first == "lease");
    CHECK(refusal(with(R"(, "lease": 3)")).second.find("lease_s") != std::string::npos);
    CHECK(refusal(with(R"(, "lease_s": 0)")).first == "lease_s");
    CHECK(refusal(with(R"(, "exclude": [{"dtype": "fp4"}])")).first == "exclude[0].dtype");
    CHECK(refusal(with(R"(, "exclude": [{"reason": "none"}])")).first == "exclude[0]");
    CHECK(refusal(with(R"(, "exclude": [{"seq_q": {"least": 1}}])")).first == "exclude[0].seq_q.least");
    CHECK(refusal(with(R"(, "candidates": ["bf16"])")).first == "candidates[0]");
    CHECK(refusal(with(R"(, "agreement": {"sites": 0})")).first == "agreement.sites");
    CHECK(refusal(with(R"(, "agreement": {"across": "racks"})")).second.find("nodes, gpus") !=
          std::string::npos);
    CHECK(refusal(with(R"(, "data": {"distribution": "uniform"})")).first == "data.distribution");
    CHECK(refusal(with(R"(, "tuning": {"tie": 2})")).first == "tuning.tie");
}

TEST_CASE("a sweep comes from a model's config.json") {
    ModelOptions options;
    const Spec llama = spec_for_model(
        R"({"model_type": "llama", "num_attention_heads": 64, "num_key_value_heads": 8, "hidden_size": 8192,
            "max_position_embeddings": 8192})",
        options);
    REQUIRE(llama.models.size() == 1);
    const Model& model = llama.models[0];
    CHECK(model.name == "llama");
    CHECK(model.heads_q == 64);
    CHECK(model.heads_kv == 8);
    CHECK(model.dim_qk == 128);
    CHECK(model.tensor_parallel == std::vector<std::int64_t>{1, 2, 4, 8});
    CHECK(model.contexts.front() == Lengths{256, 256});
    CHECK(model.contexts.back() == Lengths{8192, 8192});
    CHECK(model.contexts.size() == 6);

    // DeepSeek-V2: latent attention.
    options.tensor_parallel = {16};
    options.contexts = {1000, 4000};
    const Spec deepseek = spec_for_model(
        R"({"num_attention_heads": 128, "num_key_value_heads": 128, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "_name_or_path": "ds"})",
        options);
    CHECK(deepseek.models[0].dim_qk == 192);
    CHECK(deepseek.models[0].dim_v == 128);
    CHECK(deepseek.models[0].heads_kv == 128);
    CHECK(deepseek.models[0].contexts.size() == 2);

    CHECK_THROWS_WITH_AS(spec_for_model(R"({"hidden_size": 4})", {}),
                         doctest::Contains("num_attention_heads"), Error);
}
