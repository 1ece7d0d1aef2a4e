// SPDX-License-Identifier: Apache-2.0
// Tunings that know what earlier ones have measured: a new candidate costs one measurement.
#include "tuner/known.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "tuner/gate.hpp"
#include "tuner/tuner.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

/// Three candidates, measured; then a fourth one, the fastest.
struct Grown {
    std::shared_ptr<runtime::Runtime> runtime = runtime::Runtime::open("sim", "");
    std::unique_ptr<jit::Assembler> assembler = jit::make_assembler("");
    CopyTemplate form;
    Problem problem = one_key(3, 101);
    tuner::TuningInputs inputs;
    tuner::Options options;
    Ignore ignore;

    explicit Grown(const std::string& policy = "") {
        REQUIRE(assembler);
        options.budget_s = 0;
        options.policy = policy;
        options.race.most_launches = 2;
        form.delays = {std::int64_t{300}, std::int64_t{200}, std::int64_t{100}};
        options.known = tune().measurements;
        form.delays.emplace_back(std::int64_t{0});
    }
    tuner::Outcome tune() {
        return tuner::tune(runtime, 0, *assembler, form, problem, inputs, options, ignore);
    }
};

} // namespace

TEST_CASE("a new candidate costs one measurement, and is judged like all others") {
    Grown grown;
    const tuner::Outcome outcome = grown.tune();
    CHECK(outcome.gated == 1);
    CHECK(outcome.timed == 1);
    CHECK(outcome.assembled == 1);
    CHECK(outcome.recalled == 3);
    REQUIRE(outcome.measurements.size() == 4);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.evidence.fallback.schedule == CopyTemplate::schedule(300));
    CHECK(outcome.evidence.verdict.starts_with("faster by"));

    // What was measured alone is what a tuning of all four measures.
    grown.options.fresh = true;
    const tuner::Outcome anew = grown.tune();
    CHECK(anew.recalled == 0);
    CHECK(anew.timed == 4);
    CHECK(anew.schedule == outcome.schedule);
    CHECK(anew.evidence.verdict == outcome.evidence.verdict);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(to_json(anew.measurements[i]) == to_json(outcome.measurements[i]));
}

TEST_CASE("a winner of an earlier tuning stays one without being measured") {
    Grown grown;
    grown.form.delays.pop_back();
    const tuner::Outcome outcome = grown.tune();
    CHECK(outcome.gated + outcome.timed == 0);
    CHECK(outcome.assembled == 1); // the winner's
    CHECK(outcome.schedule == CopyTemplate::schedule(100));
    CHECK_FALSE(outcome.code_object.elf.empty());
}

TEST_CASE("what was measured on something else counts for nothing") {
    Grown grown;
    SUBCASE("another problem of the bucket") {
        grown.problem = one_key(3, 100);
    }
    SUBCASE("another gate") {
        grown.options.gate_rows = 8;
    }
    SUBCASE("other data") {
        grown.inputs.q.resize(std::size_t{3} * 101 * 128 * 2);
        grown.inputs.k.resize(std::size_t{128} * 2);
        grown.inputs.v.resize(std::size_t{128} * 2);
    }
    SUBCASE("another binary of the schedule") {
        for (Measurement& m : grown.options.known)
            m.binary_digest.front() = m.binary_digest.front() == '0' ? '1' : '0';
    }
    SUBCASE("no subject: an older version's") {
        for (Measurement& m : grown.options.known)
            m.subject.clear();
    }
    SUBCASE("a crash") {
        for (Measurement& m : grown.options.known)
            m.status = CandidateStatus::crashed;
    }
    const tuner::Outcome outcome = grown.tune();
    CHECK(outcome.recalled == 0);
    CHECK(outcome.timed == 4);
}

TEST_CASE("other bits than a candidate of its class had in an earlier tuning are wrong") {
    Grown grown;
    const auto sampled = tuner::sample_rows(grown.problem, grown.options.gate_rows);
    std::int64_t row = 0; // of head 0, one that the gate does not look at
    while (std::find(sampled.begin(), sampled.end(), tuner::GateRow{0, 0, row}) != sampled.end())
        ++row;
    grown.options.candidates = {CopyTemplate::schedule(200), CopyTemplate::schedule(0, "none", row)};
    const tuner::Outcome outcome = grown.tune();
    CHECK(outcome.gated == 1);
    const Measurement& odd = outcome.measurements.back();
    CHECK(odd.schedule == CopyTemplate::schedule(0, "none", row));
    CHECK(odd.status == CandidateStatus::wrong);
    CHECK_MESSAGE(odd.message.find("earlier tuning") != std::string::npos, odd.message);
    CHECK_FALSE(outcome.schedule == odd.schedule);
}

TEST_CASE("where times are not computed, the default is measured again and the earlier times follow it") {
    Grown grown("race");
    for (Measurement& m : grown.options.known) // as on a day when everything took three times as long
        m.screen_ms *= 3;
    const tuner::Outcome outcome = grown.tune();
    CHECK(outcome.recalled == 2);
    CHECK(outcome.gated == 2); // the default and the new one
    REQUIRE(outcome.measurements.size() == 4);
    for (const Measurement& m : outcome.measurements)
        CHECK_MESSAGE(m.screen_ms < 2 * outcome.measurements.front().screen_ms, m.schedule.canonical());
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
}
