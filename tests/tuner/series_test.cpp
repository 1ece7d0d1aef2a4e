// SPDX-License-Identifier: Apache-2.0
// Settling and the slow swing, on series where both are known.
#include "tuner/series.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include <doctest/doctest.h>

using namespace zyfa::tuner;

namespace {

/// Launches of about 4 ms: 16% of slow-down with a time constant of 250 ms, a swing, noise.
std::vector<LaunchSample> series_of(double seconds, double slow_down, double swing, double period_ms,
                                    double noise, std::uint32_t seed = 5) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<LaunchSample> series;
    for (double at = 0; at < 1e3 * seconds;) {
        const double ms =
            4 * (1 + slow_down * (1 - std::exp(-at / 250)) +
                 swing * std::sin(2 * std::numbers::pi * at / period_ms) + noise * normal(random));
        series.push_back({at, ms, 1});
        at += ms;
    }
    return series;
}

} // namespace

TEST_CASE("the period of a slow swing is found in noise, and none where nothing swings") {
    for (const double period : {600.0, 950.0, 1300.0}) {
        const auto found = swing_period_ms(series_of(5, 0, 0.03, period, 0.005));
        REQUIRE(found);
        CHECK(*found == doctest::Approx(period).epsilon(0.05));
    }
    CHECK_FALSE(swing_period_ms(series_of(5, 0, 0, 1000, 0.01)));
    CHECK_FALSE(swing_period_ms(series_of(0.02, 0, 0.03, 1000, 0)));
}

TEST_CASE("settling: at once, after the clock has fallen, or never") {
    const auto steady = settled_after_ms(series_of(4, 0, 0, 1000, 0.001), 1000, 0.003);
    REQUIRE(steady);
    CHECK(*steady < 1000);
    const auto falling = settled_after_ms(series_of(5, 0.16, 0, 1000, 0.001), 500, 0.003);
    REQUIRE(falling);
    CHECK(*falling > 500);
    CHECK(*falling < 2500);
    std::vector<LaunchSample> drifting;
    for (int i = 0; i < 1000; ++i)
        drifting.push_back({4.0 * i, 4 * (1 + 1e-4 * i), 1});
    CHECK_FALSE(settled_after_ms(drifting, 1000, 0.003));
    CHECK_FALSE(settled_after_ms({}, 1000, 0.003));
}

TEST_CASE("a block's mean counts launches, and leaves its lead-in out") {
    const TimedBlock block{0, {{0, 2, 10}, {20, 1, 30}}, {}};
    CHECK(mean_ms(block) == doctest::Approx(1.25));
    CHECK(mean_ms(block, 10) == doctest::Approx(1));
    CHECK(mean_ms(block, 100) == doctest::Approx(1)); // nothing is left: the last sample
    CHECK(launches_of(block) == 40);
    CHECK(busy_ms(block) == doctest::Approx(50));
}
