// SPDX-License-Identifier: Apache-2.0
// From protocol results to measurements.
#include "tuner/finals.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tuner/sustained.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::size_t most_series_points = 400;

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%+.2f%%", 100 * share);
    return text;
}

/// Conditions, block means and throughput of one candidate.
void record_blocks(const FinalInput& input, std::size_t candidate, std::span<const TimedBlock> blocks,
                   double lead_in_ms, Measurement& measurement) {
    std::vector<TimedBlock> own;
    std::vector<double> means;
    std::uint32_t launches = 0;
    for (const TimedBlock& block : blocks)
        if (block.candidate == candidate) {
            own.push_back(block);
            means.push_back(mean_ms(block, lead_in_ms));
            launches += launches_of(block);
        }
    if (own.empty())
        return;
    const Spread times = spread(means);
    measurement.median_ms = times.median;
    measurement.min_ms = times.min;
    measurement.max_ms = times.max;
    measurement.blocks = static_cast<std::uint32_t>(own.size());
    measurement.launches = launches;
    measurement.policy = to_string(input.protocol);
    measurement.block_ms = std::move(means);
    const Conditions seen = conditions_of(own);
    if (seen.clock_ghz > 0)
        measurement.clock_ghz = seen.clock_ghz;
    measurement.power_w = seen.power_w;
    measurement.temperature_c = seen.temperature_c;
    measurement.throttle = seen.throttle;
    measurement.tflops = times.median > 0 ? input.flops / times.median * 1e-9 : 0;
    measurement.tflop_per_joule = seen.power_w > 0 ? measurement.tflops / seen.power_w : 0;
}

void record_series(const FinalInput& input, std::span<const TimedBlock> blocks, Evidence& evidence) {
    std::size_t samples = 0;
    for (const TimedBlock& block : blocks)
        samples += block.samples.size();
    const std::size_t step = samples / most_series_points + 1;
    std::size_t i = 0;
    for (const TimedBlock& block : blocks) {
        const auto which = std::find(input.finalists.begin(), input.finalists.end(), block.candidate);
        const auto finalist =
            block.candidate == 0 ? 0U : static_cast<std::uint32_t>(which - input.finalists.begin() + 1);
        for (const LaunchSample& sample : block.samples)
            if (i++ % step == 0)
                evidence.series.push_back(
                    {sample.start_ms - blocks.front().samples.front().start_ms, sample.ms, finalist});
    }
}

Verdict final_sustained(const FinalInput& input, std::span<Measurement* const> measurements,
                        Evidence& evidence) {
    SustainedLimits limits;
    limits.precision = input.precision;
    const auto report = [&](const SustainedResult& so_far) {
        if (!input.progress)
            return;
        std::string text = "sustained";
        for (const Comparison& comparison : so_far.comparisons)
            text += "; " + measurements[comparison.candidate]->schedule.canonical() + " " +
                    percent(std::expm1(comparison.gain.mean)) + " (" +
                    percent(std::expm1(comparison.gain.low)) + " to " +
                    percent(std::expm1(comparison.gain.high)) + ") " + to_string(comparison.decision);
        input.progress(text);
    };
    const SustainedResult result = sustained(input.device, input.finalists, limits, input.go_on, report);
    evidence.settled_ms = result.settled_ms;
    evidence.period_ms = result.period_ms;
    evidence.block_ms = result.block_ms;
    evidence.device_ms = result.device_ms;
    record_series(input, result.blocks, evidence);
    // The rounds, without the warm-in: they begin one block of the default before the first other candidate.
    auto first = std::find_if(result.blocks.begin(), result.blocks.end(),
                              [](const TimedBlock& block) { return block.candidate != 0; });
    if (first != result.blocks.begin())
        --first;
    const std::span<const TimedBlock> rounds(first, result.blocks.end());
    const double lead_in_ms = limits.lead_in * result.block_ms;
    record_blocks(input, 0, rounds, lead_in_ms, *measurements[0]);
    for (const Comparison& comparison : result.comparisons) {
        Measurement& measurement = *measurements[comparison.candidate];
        record_blocks(input, comparison.candidate, rounds, lead_in_ms, measurement);
        if (comparison.gain.samples >= 2) {
            measurement.gain = std::expm1(comparison.gain.mean);
            measurement.gain_low = std::expm1(comparison.gain.low);
            measurement.gain_high = std::expm1(comparison.gain.high);
        }
        measurement.message += (measurement.message.empty() ? "" : "; ") + comparison.reason;
    }
    const std::size_t winner =
        result.winner < 0 ? 0 : result.comparisons[static_cast<std::size_t>(result.winner)].candidate;
    return {winner, result.verdict};
}

Verdict final_alone(const FinalInput& input, std::span<Measurement* const> measurements, Evidence& evidence) {
    const RunResult result =
        run_alone(input.device, input.finalists, run_limits(input.protocol), input.precision, input.go_on);
    evidence.device_ms = result.device_ms;
    record_series(input, result.blocks, evidence);
    for (const RunTimes& times : result.times) {
        Measurement& measurement = *measurements[times.candidate];
        record_blocks(input, times.candidate, result.blocks, 0, measurement);
        if (times.runs_ms.empty())
            continue;
        measurement.median_ms = times.ms.median; // of the windows, without the warm-in
        measurement.min_ms = times.ms.min;
        measurement.max_ms = times.ms.max;
        measurement.blocks = static_cast<std::uint32_t>(times.runs_ms.size());
        measurement.launches = times.launches;
        measurement.block_ms = times.runs_ms;
        measurement.tflops = times.ms.median > 0 ? input.flops / times.ms.median * 1e-9 : 0;
    }
    return {result.times[static_cast<std::size_t>(result.winner)].candidate, result.verdict};
}

} // namespace

std::vector<std::size_t> finalists_of(std::span<const double> screened_ms, std::size_t most) {
    std::vector<std::size_t> order;
    for (std::size_t i = 1; i < screened_ms.size(); ++i)
        if (screened_ms[i] > 0)
            order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return screened_ms[a] != screened_ms[b] ? screened_ms[a] < screened_ms[b] : a < b;
    });
    order.resize(std::min(order.size(), most));
    return order;
}

Verdict run_final(const FinalInput& input, std::span<Measurement* const> measurements, Evidence& evidence) {
    return input.protocol == Protocol::sustained ? final_sustained(input, measurements, evidence)
                                                 : final_alone(input, measurements, evidence);
}

} // namespace zyfa::tuner
