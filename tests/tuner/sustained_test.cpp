// SPDX-License-Identifier: Apache-2.0
// The protocol "sustained" on made-up and, where ZYFA_GPU_TRACES names their folder, on recorded launch
// times.
#include "tuner/sustained.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include "bench/replay/trials.hpp"
#include "core/measurement.hpp"
#include "tuner/protocols.hpp"

using namespace zyfa::tuner;
using namespace zyfa::replay;

namespace {

const Trials& synthetic() {
    static const Trials trials(synthetic_runs(11));
    return trials;
}

const char* recordings() {
    const char* folder = std::getenv("ZYFA_GPU_TRACES");
    return folder && *folder ? folder : nullptr;
}

/// Candidates of fixed times, and what telemetry says.
class ScriptedDevice : public ClockedDevice {
  public:
    explicit ScriptedDevice(std::vector<double> times) : times_(std::move(times)) {}
    void idle(double seconds) override { now_ += 1e3 * seconds; }
    std::vector<TimedBlock> run(std::span<const BlockRequest> requests) override {
        std::vector<TimedBlock> blocks;
        for (const BlockRequest& request : requests) {
            order.push_back(request.candidate);
            TimedBlock& block = blocks.emplace_back();
            block.candidate = request.candidate;
            const std::uint32_t launches =
                request.launches ? request.launches
                                 : static_cast<std::uint32_t>(request.ms / times_[request.candidate]) + 1;
            for (std::uint32_t i = 0; i < launches; ++i) {
                const double ms = times_[request.candidate] * (1 + drift_per_s * 1e-3 * now_);
                block.samples.push_back({now_, ms, 1});
                now_ += ms;
            }
            ClockReading reading = readings;
            if (request.candidate != 0)
                reading.temperature_c += heat_c;
            block.readings.push_back(reading);
        }
        return blocks;
    }
    std::vector<std::size_t> order;
    ClockReading readings;
    double drift_per_s = 0, heat_c = 0;

  private:
    std::vector<double> times_;
    double now_ = 0;
};

SustainedResult compare(ScriptedDevice& device, std::vector<std::size_t> finalists = {1}) {
    return sustained(device, finalists, {});
}

} // namespace

TEST_CASE("sustained: rounds run forth and back after the warm-in") {
    ScriptedDevice device({10, 9.8, 10.5});
    const SustainedResult result = compare(device, {1, 2});
    const std::vector<std::size_t> round{0, 1, 2, 2, 1, 0};
    const auto first =
        std::find_if(device.order.begin(), device.order.end(), [](std::size_t c) { return c != 0; });
    REQUIRE(first - device.order.begin() >= 2);
    CHECK(std::vector<std::size_t>(first - 1, first + 5) == round);
    CHECK(result.winner == 0);
    CHECK(result.verdict == "faster by 2.04%");
    CHECK(result.comparisons[1].decision == Decision::slower);
    CHECK(result.block_ms == doctest::Approx(1000 / 0.9));
}

TEST_CASE("sustained: a difference below the precision is a tie, and the default stays") {
    ScriptedDevice device({10, 9.98});
    const SustainedResult result = compare(device);
    CHECK(result.winner == -1);
    CHECK(result.verdict == "tie");
    CHECK(result.comparisons[0].reason.starts_with("tie: 0.20%"));
}

TEST_CASE("sustained: a verdict is withheld where conditions do not hold") {
    SUBCASE("another process uses the GPU") {
        ScriptedDevice device({10, 9});
        device.readings.other_users = 1;
        CHECK(compare(device).verdict == "withheld: another process uses the GPU");
    }
    SUBCASE("the temperature moves") {
        ScriptedDevice device({10, 9});
        device.readings.temperature_c = 50;
        device.heat_c = 20;
        const SustainedResult result = compare(device);
        CHECK(result.verdict.starts_with("withheld: the temperature moved by 20"));
        CHECK(result.winner == -1);
    }
    SUBCASE("the default never settles") {
        ScriptedDevice device({10, 9});
        device.drift_per_s = 0.02;
        CHECK(compare(device).verdict.starts_with("withheld: the default's time did not settle"));
    }
}

TEST_CASE("sustained: stopping early judges what there is; nothing to compare keeps the default") {
    ScriptedDevice device({10, 9});
    int rounds = 0;
    const std::vector<std::size_t> one{1};
    const SustainedResult result = sustained(device, one, {}, [&] { return rounds++ < 1; });
    CHECK(result.comparisons[0].decision == Decision::tie);
    CHECK(result.comparisons[0].reason == "too few rounds");
    CHECK(compare(device, {}).verdict == "default");
}

TEST_CASE("decisions from intervals") {
    const SustainedLimits limits; // precision 1%
    const auto gain = [](double low, double high) { return MeanInterval{0.5 * (low + high), low, high, 5}; };
    CHECK(decide(gain(0.012, 0.030), limits, false) == Decision::faster);
    CHECK(decide(gain(0.006, 0.014), limits, false) == Decision::faster);    // narrow, above 0, reaches 1%
    CHECK(decide(gain(0.001, 0.020), limits, false) == Decision::undecided); // not narrow enough
    CHECK(decide(gain(0.001, 0.030), limits, true) == Decision::faster);
    CHECK(decide(gain(-0.010, 0.030), limits, true) == Decision::tie);
    CHECK(decide(gain(-0.010, 0.009), limits, false) == Decision::tie);
    CHECK(decide(gain(-0.030, -0.001), limits, false) == Decision::slower);
    CHECK(decide(MeanInterval{}, limits, false) == Decision::undecided);
}

