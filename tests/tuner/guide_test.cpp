// SPDX-License-Identifier: Apache-2.0
// The timing model as a guide: what it leaves out, and that a tuning measures the rest.
#include "tuner/guide.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;
using namespace zyfa::tuner;

namespace {

SearchPoint point(std::int64_t delay, std::uint32_t distance) {
    return {CopyTemplate::schedule(delay), std::nullopt, distance, false};
}

} // namespace

TEST_CASE("points behind the model's best are pruned, the default never, unknown ones not") {
    std::vector<SearchPoint> points{point(9, 0), point(1, 1), point(2, 1),
                                    point(3, 1), point(4, 1), point(5, 1)};
    points[5].rejection = "no";
    Guidance guidance{{2.0, 1.3, 1.0, 0.0, std::numeric_limits<double>::infinity(), 0.0}, "the model", 4};
    const std::vector<SearchPoint> pruned = prune(points, guidance);
    REQUIRE(pruned.size() == 6);
    CHECK(pruned[0].schedule == CopyTemplate::schedule(9));
    CHECK(!pruned[0].rejection);
    CHECK(pruned[1].schedule == CopyTemplate::schedule(2)); // the model's best, where a search starts
    CHECK(pruned[1].distance == 0);
    CHECK(pruned[2].schedule == CopyTemplate::schedule(3)); // not timed
    CHECK(!pruned[2].rejection);
    for (std::size_t i = 3; i < 6; ++i)
        CHECK(pruned[i].rejection.has_value());
    int left_out = 0;
    for (const SearchPoint& one : pruned)
        left_out += one.pruned;
    CHECK(left_out == 2);
}

TEST_CASE("a guided race measures what the model leaves, and says what it left out") {
    const auto runtime = runtime::Runtime::open("sim", "");
    const auto assembler = jit::make_assembler("");
    CopyTemplate form;
    form.delays = {std::int64_t{900}, std::int64_t{0}, std::int64_t{5000}};
    const Problem problem = one_key(3, 101);
    Options options;
    options.budget_s = 0;
    options.policy = "race";
    options.guide = "model";
    Ignore sink;
    const Outcome outcome = tune(runtime, 0, *assembler, form, problem, {}, options, sink);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.timed == 2); // the default takes part
    REQUIRE(outcome.measurements.size() == 3);
    const Measurement& slow = outcome.measurements[2];
    CHECK(slow.schedule == CopyTemplate::schedule(5000));
    CHECK(slow.status == CandidateStatus::skipped);
    CHECK_MESSAGE(slow.message.find("left out by the timing model") != std::string::npos, slow.message);
    for (const runtime::DeviceInfo& info : runtime->devices())
        CHECK(info.compute_units == 256);

    options.policy = "model";
    CHECK_THROWS_WITH_AS(tune(runtime, 0, *assembler, form, problem, {}, options, sink),
                         doctest::Contains("nothing else to measure"), Error);
    options.policy = "race";
    options.guide = "oracle";
    CHECK_THROWS_WITH_AS(tune(runtime, 0, *assembler, form, problem, {}, options, sink),
                         doctest::Contains("accepted: \"model\""), Error);
}
