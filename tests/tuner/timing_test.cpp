// SPDX-License-Identifier: Apache-2.0
// Verdicts, and the ABBA final on a timer whose clock drifts.
#include "tuner/timing.hpp"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

using namespace zyfa::tuner;

namespace {

/// A device whose candidates take fixed times, under a clock that swings by 8% with a period of a few blocks.
class DriftingTimer : public BlockTimer {
  public:
    explicit DriftingTimer(std::vector<double> times) : times_(std::move(times)) {}
    double block_ms(std::size_t candidate, std::uint32_t launches) override {
        total_ms += times_[candidate] * launches;
        order.push_back(candidate);
        ++step_;
        return times_[candidate] * (1 + 0.08 * std::sin(0.3 * step_)) * (1 + noise_(random_));
    }
    std::vector<std::size_t> order;
    double total_ms = 0;

  private:
    std::vector<double> times_;
    double step_ = 0;
    std::mt19937 random_{3};
    std::normal_distribution<double> noise_{0, 0.0005};
};

const auto always = [] { return true; };

} // namespace

TEST_CASE("a model's verdict: the default unless another is faster by more than a tie") {
    CHECK(choose_by_model(std::vector<double>{1.0, 1.1}, 0.05).winner == 0);
    CHECK(choose_by_model(std::vector<double>{1.0, 1.1}, 0.05).text == "default");
    CHECK(choose_by_model(std::vector<double>{1.0, 0.96}, 0.05).winner == 0);
    CHECK(choose_by_model(std::vector<double>{1.0, 0.96}, 0.05).text == "tie");
    const Verdict verdict = choose_by_model(std::vector<double>{1.0, 0.9, 0.8, 0.85}, 0.05);
    CHECK(verdict.winner == 2);
    CHECK(verdict.text == "faster by 25.0%");
}

TEST_CASE("blocks are as long as they are asked to be") {
    CHECK(launches_for(50, 0.5, 1000) == 100);
    CHECK(launches_for(50, 100, 1000) == 1);
    CHECK(launches_for(50, 0.001, 1000) == 1000);
    CHECK(launches_for(50, 0, 1000) == 1000);
}

TEST_CASE("a race finds a difference of 3% under a drifting clock, in ABBA order") {
    DriftingTimer timer({1.0, 0.97, 1.2, 0.99});
    const auto finals = race(timer, std::vector<double>{1.0, 0.97, 1.2, 0.99}, {}, 8, always);
    REQUIRE(finals.size() == 2); // the slower one is no finalist
    CHECK(finals[0].candidate == 1);
    CHECK(std::vector<std::size_t>(timer.order.begin(), timer.order.begin() + 4) ==
          std::vector<std::size_t>{0, 1, 1, 0});
    const Verdict verdict = choose_by_race(finals, 0.01);
    CHECK(verdict.winner == 1);
    CHECK(finals[0].ratio.median == doctest::Approx(0.97).epsilon(0.005));
}

TEST_CASE("a race leaves the default where the difference is a tie") {
    DriftingTimer timer({1.0, 0.998});
    const Verdict verdict = choose_by_race(race(timer, std::vector<double>{1.0, 0.9}, {}, 8, always), 0.01);
    CHECK(verdict.winner == 0);
    CHECK(verdict.text == "tie");
}

TEST_CASE("a race that is stopped after one round gives no verdict against the default") {
    DriftingTimer timer({1.0, 0.5});
    int rounds = 0;
    const auto finals = race(timer, std::vector<double>{1.0, 0.5}, {}, 3, [&] { return rounds++ < 1; });
    REQUIRE(finals.size() == 1);
    CHECK(finals[0].candidate_ms.size() == 1);
    CHECK(choose_by_race(finals, 0.01).winner == 0);
}

TEST_CASE("candidates that failed are no finalists") {
    DriftingTimer timer({1.0, 0.5});
    CHECK(race(timer, std::vector<double>{1.0, 0.0}, {}, 3, always).empty());
    CHECK(choose_by_race({}, 0.01).text == "default");
}
