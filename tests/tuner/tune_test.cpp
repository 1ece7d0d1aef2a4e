// SPDX-License-Identifier: Apache-2.0
// Whole tunings on the simulator, with a template whose candidates do everything that candidates must not do.
#include "tuner/tuner.hpp"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "tests/tuner/copy_bench.hpp"
#include "tuner/gate.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Collected : tuner::MeasurementSink {
    void measured(const Measurement& measurement) override { measurements.push_back(measurement); }
    std::vector<Measurement> measurements;
};

struct Bench : CopyBench<Collected> {
    Bench() : CopyBench(one_key(3, 101)) {}
    /// Status and message of the one candidate beside the default.
    Measurement outcome_of(const Schedule& candidate) {
        options.candidates = {candidate};
        const tuner::Outcome outcome = tune();
        CHECK(outcome.schedule == form.default_schedule(problem));
        REQUIRE(outcome.measurements.size() == 2);
        CHECK(outcome.measurements[0].status == CandidateStatus::measured);
        CHECK(outcome.measurements[1].schedule == candidate);
        REQUIRE(sink.measurements.size() >= 2);
        CHECK(sink.measurements.back().status == outcome.measurements[1].status);
        return outcome.measurements[1];
    }
};

bool says(const Measurement& measurement, const char* text) {
    return measurement.message.find(text) != std::string::npos;
}

} // namespace

TEST_CASE("a faster candidate wins, and carries its evidence") {
    Bench bench;
    bench.form.delays = {std::int64_t{300}, std::int64_t{0}, std::int64_t{600}};
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.kernel.name == "copy");
    CHECK_FALSE(outcome.code_object.elf.empty());
    REQUIRE(outcome.measurements.size() == 3);
    for (const Measurement& measurement : outcome.measurements) {
        CHECK_MESSAGE(measurement.status == CandidateStatus::measured, measurement.message);
        CHECK(measurement.median_ms > 0);
        CHECK(measurement.simulated);
        CHECK(measurement.policy == "model");
        CHECK(measurement.gate_rows == 48);
        CHECK(measurement.relative_rms == 0); // a copy
    }
    CHECK(outcome.measurements[0].schedule == CopyTemplate::schedule(300)); // the default goes first
    CHECK(outcome.evidence.verdict.find("faster by") == 0);
    CHECK(outcome.evidence.winner.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.evidence.fallback.schedule == CopyTemplate::schedule(300));
    CHECK(outcome.evidence.winner.median_ms < outcome.evidence.fallback.median_ms);
    CHECK(outcome.evidence.data_profile == "gaussian");
    CHECK(outcome.evidence.versions_json.find("toolchain") != std::string::npos);
    CHECK(outcome.assembled == 3);
    CHECK(outcome.gated == 3);
    CHECK(outcome.timed == 3);
    CHECK(bench.sink.measurements.size() == 3);
}

TEST_CASE("equal candidates are a tie, and the default stays") {
    Bench bench;
    bench.form.delays = {std::int64_t{1}, std::int64_t{0}};
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.schedule == CopyTemplate::schedule(1));
    CHECK(outcome.evidence.verdict != "");
    CHECK(outcome.evidence.verdict.find("faster") == std::string::npos);
}

