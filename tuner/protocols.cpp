// SPDX-License-Identifier: Apache-2.0
// Names of protocols, and those of the paper.
#include "tuner/protocols.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tuner/names.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::array all_protocols{Protocol::model,       Protocol::race,           Protocol::sustained,
                                   Protocol::paper_fixed, Protocol::paper_adaptive, Protocol::kernel_only};

class Alone {
  public:
    Alone(ClockedDevice& device, const RunLimits& limits, RunResult& result)
        : device_(device), limits_(limits), result_(result) {}

    void run(RunTimes& times) {
        if (limits_.idle_s > 0) {
            device_.idle(limits_.idle_s);
            result_.device_ms += 1e3 * limits_.idle_s;
        }
        warm_in(times.candidate);
        const TimedBlock window = block(
            {times.candidate, limits_.window_launches ? 0 : limits_.window_ms, limits_.window_launches});
        times.runs_ms.push_back(mean_ms(window));
        times.launches += launches_of(window);
        times.ms = spread(times.runs_ms);
    }

  private:
    TimedBlock block(const BlockRequest& request) {
        TimedBlock done = device_.run({&request, 1}).front();
        result_.device_ms += busy_ms(done);
        result_.blocks.push_back(done);
        return done;
    }

    void warm_in(std::size_t candidate) {
        if (!limits_.adaptive) {
            if (limits_.warm_in_launches > 0 || limits_.warm_in_ms > 0)
                block(
                    {candidate, limits_.warm_in_launches ? 0 : limits_.warm_in_ms, limits_.warm_in_launches});
            return;
        }
        double before = 0, run = 0;
        while (run < limits_.warm_in_most_ms) {
            const TimedBlock chunk = block({candidate, limits_.chunk_ms, 0});
            const double mean = mean_ms(chunk);
            run += busy_ms(chunk);
            if (before > 0 && run >= limits_.warm_in_ms &&
                std::abs(mean - before) <= limits_.chunk_tolerance * before)
                return;
            before = mean;
        }
    }

    ClockedDevice& device_;
    const RunLimits& limits_;
    RunResult& result_;
};

} // namespace

const char* to_string(Protocol protocol) noexcept {
    switch (protocol) {
    case Protocol::model:
        return "model";
    case Protocol::race:
        return "race";
    case Protocol::sustained:
        return "sustained";
    case Protocol::paper_fixed:
        return "paper-fixed";
    case Protocol::paper_adaptive:
        return "paper-adaptive";
    case Protocol::kernel_only:
        return "kernel-only";
    }
    return "unknown";
}

Protocol protocol_named(std::string_view name) {
    return named(name, all_protocols, "policy", "the timing policy");
}

RunLimits run_limits(Protocol protocol) {
    RunLimits limits;
    if (protocol == Protocol::paper_adaptive) {
        limits.adaptive = true;
        limits.window_ms = 4000;
    } else if (protocol == Protocol::kernel_only) {
        limits.idle_s = 0;
        limits.warm_in_launches = 500;
        limits.window_launches = 100;
        limits.repeats = 1;
    }
    return limits;
}

RunResult run_alone(ClockedDevice& device, std::span<const std::size_t> others, const RunLimits& limits,
                    double precision, const std::function<bool()>& go_on) {
    RunResult result;
    result.times.push_back({});
    for (const std::size_t candidate : others)
        result.times.push_back({candidate, {}, {}, 0});
    Alone alone(device, limits, result);
    for (std::uint32_t repeat = 0; repeat < limits.repeats; ++repeat)
        for (std::size_t i = 0; i < result.times.size(); ++i) {
            if (go_on && !go_on()) { // some have fewer windows than others, or none
                result.verdict = "withheld: stopped before all windows were measured";
                return result;
            }
            alone.run(result.times[repeat % 2 == 0 ? i : result.times.size() - 1 - i]);
        }
    const RunTimes& fallback = result.times.front();
    result.verdict = "default";
    for (std::size_t i = 1; i < result.times.size(); ++i) {
        const RunTimes& times = result.times[i];
        if (times.ms.median >= result.times[static_cast<std::size_t>(result.winner)].ms.median)
            continue;
        const double gain = fallback.ms.median / times.ms.median - 1;
        if (gain < precision || (limits.repeats > 1 && times.ms.max >= fallback.ms.min)) {
            if (result.winner == 0)
                result.verdict = "tie";
            continue;
        }
        result.winner = static_cast<std::ptrdiff_t>(i);
        char text[48];
        std::snprintf(text, sizeof text, "faster by %.1f%%", 100 * gain);
        result.verdict = text;
    }
    return result;
}

} // namespace zyfa::tuner
