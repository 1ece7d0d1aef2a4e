// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_search_replay [--check] TABLE...: coordinate search against random search at equal budget,
// on tables of every schedule's time (zyfa_search_table); what each strategy has found after so many
// measurements, as where a budget ends; and what each parameter does to the time. With
// --check the exit code is 1 unless every order of every table finds a winner within 1% of the best with at
// most a third of the measurements, and random search does worse.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <string_view>

#include <fmt/core.h>

#include "bench/search_tables.hpp"
#include "tuner/statistics.hpp"
#include "tuner/strategy.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

constexpr std::size_t orders = 1000;
constexpr double near = 1.01;

struct Points {
    std::vector<SearchPoint> points;
    std::vector<double> times;
    double best = 0;
};

Points points_of(const bench::SearchTable& table) {
    Points result;
    for (std::size_t i = 0; i < table.ms.size(); ++i)
        if (table.ms[i] > 0) {
            const Schedule schedule = table.schedule(i);
            result.points.push_back({schedule, std::nullopt, distance(schedule, table.schedule(0)), false});
            result.times.push_back(table.ms[i]);
        }
    result.best = *std::min_element(result.times.begin(), result.times.end());
    return result;
}

/// Over many orders of one table.
struct Outcome {
    double measurements = 0; ///< mean
    std::size_t most = 0;
    double own = 0, own_worst = 1, chance = 0; ///< time over the best's
    std::size_t own_near = 0, chance_near = 0, better = 0, worse = 0;
    bool holds(std::size_t points) const {
        return own_near == orders && 3 * most <= points && own < chance && better > worse;
    }
};

/// Axes, and the values of each, in a random order. Random search measures the default and then as many
/// others as the coordinate search of that trial did.
Outcome compare(Points table) {
    std::mt19937_64 random(1);
    Outcome outcome;
    std::vector<std::size_t> order(table.points.size()), by_chance(table.points.size());
    std::iota(order.begin(), order.end(), 0);
    std::iota(by_chance.begin(), by_chance.end(), 0);
    SearchOptions options;
    for (const auto& [name, value] : table.points.front().schedule.parameters)
        options.axes.push_back(name);
    for (std::size_t trial = 0; trial < orders; ++trial) {
        std::shuffle(options.axes.begin(), options.axes.end(), random);
        std::shuffle(order.begin() + 1, order.end(), random);
        std::shuffle(by_chance.begin() + 1, by_chance.end(), random);
        std::vector<SearchPoint> points;
        for (const std::size_t i : order)
            points.push_back(table.points[i]);
        const Trace trace = search(
            Strategy::coordinate, points,
            [&](std::size_t point, double) { return std::optional(table.times[order[point]]); }, options);
        double found = table.times[0];
        for (std::size_t i = 0; i < trace.points; ++i)
            found = std::min(found, table.times[by_chance[i]]);
        const double own = trace.best_time / table.best, chance = found / table.best;
        outcome.measurements += static_cast<double>(trace.points) / orders;
        outcome.most = std::max(outcome.most, trace.points);
        outcome.own += own / orders;
        outcome.own_worst = std::max(outcome.own_worst, own);
        outcome.chance += chance / orders;
        outcome.own_near += own <= near;
        outcome.chance_near += chance <= near;
        outcome.better += own < chance;
        outcome.worse += own > chance;
    }
    return outcome;
}

bool print_search(const std::vector<bench::SearchTable>& tables) {
    fmt::print(
        "| layer | schedules | within 1% of the best | default | measured (most) | found within 1% | mean "
        "(worst) above the best | random: within 1% | random: mean above the best | better / equal / worse "
        "than random |\n|---|---|---|---|---|---|---|---|---|---|\n");
    bool all = true;
    for (const bench::SearchTable& table : tables) {
        const Points points = points_of(table);
        const Outcome o = compare(points);
        const std::size_t count = points.times.size();
        const auto close = std::count_if(points.times.begin(), points.times.end(),
                                         [&](double t) { return t <= points.best * near; });
        const auto share = [](std::size_t n) { return 100.0 * static_cast<double>(n) / orders; };
        fmt::print("| {} | {} | {:.0f}% | {:+.2f}% | {:.1f} ({}) | {:.1f}% | {:+.3f}% ({:+.3f}%) | {:.1f}% | "
                   "{:+.3f}% | {:.1f}% / {:.1f}% / {:.1f}% |\n",
                   table.name, count, 100.0 * static_cast<double>(close) / static_cast<double>(count),
                   100 * (points.times[0] / points.best - 1), o.measurements, o.most, share(o.own_near),
                   100 * (o.own - 1), 100 * (o.own_worst - 1), share(o.chance_near), 100 * (o.chance - 1),
                   share(o.better), share(orders - o.better - o.worse), share(o.worse));
        all = all && o.holds(count);
    }
    return all;
}

/// How far above the table's best is what a strategy has found when it may measure `budget` schedules.
double loss_after(const Points& table, Strategy strategy, const std::vector<std::size_t>& order,
                  const SearchOptions& options, std::size_t budget) {
    std::vector<SearchPoint> points;
    for (const std::size_t i : order)
        points.push_back(table.points[i]);
    double found = table.times[0];
    std::size_t measured = 0;
    search(
        strategy, points,
        [&](std::size_t point, double) -> std::optional<double> {
            if (measured++ == budget)
                return std::nullopt;
            const double time = table.times[order[point]];
            found = std::min(found, time);
            return time;
        },
        options);
    return found / table.best - 1;
}

