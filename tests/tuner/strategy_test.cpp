// SPDX-License-Identifier: Apache-2.0
// Search strategies on a made-up table of times.
#include "tuner/strategy.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

/// Two axes of six and three values; the default is (0, 0), the best point (4, 2).
struct Grid {
    std::vector<SearchPoint> points;
    std::vector<double> times;
    Grid() {
        for (std::int64_t x = 0; x < 6; ++x)
            for (std::int64_t y = 0; y < 3; ++y) {
                Schedule schedule;
                schedule.template_name = "t";
                schedule.parameters = {{"x", x}, {"y", y}};
                points.push_back({schedule, std::nullopt, x + y > 0, false});
                times.push_back(1 + 0.02 * std::abs(static_cast<double>(x) - 4) +
                                0.05 * (2 - static_cast<double>(y)));
            }
    }
    Evaluate evaluate() {
        return [this](std::size_t point, double) { return std::optional(times[point]); };
    }
};

} // namespace

TEST_CASE("exhaustive search sees all points but rejected ones, the default first") {
    Grid grid;
    grid.points[3].rejection = "no";
    const Trace trace = search(Strategy::exhaustive, grid.points, grid.evaluate());
    CHECK(trace.steps.size() == 17);
    CHECK(trace.steps[0].point == 0);
    CHECK(trace.best == 4 * 3 + 2);
}

TEST_CASE("coordinate search finds the best of a separable table with a few measurements") {
    Grid grid;
    const Trace trace = search(Strategy::coordinate, grid.points, grid.evaluate());
    CHECK(trace.best == 14);
    CHECK(trace.points <= 13);
    grid.times.assign(18, 1.0); // nothing matters: one pass, and the default stays
    const Trace flat = search(Strategy::coordinate, grid.points, grid.evaluate());
    CHECK(flat.best == 0);
    CHECK(flat.points == 8);
}

TEST_CASE("coordinate search finds a pair of values that help only together, past many near ties") {
    // "parts" and "map" work together as in the tables of GQA layers; "tau" of 16 values changes little.
    std::vector<SearchPoint> points;
    std::vector<double> times;
    for (std::int64_t parts = 0; parts < 3; ++parts)
        for (std::int64_t map = 0; map < 3; ++map)
            for (std::int64_t tau = 0; tau < 16; ++tau) {
                Schedule schedule;
                schedule.template_name = "t";
                schedule.parameters = {{"map", map}, {"parts", parts}, {"tau", tau}};
                points.push_back({schedule, std::nullopt, parts + map + tau > 0, false});
                const double pair = parts == 2 && map != 0 ? 0.91 : parts == 2 ? 1.014 : parts == 1 ? 1.4 : 1;
                times.push_back((parts == 2 ? pair : pair * (map != 0 ? 1.046 : 1)) +
                                0.002 * static_cast<double>(tau));
            }
    const auto evaluate = [&](std::size_t point, double) { return std::optional(times[point]); };
    const Trace trace = search(Strategy::coordinate, points, evaluate);
    CHECK(trace.best_time == doctest::Approx(0.91));
    CHECK(trace.points <= points.size() / 3);
    SearchOptions without_pairs;
    without_pairs.pairs = 0;
    CHECK(search(Strategy::coordinate, points, evaluate, without_pairs).best_time == doctest::Approx(1));
}

TEST_CASE("coordinate search starts from a hint that is better than the default") {
    Grid grid;
    for (std::size_t i = 0; i < 18; ++i)
        grid.points[i].distance = 1;
    grid.points[0].distance = 0;
    grid.points[13].distance = 0; // (4, 1)
    const Trace trace = search(Strategy::coordinate, grid.points, grid.evaluate());
    CHECK(trace.steps[1].point == 13);
    CHECK(trace.best == 14);
}

TEST_CASE("coordinate search proposes values between those of the grid") {
    std::vector<SearchPoint> points;
    for (const double tau : {0.5, 0.0, 1.0, 2.0, 4.0})
        for (const bool flag : {true, false})
            points.push_back({{"t", {{"tau", tau}, {"flag", flag}}}, std::nullopt, 1, false});
    const auto time = [&](std::size_t point) { // least at 1.4, where no grid value is
        return 1 + 0.05 * std::abs(points[point].schedule.number("tau") - 1.4);
    };
    SearchOptions options;
    options.continuous = {{"tau", 0, 3}};
    std::size_t refused = 0;
    options.propose = [&](const Schedule& schedule) -> std::optional<std::size_t> {
        if (schedule.number("tau") > 1.6) {
            ++refused;
            return std::nullopt;
        }
        points.push_back({schedule, std::nullopt, 1, false});
        return points.size() - 1;
    };
    const Evaluate evaluate = [&](std::size_t point, double) { return std::optional(time(point)); };
    const Trace trace = search(Strategy::coordinate, points, evaluate, options);
    CHECK(points[trace.best].schedule.number("tau") == 1.375);
    CHECK(points.size() <= 10 + 6);
    points.resize(10);
    const Trace flat =
        search(Strategy::coordinate, points, [](std::size_t, double) { return std::optional(1.0); }, options);
    CHECK(points.size() == 10); // tau does not matter: nothing is proposed
    CHECK(flat.best == 0);
}

TEST_CASE("successive halving spends its effort on the better ones, and keeps the default") {
    Grid grid;
    std::vector<double> effort(18, 0);
    const Trace trace = search(Strategy::halving, grid.points, [&](std::size_t point, double e) {
        effort[point] += e;
        return std::optional(grid.times[point] * (1 + (e < 0.5 ? 0.01 * static_cast<double>(point % 3) : 0)));
    });
    CHECK(trace.best == 14);
    CHECK(effort[0] > 1);   // the default was measured at full length too
    CHECK(effort[9] < 0.5); // (3, 0) was not
    double total = 0;
    for (const double e : effort)
        total += e;
    CHECK(total < 9); // exhaustive: 18
}

TEST_CASE("a search stops where it is told to, and failed points never win") {
    Grid grid;
    std::size_t asked = 0;
    const Trace stopped = search(Strategy::exhaustive, grid.points, [&](std::size_t point, double) {
        return asked++ < 5 ? std::optional(grid.times[point]) : std::nullopt;
    });
    CHECK(stopped.points == 5);
    const Trace failing = search(Strategy::coordinate, grid.points, [&](std::size_t point, double) {
        return std::optional(point == 14 ? std::numeric_limits<double>::infinity() : grid.times[point]);
    });
    CHECK(failing.best != 14);
    CHECK(std::isfinite(failing.best_time));
}

TEST_CASE("strategies by name") {
    CHECK(strategy_named("halving") == Strategy::halving);
    CHECK_THROWS_AS(strategy_named("genetic"), Error);
}
