// SPDX-License-Identifier: Apache-2.0
// Protocols tried many times on recorded runs of a real GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/replay/device.hpp"

namespace zyfa::replay {

/// What one trial said of the candidates beside the default: index of the winner, 0 where the default stays;
/// and the device time it took.
struct TrialOutcome {
    std::size_t winner = 0;
    double device_s = 0;
    bool withheld = false;
    double gain = 0;           ///< estimated log(default / candidate) of candidate 1
    bool covered_zero = false; ///< whether its interval holds zero
};
using TrialProtocol = std::function<TrialOutcome(tuner::ClockedDevice& device, std::size_t candidates)>;

TrialOutcome sustained_trial(tuner::ClockedDevice& device, std::size_t candidates);
TrialOutcome paper_fixed_trial(tuner::ClockedDevice& device, std::size_t candidates);
/// ABBA blocks of 20 ms without warm-in, 25 rounds, an interval of Student's t over the rounds.
TrialOutcome short_blocks_trial(tuner::ClockedDevice& device, std::size_t candidates);
/// The first 20 ms after 2 s of idle time, three times each.
TrialOutcome first_milliseconds_trial(tuner::ClockedDevice& device, std::size_t candidates);

/// Counts over trials.
struct TrialCount {
    std::size_t trials = 0, none = 0, right = 0, wrong = 0, withheld = 0, interval_excludes_zero = 0;
    double device_s = 0; ///< mean
    double gain = 0;     ///< mean estimate of log(default / candidate 1)
};

/// Trials on recorded runs, `trials` of them over all `runs` in turn; equal seeds, equal trials.
class Trials {
  public:
    explicit Trials(std::vector<RecordedRun> runs) : runs_(std::move(runs)) {}
    const std::vector<RecordedRun>& runs() const noexcept { return runs_; }
    /// Throws std::out_of_range.
    const RecordedRun& run(int repetition, const std::string& inputs, const std::string& kernel) const;

    /// Default and candidates replay the same run; candidate 1 is `gain` (relative) faster. `others` more
    /// candidates are equal to the default.
    TrialCount of_one_series(const TrialProtocol& protocol, double gain, std::size_t others,
                             std::size_t trials) const;
    /// The default replays one repetition of a run, candidate 1 another one. The one pair with a difference
    /// that is known to be real (flash on zeros, repetitions 0 and 2) is left out.
    TrialCount across_repetitions(const TrialProtocol& protocol, double gain, std::size_t trials) const;
    /// Candidate 1 replays `candidate`, the default `fallback`; `right` is the index of the true winner.
    static TrialCount of_pair(const TrialProtocol& protocol, const ReplayedCandidate& fallback,
                              const ReplayedCandidate& candidate, std::size_t right, std::size_t trials);

  private:
    std::vector<RecordedRun> runs_;
};

} // namespace zyfa::replay
