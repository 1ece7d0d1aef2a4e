// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_search_replay TABLE...: search strategies against random search, on exhaustive tables. A
// TABLE is what `zyfa tune --json --budget 0 --fresh` prints.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/measurement.hpp"
#include "tuner/strategy.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

constexpr std::size_t orders = 1000;

struct Table {
    std::string name;
    std::vector<SearchPoint> points;
    std::vector<double> times;
    double best = 0;

    double within(double share) const {
        const auto near =
            std::count_if(times.begin(), times.end(), [&](double t) { return t <= best * (1 + share); });
        return static_cast<double>(near) / static_cast<double>(times.size());
    }
};

Table read(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream)
        throw Error(ErrorCode::io_error, "file", file.string() + " cannot be opened");
    const nlohmann::json json = nlohmann::json::parse(stream);
    Table table;
    table.name = json.at("input").get<std::string>();
    for (const nlohmann::json& row : json.at("measurements")) {
        const Measurement m = measurement_from_json(row.dump());
        if (m.status != CandidateStatus::measured) {
            if (table.points.empty())
                throw Error(ErrorCode::invalid_argument, "file",
                            file.string() + ": the default, where every search begins, was not measured");
            continue;
        }
        table.points.push_back({m.schedule, std::nullopt, 0});
        table.times.push_back(m.median_ms);
    }
    if (table.points.empty())
        throw Error(ErrorCode::invalid_argument, "file", file.string() + " holds no measurement");
    table.best = *std::min_element(table.times.begin(), table.times.end());
    return table;
}

void compare(const Table& table) {
    std::mt19937_64 random(1);
    std::vector<std::string> axes;
    for (const auto& [name, value] : table.points.front().schedule.parameters)
        axes.push_back(name);
    const Evaluate evaluate = [&](std::size_t point, double) { return std::optional(table.times[point]); };
    double measurements = 0, most = 0, worst = 1, random_sum = 0, own_sum = 0;
    std::size_t near = 0, random_near = 0, better = 0, equal = 0;
    std::vector<std::size_t> order(table.points.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t trial = 0; trial < orders; ++trial) {
        std::shuffle(axes.begin(), axes.end(), random);
        const Trace trace = search(Strategy::coordinate, table.points, evaluate, axes);
        std::shuffle(order.begin() + 1, order.end(), random); // the default takes part in both
        double found = table.times[0];
        for (std::size_t i = 0; i < trace.points; ++i)
            found = std::min(found, table.times[order[i]]);
        const double own = trace.best_time / table.best, its = found / table.best;
        measurements += static_cast<double>(trace.points) / orders;
        most = std::max(most, static_cast<double>(trace.points));
        worst = std::max(worst, own);
        own_sum += own / orders;
        random_sum += its / orders;
        near += own <= 1.01;
        random_near += its <= 1.01;
        better += own < its;
        equal += own == its;
    }
    const auto of_orders = [](std::size_t n) { return 100.0 * static_cast<double>(n) / orders; };
    fmt::print(
        "| {} | {} | {:.1f}% | {:+.2f}% | {:.1f} (most {:.0f}) | {:.1f}% | {:+.3f}% ({:+.3f}%) | {:.1f}% | "
        "{:+.3f}% | {:.1f}% / {:.1f}% |\n",
        table.name, table.points.size(), 100 * table.within(0.01), 100 * (table.times[0] / table.best - 1),
        measurements, most, of_orders(near), 100 * (own_sum - 1), 100 * (worst - 1), of_orders(random_near),
        100 * (random_sum - 1), of_orders(better), of_orders(equal));
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: {} TABLE...\n", argv[0]);
        return 2;
    }
    fmt::print("| layer | points | within 1% of best | default | coordinate: measurements | within 1% | mean "
               "(worst) "
               "above best | random: within 1% | mean above best | coordinate better / equal |\n"
               "|---|---|---|---|---|---|---|---|---|---|\n");
    try {
        for (int i = 1; i < argc; ++i)
            compare(read(argv[i]));
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
