// SPDX-License-Identifier: Apache-2.0
// Settling, block length, rounds and looks of the protocol "sustained".
#include "tuner/sustained.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tuner/series.hpp"

namespace zyfa::tuner {

namespace {

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
    return text;
}

double median_of(std::vector<double> values) {
    return spread(values).median;
}

class Protocol {
  public:
    Protocol(ClockedDevice& device, std::span<const std::size_t> finalists, const SustainedLimits& limits,
             const std::function<bool()>& go_on, const std::function<void(const SustainedResult&)>& progress)
        : device_(device), limits_(limits), go_on_(go_on), progress_(progress) {
        for (const std::size_t candidate : finalists) {
            Comparison& comparison = result_.comparisons.emplace_back();
            comparison.candidate = candidate;
        }
        gains_.resize(finalists.size());
    }

    SustainedResult run() {
        if (result_.comparisons.empty()) {
            result_.verdict = "default";
            return std::move(result_);
        }
        settle();
        const std::uint32_t most = limits_.looks.back();
        std::uint32_t round = 0;
        while (round < most && undecided() && (!go_on_ || go_on_())) {
            ++round;
            run_round();
            if (std::find(limits_.looks.begin(), limits_.looks.end(), round) != limits_.looks.end())
                look(round == most);
            if (progress_)
                progress_(result_);
        }
        if (undecided())
            look(true);
        conclude();
        return std::move(result_);
    }

  private:
    bool undecided() const {
        return std::any_of(result_.comparisons.begin(), result_.comparisons.end(),
                           [](const Comparison& c) { return c.decision == Decision::undecided; });
    }

    std::vector<TimedBlock> run_blocks(std::span<const BlockRequest> requests) {
        std::vector<TimedBlock> blocks = device_.run(requests);
        for (const TimedBlock& block : blocks)
            result_.device_ms += busy_ms(block);
        result_.blocks.insert(result_.blocks.end(), blocks.begin(), blocks.end());
        return blocks;
    }

    void settle() {
        std::vector<LaunchSample> series;
        std::optional<double> settled;
        double run_ms = 0;
        const double step = 0.5 * limits_.settle_window_ms;
        while (run_ms < limits_.settle_most_ms && !(settled && run_ms >= limits_.settle_least_ms) &&
               (series.empty() || !go_on_ || go_on_())) {
            const BlockRequest request{0, std::max(step, limits_.settle_least_ms - run_ms), 0};
            for (const TimedBlock& block : run_blocks({&request, 1})) {
                series.insert(series.end(), block.samples.begin(), block.samples.end());
                run_ms += busy_ms(block);
            }
            settled = settled_after_ms(series, limits_.settle_window_ms, limits_.settle_tolerance);
        }
        result_.settled_ms = settled.value_or(-1);
        // The swing is looked for in what follows the first second, in which the clock falls.
        const double from = series.front().start_ms + std::min(limits_.settle_window_ms, 0.5 * run_ms);
        const auto tail = std::find_if(series.begin(), series.end(),
                                       [&](const LaunchSample& sample) { return sample.start_ms >= from; });
        const std::optional<double> period =
            swing_period_ms({tail, series.end()}, {.longest_ms = limits_.longest_block_ms});
        result_.period_ms = period.value_or(0);
        result_.block_ms = limits_.shortest_block_ms;
        if (period) {
            // A tenth short of the least length is near enough: the period itself is known to a few per cent.
            const double swings = std::max(1.0, std::ceil(0.9 * limits_.shortest_block_ms / *period));
            result_.block_ms = std::min(swings * *period, limits_.longest_block_ms);
        }
        result_.block_ms /= 1 - limits_.lead_in;
    }

    void run_round() {
        std::vector<BlockRequest> requests{{0, result_.block_ms, 0}};
        std::vector<std::size_t> who; // comparisons in this round
        for (std::size_t i = 0; i < result_.comparisons.size(); ++i)
            if (result_.comparisons[i].decision == Decision::undecided) {
                who.push_back(i);
                requests.push_back({result_.comparisons[i].candidate, result_.block_ms, 0});
            }
        for (std::size_t i = requests.size(); i-- > 0;)
            requests.push_back(BlockRequest(requests[i]));
        const std::vector<TimedBlock> blocks = run_blocks(requests);
        const std::size_t n = blocks.size();
        const auto mean = [&](std::size_t i) {
            return mean_ms(blocks[i], limits_.lead_in * result_.block_ms);
        };
        const double a1 = mean(0), a2 = mean(n - 1);
        const std::uint32_t default_launches = launches_of(blocks[0]) + launches_of(blocks[n - 1]);
        default_ms_.push_back(0.5 * (a1 + a2));
        for (std::size_t k = 0; k < who.size(); ++k) {
            Comparison& comparison = result_.comparisons[who[k]];
            const double b1 = mean(1 + k), b2 = mean(n - 2 - k);
            gains_[who[k]].push_back(0.5 * (std::log(a1) + std::log(a2) - std::log(b1) - std::log(b2)));
            comparison.candidate_ms.insert(comparison.candidate_ms.end(), {b1, b2});
            comparison.default_ms.insert(comparison.default_ms.end(), {a1, a2});
            comparison.launches += launches_of(blocks[1 + k]) + launches_of(blocks[n - 2 - k]);
            comparison.default_launches += default_launches;
            comparison.gain = mean_interval(gains_[who[k]], error_per_look());
        }
    }

    /// Bonferroni over candidates and looks: holds whatever the dependence between them.
    double error_per_look() const {
        return limits_.error /
               static_cast<double>(limits_.looks.size() * std::max<std::size_t>(1, gains_.size()));
    }