/// Mean (worst) over the tables; coordinate and random search over orders.
void print_progress(const std::vector<bench::SearchTable>& tables) {
    constexpr std::size_t budgets[] = {2, 4, 8, 16, 24, 32, 48};
    constexpr std::size_t few_orders = 100;
    struct Loss {
        double sum = 0, worst = 0;
        std::size_t count = 0;
        void add(double loss) {
            sum += loss;
            worst = std::max(worst, loss);
            ++count;
        }
        std::string text() const {
            return fmt::format("{:+.2f}% ({:+.2f}%)", 100 * sum / static_cast<double>(count), 100 * worst);
        }
    };
    fmt::print(
        "\n| measurements | exhaustive, nearest to the default first | coordinate, the axes as the template "
        "names them | coordinate, any order | random |\n|---|---|---|---|---|\n");
    for (const std::size_t budget : budgets) {
        Loss exhaustive, named, any, chance;
        for (const bench::SearchTable& table : tables) {
            const Points points = points_of(table);
            std::vector<std::size_t> order(points.points.size());
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return points.points[a].distance < points.points[b].distance;
            });
            exhaustive.add(loss_after(points, Strategy::exhaustive, order, {}, budget));
            named.add(loss_after(points, Strategy::coordinate, order, {}, budget));
            std::mt19937_64 random(1);
            SearchOptions options;
            for (const auto& [name, value] : points.points.front().schedule.parameters)
                options.axes.push_back(name);
            for (std::size_t trial = 0; trial < few_orders; ++trial) {
                std::shuffle(options.axes.begin(), options.axes.end(), random);
                std::shuffle(order.begin() + 1, order.end(), random);
                any.add(loss_after(points, Strategy::coordinate, order, options, budget));
                chance.add(loss_after(points, Strategy::exhaustive, order, {}, budget));
            }
        }
        fmt::print("| {} | {} | {} | {} | {} |\n", budget, exhaustive.text(), named.text(), any.text(),
                   chance.text());
    }
}

/// Every value against the axis' default, all other parameters being equal.
void print_effects(const std::vector<bench::SearchTable>& tables) {
    fmt::print("\n| layer | parameter | value | time against the default value: median | least | most | best "
               "schedule with it, above the best |\n|---|---|---|---|---|---|---|\n");
    for (const bench::SearchTable& table : tables) {
        const double best = points_of(table).best;
        std::size_t stride = table.ms.size();
        for (const templates::ParameterSpec& axis : table.space) {
            stride /= axis.grid.size();
            for (std::size_t value = 0; value < axis.grid.size() && axis.grid.size() > 1; ++value) {
                std::vector<double> ratios;
                double least = 0;
                for (std::size_t i = 0; i < table.ms.size(); ++i) {
                    const double base = table.ms[i - i / stride % axis.grid.size() * stride];
                    if (i / stride % axis.grid.size() != value || table.ms[i] <= 0 || base <= 0)
                        continue;
                    ratios.push_back(table.ms[i] / base);
                    least = least > 0 ? std::min(least, table.ms[i]) : table.ms[i];
                }
                if (ratios.empty())
                    continue;
                const Spread spread = tuner::spread(ratios);
                const auto percent = [](double ratio) { return fmt::format("{:+.2f}%", 100 * (ratio - 1)); };
                fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", table.name, axis.name,
                           to_string(axis.grid[value]), value ? percent(spread.median) : "",
                           value ? percent(spread.min) : "", value ? percent(spread.max) : "",
                           percent(least / best));
            }
        }
    }
}

/// What is lost where one parameter keeps its default and all others are chosen freely; in brackets the value
/// of the best schedule.
void print_worth(const std::vector<bench::SearchTable>& tables) {
    std::vector<std::string> names;
    for (const bench::SearchTable& table : tables)
        for (const templates::ParameterSpec& axis : table.space)
            if (axis.grid.size() > 1 && std::find(names.begin(), names.end(), axis.name) == names.end())
                names.push_back(axis.name);
    fmt::print("\n| layer |");
    for (const std::string& name : names)
        fmt::print(" {} |", name);
    fmt::print("\n|---|");
    for (std::size_t i = 0; i < names.size(); ++i)
        fmt::print("---|");
    fmt::print("\n");
    for (const bench::SearchTable& table : tables) {
        const Points points = points_of(table);
        const auto winner = static_cast<std::size_t>(
            std::min_element(points.times.begin(), points.times.end()) - points.times.begin());
        const Schedule& best = points.points[winner].schedule;
        fmt::print("| {} |", table.name);
        for (const std::string& name : names) {
            const auto here = best.parameters.find(name);
            if (here == best.parameters.end()) {
                fmt::print(" |");
                continue;
            }
            double kept = 0;
            for (std::size_t i = 0; i < points.times.size(); ++i)
                if (points.points[i].schedule.parameters.at(name) == table.schedule(0).parameters.at(name))
                    kept = kept > 0 ? std::min(kept, points.times[i]) : points.times[i];
            fmt::print(" {:.2f}% ({}) |", 100 * (kept / points.best - 1), to_string(here->second));
        }
        fmt::print("\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool check = argc > 1 && std::string_view(argv[1]) == "--check";
    if (argc < 2 + check) {
        fmt::print(stderr, "usage: {} [--check] TABLE...\n", argv[0]);
        return 2;
    }
    try {
        std::vector<bench::SearchTable> tables;
        for (int i = 1 + check; i < argc; ++i)
            if (const bench::SearchTable& table = tables.emplace_back(bench::read_table(argv[i]));
                std::find(table.ms.begin(), table.ms.end(), bench::not_timed) != table.ms.end())
                throw Error(ErrorCode::invalid_argument, "file", std::string(argv[i]) + " is unfinished");
        const bool holds = print_search(tables);
        print_progress(tables);
        print_worth(tables);
        print_effects(tables);
        return check && !holds ? 1 : 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 2;
    }
}
