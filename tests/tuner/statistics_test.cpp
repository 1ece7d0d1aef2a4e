// SPDX-License-Identifier: Apache-2.0
// Medians, Student's quantiles, paired ratios.
#include "tuner/statistics.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace zyfa::tuner;

TEST_CASE("the spread of samples") {
    const std::vector<double> odd{3, 1, 2}, even{4, 1, 3, 2};
    CHECK(spread(odd).median == 2);
    CHECK(spread(even).median == 2.5);
    CHECK(spread(even).min == 1);
    CHECK(spread(even).max == 4);
    CHECK(spread({}).median == 0);
}

TEST_CASE("Student's quantile joins its table and its expansion") {
    CHECK(student_t_975(1) == doctest::Approx(12.706));
    CHECK(student_t_975(30) == doctest::Approx(2.042));
    CHECK(student_t_975(31) == doctest::Approx(2.0395).epsilon(1e-3));
    CHECK(student_t_975(120) == doctest::Approx(1.9799).epsilon(1e-3));
    CHECK(std::isinf(student_t_975(0)));
}

TEST_CASE("a paired ratio takes out what both sides share") {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 0.001);
    std::vector<double> candidate, fallback;
    for (int i = 0; i < 12; ++i) {
        const double clock = 1 + 0.1 * std::sin(i); // a drift far larger than the difference
        candidate.push_back(0.97 * clock * (1 + noise(random)));
        fallback.push_back(clock * (1 + noise(random)));
    }
    const PairedRatio ratio = paired_ratio(candidate, fallback);
    CHECK(ratio.pairs == 12);
    CHECK(ratio.median == doctest::Approx(0.97).epsilon(0.002));
    CHECK(ratio.low < 0.97);
    CHECK(ratio.high > 0.97);
    CHECK(ratio.high < 0.975);
}

TEST_CASE("one pair gives no interval") {
    const std::vector<double> one{1.0};
    const PairedRatio ratio = paired_ratio(one, one);
    CHECK(ratio.median == 1);
    CHECK(ratio.low == 0);
    CHECK(std::isinf(ratio.high));
}

TEST_CASE("the 95% interval covers the true ratio about 95% of the time") {
    std::mt19937 random(11);
    std::normal_distribution<double> noise(0, 0.01);
    int covered = 0;
    constexpr int trials = 4000;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> a, b;
        for (int i = 0; i < 5; ++i) {
            a.push_back(0.9 * std::exp(noise(random)));
            b.push_back(std::exp(noise(random)));
        }
        const PairedRatio ratio = paired_ratio(a, b);
        covered += ratio.low <= 0.9 && 0.9 <= ratio.high;
    }
    CHECK(covered > 0.935 * trials);
    CHECK(covered < 0.965 * trials);
}
