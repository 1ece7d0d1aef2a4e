// SPDX-License-Identifier: Apache-2.0
// Exhaustive, coordinate and successive-halving search.
#include "tuner/strategy.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tuner/names.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::array all_strategies{Strategy::exhaustive, Strategy::coordinate, Strategy::halving};

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

    void coordinate(std::vector<std::string> axes, double tie) {
        std::optional<double> best = time(0);
        if (!best)
            return;
        if (axes.empty())
            for (const auto& [name, value] : points_[0].schedule.parameters)
                axes.push_back(name);
        std::size_t at = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (const std::string& axis : axes) {
                std::size_t next = at;
                for (const std::size_t point : neighbours(at, axis)) {
                    const std::optional<double> t = time(point);
                    if (!t)
                        return;
                    if (*t < *best * (1 - tie)) {
                        best = t;
                        next = point;
                    }
                }
                moved = moved || next != at;
                at = next;
            }
        }
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
    /// Points that differ from `at` in `axis` alone.
    std::vector<std::size_t> neighbours(std::size_t at, const std::string& axis) const {
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

    const std::vector<SearchPoint>& points_;
    const Evaluate& evaluate_;
    std::map<std::size_t, double> known_;
    std::set<std::size_t> seen_;
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
             const std::vector<std::string>& axes, double tie) {
    Search work(points, evaluate);
    switch (strategy) {
    case Strategy::exhaustive:
        work.exhaustive();
        break;
    case Strategy::coordinate:
        work.coordinate(axes, tie);
        break;
    case Strategy::halving:
        work.halving();
        break;
    }
    return std::move(work.trace);
}

} // namespace zyfa::tuner
