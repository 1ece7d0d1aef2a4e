// SPDX-License-Identifier: Apache-2.0
// The protocol "sustained": candidates against the default schedule in long blocks of back-to-back launches,
// until an interval over block means decides.
//
// Why so: a power-limited GPU holds a clock that follows the load of the last second. Candidates that
// alternate in blocks shorter than that run at one shared clock, and what is compared is their cycles, not
// the time that each takes when it runs on; recorded runs show ratios that are off by 17% or have the wrong
// sign (docs/tuning.md; paper Section III-C for the clock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tuner/clocked_device.hpp"
#include "tuner/statistics.hpp"

namespace zyfa::tuner {

struct SustainedLimits {
    /// Relative difference from which on a candidate is worth leaving the default for. Not sharp: an interval
    /// of at most this width that excludes zero and reaches it is enough (decide()), so that a candidate
    /// which is faster by half of this or more may win too.
    double precision = 0.01;
    /// Probability of any false verdict, over all candidates and looks of one tuning.
    double error = 0.05;
    double shortest_block_ms = 1000; ///< a block is the smallest number of whole swings above this
    double longest_block_ms = 3000;
    /// First part of each block, as a share, that is run but not counted: the clock follows the new load.
    double lead_in = 0.1;
    /// Warm-in of the default, at least and at most; ends when two windows agree.
    double settle_least_ms = 3000, settle_most_ms = 15000, settle_window_ms = 1000, settle_tolerance = 0.003;
    /// Rounds after which the interval is looked at; the last look ends the comparison.
    std::vector<std::uint32_t> looks{3, 5, 7, 10, 14, 20};
    /// A verdict is withheld where the default's own block means moved by more than this between the first
    /// and the last third of the rounds, ...
    double drift = 0.03;
    double temperature_drift_c = 15; ///< ... or the temperature by more than this.
};

enum class Decision : std::uint8_t { undecided, faster, tie, slower, withheld };
const char* to_string(Decision decision) noexcept;

/// One candidate against the default.
struct Comparison {
    std::size_t candidate = 0;
    Decision decision = Decision::undecided;
    std::string reason; ///< "faster by 2.1% (1.8% to 2.4%)", "tie: ...", ...
    /// log(default time / candidate time) at the level of the look that decided: positive is faster.
    MeanInterval gain;
    std::vector<double> candidate_ms, default_ms; ///< means of the blocks, two per round
    std::uint32_t launches = 0, default_launches = 0;
};

/// Conditions over the whole protocol. Zeros: telemetry did not know.
struct Conditions {
    double clock_ghz = 0, power_w = 0, temperature_c = 0; ///< medians over the readings
    double temperature_low_c = 0, temperature_high_c = 0;
    std::uint64_t throttle = 0;
    std::uint32_t other_users = 0;
    std::size_t readings = 0;
};
/// Of all readings of the blocks.
Conditions conditions_of(std::span<const TimedBlock> blocks);

struct SustainedResult {
    std::vector<Comparison> comparisons; ///< in the order of the finalists
    double settled_ms = 0;               ///< warm-in until the default had settled; < 0: it never did
    double period_ms = 0;                ///< of the slow swing; 0: none was found
    double block_ms = 0;
    double device_ms = 0; ///< device time that the protocol took, idle time included
    Conditions conditions;
    std::vector<TimedBlock> blocks; ///< everything that was run, the warm-in first, for the report
    /// Of `comparisons`: the fastest that is decided `faster`; -1: the default stays.
    std::ptrdiff_t winner = -1;
    std::string verdict; ///< "faster by 3.1%", "tie", "default", "withheld: ..."
};

/// Compares `finalists` (indices of the device's candidates) with candidate 0. Rounds run all undecided
/// candidates forth and back (0 1 2 2 1 0), which cancels a drift that is linear in time; with one finalist
/// this is ABBA. `go_on` is asked before each round; when it says no, the blocks already run are judged.
/// `progress` sees the state after each round. Throws what the device throws.
SustainedResult sustained(ClockedDevice& device, std::span<const std::size_t> finalists,
                          const SustainedLimits& limits, const std::function<bool()>& go_on = {},
                          const std::function<void(const SustainedResult&)>& progress = {});

/// Judges one comparison whose `gain` is up to date. `last`: no more rounds will come.
Decision decide(const MeanInterval& gain, const SustainedLimits& limits, bool last);

} // namespace zyfa::tuner
