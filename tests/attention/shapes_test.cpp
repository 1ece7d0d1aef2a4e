// SPDX-License-Identifier: Apache-2.0
// Lengths, heads, GQA ratios, batches, layouts, masks: every pair of values meets in some call, and every row
// of every call is compared with fp64, between guard bands.
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/attention/rig.hpp"
#include "tuner/representative.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

constexpr std::size_t axes = 8;
using Point = std::array<std::int64_t, axes>; // indices into the values of each axis

const std::array<std::vector<std::int64_t>, axes> values{{
    {1, 31, 33, 255, 256, 257, 1000, 4095}, // Sq
    {1, 31, 33, 255, 256, 257, 1000, 4095}, // Skv
    {1, 3, 12},                             // key-value heads
    {1, 3, 4, 8},                           // query heads per key-value head
    {1, 3},                                 // batch
    {0, 1},                                 // BHSD, BSHD
    {0, 1},                                 // gaps between rows and heads
    {0, 1},                                 // causal
}};

Problem problem_at(const Point& point) {
    std::array<std::int64_t, axes> v{};
    for (std::size_t a = 0; a < axes; ++a)
        v[a] = values[a][static_cast<std::size_t>(point[a])];
    const auto layout = v[5] ? Problem::Layout::bshd : Problem::Layout::bhsd;
    const Problem problem =
        bf16(v[4], v[2] * v[3], v[2], v[0], v[1], v[7] ? Mask::causal : Mask::none, layout);
    return v[6] ? padded(problem, layout) : problem;
}

/// Cost of one call: scores to compute, rows to write and to compare.
double cost(const Problem& p) {
    return tuner::scores(p) + 300.0 * static_cast<double>(p.batch * p.heads_q * p.seq_q) + 20000;
}

/// A small set of cheap points in which every two values of different axes meet. Greedy: the point that
/// brings the most new pairs for its cost, until none is missing.
std::vector<Problem> covering_set() {
    std::vector<std::pair<Point, double>> all;
    Point point{};
    for (bool more = true; more;) {
        all.push_back({point, cost(problem_at(point))});
        more = false;
        for (std::size_t a = 0; a < axes && !more; ++a) {
            more = ++point[a] < static_cast<std::int64_t>(values[a].size());
            if (!more)
                point[a] = 0;
        }
    }
    std::array<std::array<std::array<std::array<bool, 8>, 8>, axes>, axes> met{};
    const auto fresh = [&met](const Point& p) {
        int pairs = 0;
        for (std::size_t a = 0; a < axes; ++a)
            for (std::size_t b = a + 1; b < axes; ++b)
                pairs += !met[a][b][static_cast<std::size_t>(p[a])][static_cast<std::size_t>(p[b])];
        return pairs;
    };
    std::vector<Problem> chosen;
    for (;;) {
        const Point* best = nullptr;
        double best_worth = 0;
        for (const auto& [candidate, price] : all)
            if (const double worth = fresh(candidate) / price; worth > best_worth) {
                best_worth = worth;
                best = &candidate;
            }
        if (!best)
            return chosen;
        for (std::size_t a = 0; a < axes; ++a)
            for (std::size_t b = a + 1; b < axes; ++b)
                met[a][b][static_cast<std::size_t>((*best)[a])][static_cast<std::size_t>((*best)[b])] = true;
        chosen.push_back(problem_at(*best));
    }
}

/// Every fourth problem of the set, so that the parts can run side by side.
void check_part(std::size_t part) {
    Context context(simulator(Mode::off));
    const std::vector<Problem> problems = covering_set();
    for (std::size_t i = part; i < problems.size(); i += 4) {
        Tensors tensors(context, problems[i]);
        context.attention(tensors.args());
        // Against long keys, sampled rows: fp64 would take longer than the simulator.
        const Problem& p = problems[i];
        const std::string fault =
            tensors.check(std::max<std::size_t>(64, 1'000'000 / static_cast<std::size_t>(p.seq_kv)));
        CHECK_MESSAGE(fault.empty(), to_string(p), ", row stride ", p.q.seq, ": ", fault);
    }
    CHECK(context.counters().timed == 0);
}

} // namespace

TEST_CASE("shapes, part 1") {
    check_part(0);
}
TEST_CASE("shapes, part 2") {
    check_part(1);
}
TEST_CASE("shapes, part 3") {
    check_part(2);
}
TEST_CASE("shapes, part 4") {
    check_part(3);
}
