// SPDX-License-Identifier: Apache-2.0
// Trials of protocols and their counts.
#include "bench/replay/trials.hpp"

#include <cmath>
#include <stdexcept>

#include "tuner/protocols.hpp"
#include "tuner/sustained.hpp"

namespace zyfa::replay {

namespace {

std::vector<std::size_t> beside_default(std::size_t candidates) {
    std::vector<std::size_t> others;
    for (std::size_t i = 1; i < candidates; ++i)
        others.push_back(i);
    return others;
}

TrialOutcome outcome_of(const SustainedResult& result) {
    TrialOutcome outcome;
    if (result.winner >= 0)
        outcome.winner = result.comparisons[static_cast<std::size_t>(result.winner)].candidate;
    outcome.device_s = result.device_ms * 1e-3;
    outcome.withheld = result.verdict.starts_with("withheld");
    const MeanInterval& gain = result.comparisons.front().gain;
    outcome.gain = gain.mean;
    outcome.covered_zero = gain.low <= 0 && gain.high >= 0;
    return outcome;
}

void count(TrialCount& counts, const TrialOutcome& outcome, std::size_t right) {
    ++counts.trials;
    counts.none += outcome.winner == 0;
    counts.right += outcome.winner == right && right != 0;
    counts.wrong += outcome.winner != 0 && outcome.winner != right;
    counts.withheld += outcome.withheld;
    counts.interval_excludes_zero += !outcome.covered_zero;
    counts.gain += (outcome.gain - counts.gain) / static_cast<double>(counts.trials);
    counts.device_s += (outcome.device_s - counts.device_s) / static_cast<double>(counts.trials);
}

} // namespace

TrialOutcome sustained_trial(ClockedDevice& device, std::size_t candidates) {
    device.idle(2);
    return outcome_of(sustained(device, beside_default(candidates), {}));
}

TrialOutcome short_blocks_trial(ClockedDevice& device, std::size_t candidates) {
    SustainedLimits limits;
    limits.shortest_block_ms = limits.longest_block_ms = 20;
    limits.settle_least_ms = limits.settle_most_ms = 20;
    limits.settle_window_ms = 10;
    limits.settle_tolerance = 1;
    limits.lead_in = 0;
    limits.drift = 1;
    limits.looks = {25};
    device.idle(2);
    return outcome_of(sustained(device, beside_default(candidates), limits));
}

TrialOutcome paper_fixed_trial(ClockedDevice& device, std::size_t candidates) {
    const RunResult result =
        run_alone(device, beside_default(candidates), run_limits(Protocol::paper_fixed), 0.01);
    return {result.times[static_cast<std::size_t>(result.winner)].candidate, result.device_ms * 1e-3, false,
            std::log(result.times[0].ms.median / result.times[1].ms.median), false};
}

TrialOutcome first_milliseconds_trial(ClockedDevice& device, std::size_t candidates) {
    RunLimits limits;
    limits.warm_in_ms = 0;
    limits.window_ms = 20;
    const RunResult result = run_alone(device, beside_default(candidates), limits, 0.01);
    return {result.times[static_cast<std::size_t>(result.winner)].candidate, result.device_ms * 1e-3, false,
            std::log(result.times[0].ms.median / result.times[1].ms.median), false};
}

const RecordedRun& Trials::run(int repetition, const std::string& inputs, const std::string& kernel) const {
    for (const RecordedRun& run : runs_)
        if (run.repetition == repetition && run.inputs == inputs && run.kernel == kernel)
            return run;
    throw std::out_of_range("no recorded run of " + kernel + " on " + inputs);
}

TrialCount Trials::of_one_series(const TrialProtocol& protocol, double gain, std::size_t others,
                                 std::size_t trials) const {
    TrialCount counts;
    for (std::size_t trial = 0; trial < trials; ++trial) {
        const RecordedRun& run = runs_[trial % runs_.size()];
        std::vector<ReplayedCandidate> candidates{{&run, 1}, {&run, 1 / (1 + gain)}};
        for (std::size_t i = 0; i < others; ++i)
            candidates.push_back({&run, 1});
        ReplayDevice device(candidates, 1000 + trial);
        count(counts, protocol(device, candidates.size()), gain > 0 ? 1 : 0);
    }
    return counts;
}

TrialCount Trials::across_repetitions(const TrialProtocol& protocol, double gain, std::size_t trials) const {
    TrialCount counts;
    std::vector<std::pair<const RecordedRun*, const RecordedRun*>> pairs;
    for (const RecordedRun& a : runs_)
        for (const RecordedRun& b : runs_)
            if (a.repetition != b.repetition && a.inputs == b.inputs && a.kernel == b.kernel &&
                !(a.inputs == "zeros" && a.kernel == "flash" && a.repetition + b.repetition == 2))
                pairs.emplace_back(&a, &b);
    for (std::size_t trial = 0; trial < trials; ++trial) {
        const auto& [a, b] = pairs[trial % pairs.size()];
        ReplayDevice device({{a, 1}, {b, 1 / (1 + gain)}}, 5000 + trial);
        count(counts, protocol(device, 2), gain > 0 ? 1 : 0);
    }
    return counts;
}

TrialCount Trials::of_pair(const TrialProtocol& protocol, const ReplayedCandidate& fallback,
                           const ReplayedCandidate& candidate, std::size_t right, std::size_t trials) {
    TrialCount counts;
    for (std::size_t trial = 0; trial < trials; ++trial) {
        ReplayDevice device({fallback, candidate}, 9000 + trial);
        count(counts, protocol(device, 2), right);
    }
    return counts;
}

} // namespace zyfa::replay
