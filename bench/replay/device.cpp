// SPDX-License-Identifier: Apache-2.0
// Recorded runs, read and replayed.
#include "bench/replay/device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <tuple>

#include "zyfa/error.hpp"

namespace zyfa::replay {

namespace {

std::ifstream open(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream)
        throw Error(ErrorCode::io_error, "file", file.string() + " cannot be opened");
    return stream;
}

[[noreturn]] void malformed(const std::filesystem::path& file, std::size_t line, const std::string& text) {
    throw Error(ErrorCode::io_error, "file",
                file.string() + ":" + std::to_string(line) + ": \"" + text.substr(0, 60) +
                    "\" is not a line of recorded launches");
}

double number(std::string_view text, bool& good) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    good = good && error == std::errc() && end == text.data() + text.size();
    return value;
}

} // namespace

double RecordedRun::mean_after(double from_ms) const {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < ms.size(); ++i)
        if (start_ms[i] >= from_ms) {
            sum += ms[i];
            count += 1;
        }
    return count > 0 ? sum / count : 0;
}

std::vector<RecordedRun> read_launches_csv(const std::filesystem::path& file) {
    std::ifstream stream = open(file);
    std::map<std::tuple<int, std::string, std::string>, RecordedRun> runs;
    std::string line;
    std::getline(stream, line); // header
    for (std::size_t at = 2; std::getline(stream, line); ++at) {
        std::array<std::string_view, 6> cells;
        std::size_t count = 0, from = 0;
        if (line.ends_with('\r'))
            line.pop_back();
        const std::string_view all(line);
        for (; count < cells.size() && from <= all.size(); ++count) {
            const std::size_t to = std::min(all.find(',', from), all.size());
            cells[count] = all.substr(from, to - from);
            from = to + 1;
        }
        bool good = count == cells.size();
        const int repetition = static_cast<int>(number(cells[0], good));
        const double start = number(cells[4], good), duration = number(cells[5], good);
        if (!good || !(duration > 0))
            malformed(file, at, line);
        RecordedRun& run = runs[{repetition, std::string(cells[1]), std::string(cells[2])}];
        run.start_ms.push_back(start);
        run.ms.push_back(duration);
    }
    std::vector<RecordedRun> result;
    for (auto& [key, run] : runs) {
        std::tie(run.repetition, run.inputs, run.kernel) = key;
        result.push_back(std::move(run));
    }
    return result;
}

std::vector<RecordedRun> synthetic_runs(std::uint64_t seed, double seconds) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<RecordedRun> runs;
    for (int repetition = 0; repetition < 2; ++repetition)
        for (const bool limited : {true, false}) {
            RecordedRun& run = runs.emplace_back();
            run.repetition = repetition;
            run.inputs = "synthetic";
            run.kernel = limited ? "limited" : "free";
            const double fast = limited ? 3.3 : 3.15, period_ms = 950 + 40 * normal(random);
            double at = 0, slow_noise = 0;
            while (at < 1e3 * seconds) {
                double ms = fast;
                if (limited) {
                    slow_noise = 0.95 * slow_noise + 0.003 * normal(random);
                    const double settled = 1 - std::exp(-at / 250);
                    ms *= 1 + settled * (0.16 + 0.035 * std::sin(2 * std::numbers::pi * at / period_ms) +
                                         slow_noise);
                }
                ms *= 1 + 0.002 * normal(random);
                run.start_ms.push_back(at);
                run.ms.push_back(ms);
                at += ms + 0.002;
            }
        }
    return runs;
}

ReplayDevice::ReplayDevice(std::vector<ReplayedCandidate> candidates, std::uint64_t seed,
                           double settled_from_ms)
    : candidates_(std::move(candidates)), random_(seed), settled_from_ms_(settled_from_ms),
      shortest_ms_(candidates_.front().run->end_ms()) {
    for (const ReplayedCandidate& candidate : candidates_)
        shortest_ms_ = std::min(shortest_ms_, candidate.run->start_ms.back());
    jump_at_ms_ = drawn(settled_from_ms_ + 1000, shortest_ms_);
}

double ReplayDevice::drawn(double from_ms, double to_ms) {
    return std::uniform_real_distribution<double>(from_ms, to_ms)(random_);
}

void ReplayDevice::idle(double seconds) {
    now_ms_ += 1e3 * seconds;
    at_ms_ = 0;
}

void ReplayDevice::pass(double ms) {
    now_ms_ += ms;
    at_ms_ += ms;
    if (at_ms_ < jump_at_ms_)
        return;
    at_ms_ = drawn(settled_from_ms_, shortest_ms_ - 1000);
    jump_at_ms_ = drawn(at_ms_ + 1000, shortest_ms_);
}

TimedBlock ReplayDevice::run_block(const BlockRequest& request) {
    const auto& [run, scale] = candidates_.at(request.candidate);
    TimedBlock block{request.candidate, {}, {}};
    double busy = 0;
    while (request.launches ? block.samples.size() < request.launches : busy < request.ms) {
        const auto next = std::upper_bound(run->start_ms.begin(), run->start_ms.end(), at_ms_);
        const std::size_t i =
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, next - run->start_ms.begin() - 1));
        const double ms = run->ms[i] * scale;
        block.samples.push_back({now_ms_, ms, 1});
        busy += ms;
        pass(ms);
    }
    return block;
}

std::vector<TimedBlock> ReplayDevice::run(std::span<const BlockRequest> requests) {
    std::vector<TimedBlock> blocks;
    for (const BlockRequest& request : requests)
        blocks.push_back(run_block(request));
    return blocks;
}

} // namespace zyfa::replay
