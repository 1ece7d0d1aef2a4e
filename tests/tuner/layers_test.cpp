// SPDX-License-Identifier: Apache-2.0
// Tuning on a weighted set of layers.
#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "tuner/inputs.hpp"
#include "tuner/layer_beds.hpp"
#include "tuner/passes.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;
using namespace zyfa::tuner;

namespace {

using Counts = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("a pass launches each layer as its weight says") {
    CHECK(launches_per_pass(std::vector{2.5}) == Counts{1});
    CHECK(launches_per_pass(std::vector{1.0, 1.0}) == Counts{1, 1});
    CHECK(launches_per_pass(std::vector{0.3, 0.7}) == Counts{3, 7});
    CHECK(launches_per_pass(std::vector{12.0, 4.0, 8.0}) == Counts{3, 1, 2});
    CHECK(launches_per_pass(std::vector{1.0, 1000.0}) == Counts{1, 31}); // at least one of each
    for (const double wrong : {0.0, -1.0})
        CHECK_THROWS_AS(launches_per_pass(std::vector{1.0, wrong}), Error);
}

TEST_CASE("a weighted set is tuned as one: times of a pass, the gate on every layer, the profile recorded") {
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    CopyTemplate form;
    form.delays = {std::int64_t{300}, std::int64_t{0}};
    const Problem problem = one_key(3, 101);
    TuningInputs inputs = drawn_inputs(problem, Distribution::gaussian, 1), one = inputs,
                 other = drawn_inputs(problem, Distribution::logit_sd_4, 2);
    inputs.layers.push_back({other.q, other.k, other.v, "other", 3});
    CHECK(profile_name(inputs) == "gaussian*1+other*3");
    Options options;
    options.budget_s = 0;
    Ignore sink;
    const Outcome single = tune(runtime, 0, *assembler, form, problem, one, options, sink),
                  set = tune(runtime, 0, *assembler, form, problem, inputs, options, sink);
    CHECK(set.schedule == CopyTemplate::schedule(0));
    CHECK(set.evidence.data_profile == "gaussian*1+other*3");
    CHECK(single.evidence.data_profile == "gaussian");
    CHECK(set.measurements[0].median_ms ==
          doctest::Approx(4 * single.measurements[0].median_ms).epsilon(0.01));
    CHECK(set.measurements[0].tflops == doctest::Approx(single.measurements[0].tflops).epsilon(0.01));
    CHECK(set.measurements[0].message.find("1 x gaussian, 3 x other") != std::string::npos);

    options.candidates = {CopyTemplate::schedule(0, "bits")};
    const Outcome wrong = tune(runtime, 0, *assembler, form, problem, inputs, options, sink);
    CHECK(wrong.measurements[1].status == CandidateStatus::wrong);
    CHECK(wrong.measurements[1].message.starts_with("on "));
}

TEST_CASE("copies that launches take in turn: enough to fill the cache twice, of every layer") {
    CHECK(rotating_copies(5, 1) == 5);
    CHECK(rotating_copies(0, std::uint64_t{1} << 30) == 2);
    CHECK(rotating_copies(0, 100'000'000) == 6);
    CHECK(rotating_copies(0, 1) == 64);

    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    CopyTemplate form;
    form.delays = {std::int64_t{300}, std::int64_t{0}};
    const Problem problem = one_key(3, 101);
    TuningInputs inputs = drawn_inputs(problem, Distribution::gaussian, 1),
                 other = drawn_inputs(problem, Distribution::logit_sd_4, 2);
    inputs.layers.push_back({other.q, other.k, other.v, "other", 3});
    Options options;
    options.budget_s = 0;
    options.policy = "race"; // whose blocks have more launches than there are copies
    options.rotating = 3;
    Ignore sink;
    const Outcome outcome = tune(runtime, 0, *assembler, form, problem, inputs, options, sink);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.measurements[0].launches > 3);
    CHECK(outcome.measurements[0].message.find("launches take 3 copies of the tensors in turn") !=
          std::string::npos);
}
