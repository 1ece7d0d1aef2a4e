// SPDX-License-Identifier: Apache-2.0
// Exhaustive, coordinate and successive-halving search.
#include "tuner/strategy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "tuner/names.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::array all_strategies{Strategy::exhaustive, Strategy::coordinate, Strategy::halving};

/// Relative difference in time below which a value is taken to do nothing.
constexpr double nothing = 1e-5;

class Search {
  public:
    Search(const std::vector<SearchPoint>& points, const Evaluate& evaluate)
        : points_(points), evaluate_(evaluate) {}

    bool usable(std::size_t point) const { return !points_[point].rejection; }

    /// Nullopt: stop.
    std::optional<double> time(std::size_t point, double effort = 1) {
        if (effort >= 1)
            if (const auto known = known_.find(point); known != known_.end())
                return known->second;
        const std::optional<double> measured = evaluate_(point, effort);
        if (!measured)
            return std::nullopt;
        seen_.insert(point);
        trace.points = seen_.size();
        trace.steps.push_back({point, effort, *measured});
        if (effort >= 1) {
            known_[point] = *measured;
            if (*measured < trace.best_time) {
                trace.best_time = *measured;
                trace.best = point;
            }
        }
        return measured;
    }

    void exhaustive() {
        for (std::size_t i = 0; i < points_.size(); ++i)
            if (usable(i) && !time(i))
                return;
    }