TEST_CASE("a faster candidate that is wrong never wins, and what it did is recorded") {
    Bench bench;
    bench.form.delays = {std::int64_t{300}};
    SUBCASE("wrong values") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "bits"));
        CHECK(result.status == CandidateStatus::wrong);
        CHECK_MESSAGE(says(result, "fp64 says"), result.message);
        CHECK(result.median_ms == 0);
    }
    SUBCASE("nothing written") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "silent"));
        CHECK(result.status == CandidateStatus::wrong);
        CHECK_MESSAGE(says(result, "was not written"), result.message);
    }
    SUBCASE("written before the output") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "below"));
        CHECK(result.status == CandidateStatus::wrong);
        CHECK_MESSAGE(says(result, "256 bytes before"), result.message);
    }
    SUBCASE("an input overwritten") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "input"));
        CHECK(result.status == CandidateStatus::wrong);
        CHECK_MESSAGE(says(result, "V or the memory around it"), result.message);
    }
    SUBCASE("other bits at the second launch") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "stale"));
        CHECK(result.status == CandidateStatus::unstable);
        CHECK_MESSAGE(says(result, "two launches"), result.message);
    }
    SUBCASE("other bits than the default, in a row that is not sampled") {
        const std::vector<tuner::GateRow> sampled =
            tuner::sample_rows(bench.problem, bench.options.gate_rows);
        std::int64_t row = 0; // of head 0
        while (std::find(sampled.begin(), sampled.end(), tuner::GateRow{0, 0, row}) != sampled.end())
            ++row;
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "none", row));
        CHECK(result.status == CandidateStatus::wrong);
        CHECK_MESSAGE(says(result, ("b=0 h=0 row=" + std::to_string(row)).c_str()), result.message);
    }
    SUBCASE("text that does not assemble") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(0, "syntax"));
        CHECK(result.status == CandidateStatus::assemble_failed);
        CHECK_MESSAGE(says(result, "v_no_such_instruction"), result.message);
    }
    SUBCASE("a schedule that is not allowed") {
        const Measurement result = bench.outcome_of(CopyTemplate::schedule(-1));
        CHECK(result.status == CandidateStatus::rejected_constraint);
        CHECK_MESSAGE(says(result, "accepted: 0 or more"), result.message);
        CHECK(result.binary_digest.empty());
    }
}

TEST_CASE("a crash is a result, and the candidates after it are measured") {
    Bench bench;
    bench.form.delays = {std::int64_t{300}};
    bench.options.candidates = {CopyTemplate::schedule(0, "wild"), CopyTemplate::schedule(0)};
    const tuner::Outcome outcome = bench.tune();
    REQUIRE(outcome.measurements.size() == 3);
    std::map<std::string, Measurement> by_schedule;
    for (const Measurement& measurement : outcome.measurements)
        by_schedule[measurement.schedule.canonical()] = measurement;
    const Measurement& crashed = by_schedule[CopyTemplate::schedule(0, "wild").canonical()];
    CHECK(crashed.status == CandidateStatus::crashed);
    CHECK_MESSAGE(says(crashed, "global_store_dword"), crashed.message); // the simulator's disassembly
    CHECK(by_schedule[CopyTemplate::schedule(0).canonical()].status == CandidateStatus::measured);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
}

TEST_CASE("a default that fails leaves the fastest of the others") {
    Bench bench;
    bench.form.faults = {std::string("bits"), std::string("none")};
    bench.form.delays = {std::int64_t{300}, std::int64_t{0}};
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.measurements[0].status == CandidateStatus::wrong);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.evidence.verdict == "the default schedule failed");
}

TEST_CASE("where no candidate can be used, the error says what the default did") {
    Bench bench;
    bench.form.faults = {std::string("silent"), std::string("syntax")};
    try {
        bench.tune();
        FAIL("a winner");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::internal);
        CHECK(std::string(error.what()).find("was not written") != std::string::npos);
    }
    CHECK(bench.sink.measurements.size() == 2);
}

TEST_CASE("a spent budget ends the search, and the default has been measured") {
    Bench bench;
    for (std::int64_t delay = 1; delay < 20; ++delay)
        bench.form.delays.emplace_back(delay);
    bench.options.budget_s = 1e-6;
    const tuner::Outcome outcome = bench.tune();
    REQUIRE(outcome.measurements.size() == 20);
    CHECK(outcome.timed == 1);
    CHECK(outcome.measurements[0].status == CandidateStatus::measured);
    CHECK(outcome.measurements[1].status == CandidateStatus::skipped);
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(bench.sink.measurements.size() == 1); // nothing was measured of the others
}