TEST_CASE("sustained, on made-up series: power at 1% and more, no false winner") {
    for (const double gain : {0.01, 0.02, 0.05}) {
        const TrialCount count = synthetic().of_one_series(sustained_trial, gain, 0, 60);
        CAPTURE(gain);
        CHECK(count.right >= 57);
        CHECK(count.wrong == 0);
    }
    CHECK(synthetic().of_one_series(sustained_trial, 0, 3, 60).wrong <= 1);
}

TEST_CASE("the first milliseconds after idle time name the wrong one; sustained and the paper's do not") {
    // Equal at 1.06 to 1 once the limited kernel has lost 16%; the other way round before.
    const RecordedRun& limited = synthetic().run(0, "synthetic", "limited");
    const RecordedRun& steady = synthetic().run(0, "synthetic", "free");
    const ReplayedCandidate fallback{&limited, 1}, candidate{&steady, 1.14};
    CHECK(Trials::of_pair(sustained_trial, fallback, candidate, 1, 20).right == 20);
    CHECK(Trials::of_pair(paper_fixed_trial, fallback, candidate, 1, 20).right == 20);
    const TrialCount first = Trials::of_pair(first_milliseconds_trial, fallback, candidate, 1, 20);
    CHECK(first.right == 0);
    CHECK(first.gain < -0.02);
}

TEST_CASE("protocols by name") {
    CHECK(protocol_named("sustained") == Protocol::sustained);
    CHECK(std::string(to_string(Protocol::paper_fixed)) == "paper-fixed");
    CHECK_THROWS_WITH(protocol_named("fast"),
                      "policy: the timing policy is \"fast\"; accepted: \"model\", \"race\", \"sustained\", "
                      "\"paper-fixed\", \"paper-adaptive\", \"kernel-only\"");
    for (const Protocol worse : {Protocol::paper_fixed, Protocol::paper_adaptive, Protocol::kernel_only,
                                 Protocol::race, Protocol::model}) {
        CHECK(zyfa::policy_rank(to_string(worse)) > 0); // each is known by its name
        CHECK(zyfa::policy_rank("sustained") > zyfa::policy_rank(to_string(worse)));
    }
    CHECK(zyfa::policy_rank("paper-fixed") > zyfa::policy_rank("kernel-only"));
    CHECK(zyfa::policy_rank("kernel-only") > zyfa::policy_rank("race"));
    CHECK(zyfa::policy_rank("race") > zyfa::policy_rank("model"));
    CHECK(zyfa::policy_rank("model") > zyfa::policy_rank("of another version"));
    CHECK(run_limits(Protocol::kernel_only).warm_in_launches == 500);
    CHECK(run_limits(Protocol::kernel_only).window_launches == 100);
}

TEST_CASE("the paper's protocols alternate the order and report median and range") {
    ScriptedDevice device({10, 9});
    const std::vector<std::size_t> one{1};
    const RunResult result = run_alone(device, one, run_limits(Protocol::paper_fixed), 0.01);
    CHECK(device.order == std::vector<std::size_t>{0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1}); // warm-in, window
    CHECK(result.times[1].runs_ms.size() == 3);
    CHECK(result.times[1].ms.median == doctest::Approx(9));
    CHECK(result.winner == 1);
    CHECK(result.verdict == "faster by 11.1%");
    int windows = 0; // stopped after the second of six
    const RunResult cut =
        run_alone(device, one, run_limits(Protocol::paper_fixed), 0.01, [&] { return windows++ < 2; });
    CHECK(cut.winner == 0);
    CHECK(cut.verdict.starts_with("withheld: stopped"));
}

TEST_CASE("sustained, on recorded series: flash on zeros, repetition 2 against 0, is a real difference") {
    if (!recordings()) {
        MESSAGE("skipped: ZYFA_GPU_TRACES does not name the folder of the recordings");
        return;
    }
    const Trials recorded(read_launches_csv(std::filesystem::path(recordings()) / "launches.csv"));
    const TrialCount count = Trials::of_pair(sustained_trial, {&recorded.run(0, "zeros", "flash"), 1},
                                             {&recorded.run(2, "zeros", "flash"), 1}, 1, 100);
    CHECK(count.gain == doctest::Approx(0.0085).epsilon(0.1));
    CHECK(count.interval_excludes_zero >= 95);
    CHECK(count.wrong == 0);
}

TEST_CASE("sustained, on recorded series: power and false winners") {
    if (!recordings()) {
        MESSAGE("skipped: ZYFA_GPU_TRACES does not name the folder of the recordings");
        return;
    }
    const Trials recorded(read_launches_csv(std::filesystem::path(recordings()) / "launches.csv"));
    CHECK(recorded.of_one_series(sustained_trial, 0.01, 0, 200).right >= 190);
    CHECK(recorded.of_one_series(sustained_trial, 0, 3, 200).wrong <= 4);
    CHECK(recorded.across_repetitions(sustained_trial, 0, 200).wrong <= 8);
}