    void coordinate(const SearchOptions& options) {
        Place at{0, 0};
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (i > 0 && (points_[i].distance > 0 || !usable(i)))
                continue;
            const std::optional<double> t = time(i);
            if (!t)
                return;
            if (i == 0 || *t < at.time * (1 - options.tie))
                at = {i, *t};
        }
        std::vector<std::string> axes = options.axes;
        if (axes.empty())
            for (const auto& [name, value] : points_[0].schedule.parameters)
                axes.push_back(name);
        bool jumped = false;
        do {
            if (!descend(axes, options.tie, jumped, at))
                return;
        } while ((jumped = jump(axes, options, at)));
        if (stopped_)
            return;
        if (options.propose)
            for (const ContinuousAxis& axis : options.continuous)
                if (!refine(axis, options, at))
                    return;
    }

    void halving() {
        std::vector<std::size_t> left;
        for (std::size_t i = 0; i < points_.size(); ++i)
            if (usable(i))
                left.push_back(i);
        constexpr std::size_t keep_one_of = 3;
        double effort = 1;
        for (std::size_t n = left.size(); n > keep_one_of; n = (n + keep_one_of - 1) / keep_one_of)
            effort /= static_cast<double>(keep_one_of);
        while (true) {
            effort = std::min(effort, 1.0);
            std::vector<std::pair<double, std::size_t>> times;
            for (const std::size_t point : left) {
                const std::optional<double> t = time(point, effort);
                if (!t)
                    return;
                times.emplace_back(*t, point);
            }
            if (effort >= 1)
                return;
            std::sort(times.begin(), times.end());
            left = {0}; // the default always takes part
            const std::size_t keep = (times.size() + keep_one_of - 1) / keep_one_of;
            for (std::size_t i = 0; i < keep; ++i)
                if (times[i].second != 0)
                    left.push_back(times[i].second);
            effort *= static_cast<double>(keep_one_of);
        }
    }

    Trace trace;

  private:
    struct Place {
        std::size_t point;
        double time;
    };

    /// Whether a third of the points was measured, and `point` would be one more.
    bool spent(std::size_t point) const {
        return !known_.contains(point) && 3 * (seen_.size() + 1) > points_.size();
    }

    /// Axis by axis until nothing moves; after a jump no further than a third of the points. False: stop.
    bool descend(const std::vector<std::string>& axes, double tie, bool jumped, Place& at) {
        for (bool moved = true; moved;) {
            moved = false;
            for (const std::string& axis : axes) {
                Place next = at;
                for (const std::size_t point : line(at.point, axis)) {
                    if (jumped && spent(point))
                        continue;
                    const std::optional<double> t = time(point);
                    if (!t)
                        return false;
                    if (*t < next.time * (1 - tie))
                        next = {point, *t};
                }
                moved = moved || next.point != at.point;
                at = next;
            }
        }
        return true;
    }

    /// Parameters work together: where no single one helps, points that differ in several are tried. First
    /// those that differ in two, by how much the two matter at the best point; then those that would be
    /// fastest if each parameter did what it does there. True: one of them is faster, and now the best.
    bool jump(const std::vector<std::string>& axes, const SearchOptions& options, Place& at) {
        std::map<std::string, std::map<ParameterValue, double>> ratio; // of the lines through the best point
        std::map<std::string, double> matters;                         // the most that a value of it changes
        for (const std::string& axis : axes)
            for (const std::size_t point : line(at.point, axis))
                if (const auto known = known_.find(point); known != known_.end()) {
                    const double value = known->second / at.time;
                    ratio[axis][points_[point].schedule.parameters.at(axis)] = value;
                    if (std::isfinite(value))
                        matters[axis] = std::max(matters[axis], std::abs(value - 1));
                }
        struct Candidate {
            bool beyond_two;
            double together, expected;
            std::size_t point;
            bool operator<(const Candidate& other) const {
                return std::tie(beyond_two, other.together, expected, point) <
                       std::tie(other.beyond_two, together, other.expected, other.point);
            }
        };
        std::vector<Candidate> order;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (!usable(i) || known_.contains(i))
                continue;
            double expected = 1, together = 1;
            unsigned different = 0;
            for (const auto& [axis, value] : points_[i].schedule.parameters) {
                const auto here = points_[at.point].schedule.parameters.find(axis);
                if (here != points_[at.point].schedule.parameters.end() && here->second == value)
                    continue;
                ++different;
                together *= matters[axis];
                const std::map<ParameterValue, double>& values = ratio[axis];
                const auto its = values.find(value);
                // A value that changes nothing at all is no way to another place.
                expected *= its == values.end() || std::abs(its->second - 1) < nothing
                                ? std::numeric_limits<double>::infinity()
                                : its->second;
            }
            const bool pair = different == 2;
            if (expected < 1 + (pair ? options.pair_reach : options.reach))
                order.push_back({!pair, pair ? together : 0, expected, i});
        }
        std::sort(order.begin(), order.end());
        std::size_t pairs = options.pairs, others = options.jumps;
        for (const auto& [beyond_two, together, expected, point] : order) {
            std::size_t& left = beyond_two ? others : pairs;
            if (left == 0)
                continue;
            --left;
            if (spent(point))
                return false;
            const std::optional<double> t = time(point);
            if (!t) {
                stopped_ = true;
                return false;
            }
            if (*t < at.time * (1 - options.tie)) {
                at = {point, *t};
                return true;
            }
        }
        return false;
    }

    /// Points that differ from `at` in `axis` alone.
    std::vector<std::size_t> line(std::size_t at, const std::string& axis) const {
        std::vector<std::size_t> result;
        auto here = points_[at].schedule.parameters;
        here.erase(axis);
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (i == at || !usable(i))
                continue;
            auto there = points_[i].schedule.parameters;
            there.erase(axis);
            if (there == here)
                result.push_back(i);
        }
        return result;
    }

    /// Halves the distance from the best value to the nearest measured ones on both sides, again and again.
    /// False: stop.
    bool refine(const ContinuousAxis& axis, const SearchOptions& options, Place& at) {
        if (!points_[at.point].schedule.parameters.contains(axis.name))
            return true;
        const auto value = [&](std::size_t point) { return points_[point].schedule.number(axis.name); };
        const auto measured = [&] {
            std::vector<std::size_t> known;
            for (const std::size_t point : line(at.point, axis.name))
                if (const auto time = known_.find(point); time != known_.end() && std::isfinite(time->second))
                    known.push_back(point);
            return known;
        };
        const std::vector<std::size_t> grid = measured();
        if (std::none_of(grid.begin(), grid.end(), [&](std::size_t point) {
                return std::abs(known_.at(point) / at.time - 1) > options.tie;
            }))
            return true; // the axis does not matter here, or is not searched
        for (unsigned i = 0; i < options.halvings; ++i) {
            const double here = value(at.point);
            double below = axis.low, above = axis.high;
            for (const std::size_t point : measured()) {
                if (value(point) < here)
                    below = std::max(below, value(point));
                else
                    above = std::min(above, value(point));
            }
            for (const double end : {below, above}) {
                if (end == here)
                    continue;
                Schedule between = points_[at.point].schedule;
                between.parameters[axis.name] = std::round((here + end) / 2 * 64) / 64; // short to write
                const std::optional<std::size_t> point = options.propose(between);
                if (!point || !usable(*point))
                    continue;
                const std::optional<double> t = time(*point);
                if (!t)
                    return false;
                if (*t < at.time * (1 - options.tie))
                    at = {*point, *t};
            }
        }
        return true;
    }

    const std::vector<SearchPoint>& points_;
    const Evaluate& evaluate_;
    std::map<std::size_t, double> known_;
    std::set<std::size_t> seen_;
    bool stopped_ = false;
};

} // namespace

const char* to_string(Strategy strategy) noexcept {
    switch (strategy) {
    case Strategy::exhaustive:
        return "exhaustive";
    case Strategy::coordinate:
        return "coordinate";
    case Strategy::halving:
        return "halving";
    }
    return "unknown";
}

Strategy strategy_named(std::string_view name) {
    return named(name, all_strategies, "search", "the search");
}

Trace search(Strategy strategy, const std::vector<SearchPoint>& points, const Evaluate& evaluate,
             const SearchOptions& options) {
    Search work(points, evaluate);
    switch (strategy) {
    case Strategy::exhaustive:
        work.exhaustive();
        break;
    case Strategy::coordinate:
        work.coordinate(options);
        break;
    case Strategy::halving:
        work.halving();
        break;
    }
    return std::move(work.trace);
}

} // namespace zyfa::tuner