    void look(bool last) {
        for (Comparison& comparison : result_.comparisons)
            if (comparison.decision == Decision::undecided)
                comparison.decision = decide(comparison.gain, limits_, last);
    }

    std::string drift() const {
        if (result_.settled_ms < 0)
            return "the default's time did not settle within " +
                   std::to_string(static_cast<int>(limits_.settle_most_ms / 1000)) + " s";
        const std::size_t third = default_ms_.size() / 3;
        if (third > 0) {
            const std::span<const double> all(default_ms_);
            const double first = spread(all.first(third)).median, last = spread(all.last(third)).median;
            if (std::abs(last / first - 1) > limits_.drift)
                return "the default's own time moved by " + percent(last / first - 1);
        }
        const Conditions& c = result_.conditions;
        if (c.temperature_high_c - c.temperature_low_c > limits_.temperature_drift_c)
            return "the temperature moved by " +
                   std::to_string(static_cast<int>(c.temperature_high_c - c.temperature_low_c)) +
                   " degrees C";
        if (c.other_users > 0)
            return "another process uses the GPU";
        return {};
    }

    void conclude() {
        // Conditions of the rounds alone: the warm-in is there to change them.
        const auto first_round = std::find_if(result_.blocks.begin(), result_.blocks.end(),
                                              [](const TimedBlock& b) { return b.candidate != 0; });
        result_.conditions = conditions_of({first_round, result_.blocks.end()});
        const std::string why = drift();
        for (Comparison& comparison : result_.comparisons) {
            if (!why.empty())
                comparison.decision = Decision::withheld;
            comparison.reason = reason(comparison, why);
        }
        if (!why.empty()) {
            result_.verdict = "withheld: " + why;
            return;
        }
        double best = 0;
        bool tie = false;
        for (std::size_t i = 0; i < result_.comparisons.size(); ++i) {
            const Comparison& comparison = result_.comparisons[i];
            tie = tie || comparison.decision == Decision::tie;
            if (comparison.decision == Decision::faster && comparison.gain.mean > best) {
                best = comparison.gain.mean;
                result_.winner = static_cast<std::ptrdiff_t>(i);
            }
        }
        result_.verdict = result_.winner >= 0 ? "faster by " + percent(std::expm1(best))
                          : tie               ? "tie"
                                              : "default";
    }

    std::string reason(const Comparison& comparison, const std::string& withheld) const {
        if (comparison.gain.samples < 2)
            return "too few rounds";
        const std::string range = " (" + percent(std::expm1(comparison.gain.low)) + " to " +
                                  percent(std::expm1(comparison.gain.high)) + ")";
        switch (comparison.decision) {
        case Decision::faster:
            return "faster by " + percent(std::expm1(comparison.gain.mean)) + range;
        case Decision::slower:
            return "slower by " + percent(-std::expm1(comparison.gain.mean)) + range;
        case Decision::withheld:
            return "withheld: " + withheld;
        default:
            return "tie: " + percent(std::expm1(comparison.gain.mean)) + range;
        }
    }

    ClockedDevice& device_;
    const SustainedLimits& limits_;
    const std::function<bool()>& go_on_;
    const std::function<void(const SustainedResult&)>& progress_;
    SustainedResult result_;
    std::vector<std::vector<double>> gains_;
    std::vector<double> default_ms_;
};

} // namespace

const char* to_string(Decision decision) noexcept {
    switch (decision) {
    case Decision::undecided:
        return "undecided";
    case Decision::faster:
        return "faster";
    case Decision::tie:
        return "tie";
    case Decision::slower:
        return "slower";
    case Decision::withheld:
        return "withheld";
    }
    return "unknown";
}

Decision decide(const MeanInterval& gain, const SustainedLimits& limits, bool last) {
    if (gain.samples < 2)
        return last ? Decision::tie : Decision::undecided;
    const double least = std::log1p(limits.precision);
    if (gain.high < 0)
        return Decision::slower;
    if (gain.high < least)
        return Decision::tie; // whatever the difference is, it is below the precision
    if (gain.low >= least)
        return Decision::faster;
    // In between, the interval has to be narrow before it is read: it excludes zero and reaches the
    // precision. (The mean itself is not asked to reach it: a candidate that is faster by exactly the
    // precision would then be found every second time only.)
    if (gain.half_width() <= 0.5 * least)
        return gain.low > 0 ? Decision::faster : last ? Decision::tie : Decision::undecided;
    if (!last)
        return Decision::undecided;
    return gain.low > 0 && gain.mean >= least ? Decision::faster : Decision::tie;
}

Conditions conditions_of(std::span<const TimedBlock> blocks) {
    Conditions result;
    std::vector<double> clock, power, temperature;
    const auto keep = [](std::vector<double>& values, double value) {
        if (value > 0)
            values.push_back(value);
    };
    for (const TimedBlock& block : blocks)
        for (const ClockReading& reading : block.readings) {
            keep(clock, reading.clock_ghz);
            keep(power, reading.power_w);
            keep(temperature, reading.temperature_c);
            result.throttle |= reading.throttle;
            result.other_users = std::max(result.other_users, reading.other_users);
            ++result.readings;
        }
    result.clock_ghz = median_of(clock);
    result.power_w = median_of(power);
    const Spread range = spread(temperature);
    result.temperature_c = range.median;
    result.temperature_low_c = range.min;
    result.temperature_high_c = range.max;
    return result;
}

SustainedResult sustained(ClockedDevice& device, std::span<const std::size_t> finalists,
                          const SustainedLimits& limits, const std::function<bool()>& go_on,
                          const std::function<void(const SustainedResult&)>& progress) {
    return Protocol(device, finalists, limits, go_on, progress).run();
}

} // namespace zyfa::tuner