TEST_CASE("a cancelled search keeps what it has") {
    Bench bench;
    for (std::int64_t delay = 1; delay < 20; ++delay)
        bench.form.delays.emplace_back(delay);
    std::vector<std::size_t> done;
    bench.options.progress = [&](const std::string&, std::size_t at, std::size_t of) {
        CHECK(of == 20);
        done.push_back(at);
    };
    bench.options.cancelled = [&] { return done.size() >= 5; };
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.timed == 5);
    CHECK(outcome.measurements.back().message == "cancelled");
}

TEST_CASE("schedules with one text are assembled once") {
    Bench bench;
    bench.form.faults = {std::string("none"), std::string("none2")}; // an unknown fault: the same kernel
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.gated == 2);
    CHECK(outcome.assembled == 1);
    CHECK(outcome.measurements[0].binary_digest == outcome.measurements[1].binary_digest);
}

TEST_CASE("a race on event times finds the same winner") {
    Bench bench;
    bench.form.delays = {std::int64_t{400}, std::int64_t{0}};
    bench.options.policy = "race";
    bench.options.race.most_launches = 10; // simulated launches are short, and cost host time
    bench.problem = one_key(1, 4);
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    CHECK(outcome.evidence.winner.policy == "race");
    CHECK(outcome.evidence.winner.blocks == 6);
    CHECK(outcome.evidence.winner.launches == 60);
}

TEST_CASE("the sustained protocol on the simulator finds the same winner, with interval, series and clock") {
    Bench bench;
    bench.form.delays = {std::int64_t{400}, std::int64_t{0}, std::int64_t{800}};
    bench.options.policy = "sustained";
    bench.problem = one_key(1, 4);
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
    const Measurement& winner = outcome.evidence.winner;
    CHECK(winner.policy == "sustained");
    CHECK(winner.gain_low > 0);
    CHECK(winner.block_ms.size() >= 6);
    CHECK(winner.launches > 100);
    CHECK(winner.clock_ghz > 0);
    CHECK(winner.tflops > 0);
    CHECK(outcome.evidence.block_ms >= 1000);
    CHECK(outcome.evidence.series.size() > 50);
    CHECK(outcome.evidence.series.size() <= 801);
    const Evidence again = Evidence::from_json(outcome.evidence.to_json());
    CHECK(again.series.size() == outcome.evidence.series.size());
    CHECK(again.winner.block_ms == winner.block_ms);
    CHECK(again.telemetry == outcome.evidence.telemetry);
}

TEST_CASE("the paper's protocols run by name") {
    for (const char* policy : {"paper-fixed", "paper-adaptive", "kernel-only"}) {
        CAPTURE(policy);
        Bench bench;
        bench.form.delays = {std::int64_t{400}, std::int64_t{0}};
        bench.options.policy = policy;
        bench.problem = one_key(1, 4);
        const tuner::Outcome outcome = bench.tune();
        CHECK(outcome.schedule == CopyTemplate::schedule(0));
        CHECK(outcome.evidence.winner.policy == policy);
    }
}

TEST_CASE("coordinate search passes by points and says so") {
    Bench bench;
    bench.form.delays = {std::int64_t{300}, std::int64_t{0}, std::int64_t{600}};
    bench.form.faults = {std::string("none"), std::string("none2"), std::string("none3")};
    bench.options.search = "coordinate";
    const tuner::Outcome outcome = bench.tune();
    CHECK(outcome.measurements.size() == 9);
    CHECK(outcome.gated < 9);
    CHECK(outcome.measurements.back().status == CandidateStatus::skipped);
    CHECK(outcome.measurements.back().message == "passed by in the coordinate search");
    CHECK(outcome.schedule == CopyTemplate::schedule(0));
}

TEST_CASE("an unknown policy is refused") {
    Bench bench;
    bench.options.policy = "guess";
    CHECK_THROWS_AS(bench.tune(), Error);
}
