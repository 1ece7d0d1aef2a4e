// SPDX-License-Identifier: Apache-2.0
// From a cross product to tasks.
#include "sweep/plan.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::sweep;

namespace {

Spec small() {
    Spec spec;
    spec.name = "small";
    Model model;
    model.name = "m";
    model.heads_q = 8;
    model.heads_kv = 2;
    model.contexts = {{256, 256}, {512, 512}, {500, 500}};
    model.tensor_parallel = {1, 2, 4, 3};
    model.masks = {Mask::causal, Mask::none};
    spec.models.push_back(model);
    return spec;
}

} // namespace

TEST_CASE("heads are split over GPUs, and key-value heads are replicated where there are fewer") {
    const Expansion expansion = expand(small());
    CHECK(expansion.wanted.size() == 3u * 3u * 2u);
    REQUIRE(expansion.refused.size() == 1);
    CHECK(expansion.refused[0].problem == "m, tensor parallel 3");
    const auto split = [&](std::int64_t q, std::int64_t kv) {
        return std::any_of(expansion.wanted.begin(), expansion.wanted.end(), [&](const Wanted& wanted) {
            return wanted.problem.heads_q == q && wanted.problem.heads_kv == kv;
        });
    };
    CHECK(split(8, 2));
    CHECK(split(4, 1));
    CHECK(split(2, 1));
}

TEST_CASE("problems that share a winner are one task, on the one with the most work") {
    const Plan plan = make_plan(small(), "id", 1);
    CHECK(plan.problems == 18);
    CHECK(plan.tasks.size() == 12); // 500 and 512 share a bucket
    for (const Task& task : plan.tasks) {
        CHECK(task.problem.seq_q != 500);
        CHECK(task.covers.size() == (task.problem.seq_q == 512 ? 1u : 0u));
    }
    CHECK(std::is_sorted(plan.tasks.begin(), plan.tasks.end(), [&](const Task& a, const Task& b) {
        return plan.search_cost(a) > plan.search_cost(b);
    }));
}

TEST_CASE("exclusions leave out what matches all of their fields") {
    Spec spec = small();
    Exclusion exclusion;
    exclusion.mask = Mask::none;
    exclusion.seq_q = Range{500, 512};
    exclusion.reason = "not served";
    spec.exclusions.push_back(exclusion);
    const Plan plan = make_plan(spec, "id", 1);
    CHECK(plan.problems == 12);
    REQUIRE(plan.excluded.size() == 6);
    CHECK(plan.excluded[0].reason == "not served");

    exclusion = {};
    exclusion.model = "m";
    spec.exclusions.push_back(exclusion);
    CHECK_THROWS_WITH_AS(make_plan(spec, "id", 1), doctest::Contains("nothing is left to tune"), Error);
}

TEST_CASE("what no template computes is refused with the reason") {
    Spec spec = small();
    spec.models[0].dim_qk = spec.models[0].dim_v = 77;
    const Expansion expansion = expand(spec);
    CHECK(expansion.wanted.empty());
    CHECK(std::any_of(expansion.refused.begin(), expansion.refused.end(),
                      [](const LeftOut& entry) { return entry.reason.find("77") != std::string::npos; }));
}

TEST_CASE("a plan is its text") {
    Spec spec = small();
    spec.models[0].layers = {"a.safetensors"};
    const Plan plan = make_plan(spec, "id", 7, [](const std::string&, const Problem& problem) {
        return problem.seq_q > 256 ? "has 256 rows" : "";
    });
    CHECK(!plan.drawn.empty());
    const std::string text = to_text(plan);
    const Plan read = parse_plan(text);
    CHECK(to_text(read) == text);
    CHECK(read.id == "id");
    CHECK(read.tasks.size() == plan.tasks.size());
    CHECK_THROWS_AS(parse_plan(text.substr(0, text.size() / 2)), Error);
    CHECK_THROWS_AS(parse_plan(""), Error);
}

TEST_CASE("a task's key changes with everything that its measurement depends on, and with nothing else") {
    const auto key = [](const Spec& spec) { return make_plan(spec, "id", 1).tasks.front().key; };
    Spec spec = small();
    const std::string base = key(spec);
    spec.lease_s = 5;
    spec.agreement.tolerance = 0.5;
    spec.name = "other";
    CHECK(key(spec) == base);
    for (const auto change :
         {+[](Spec& s) { s.tuning.budget_s = 1; }, +[](Spec& s) { s.seed = 2; },
          +[](Spec& s) { s.agreement.finalists = 2; },
          +[](Spec& s) { s.distribution = Distribution::sink_4; },
          +[](Spec& s) { s.models[0].layers = {"l"}; }, +[](Spec& s) { s.models[0].lse = {false}; }}) {
        Spec other = small();
        change(other);
        CHECK(key(other) != base);
    }
}
