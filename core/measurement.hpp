// SPDX-License-Identifier: Apache-2.0
// What timing and the accuracy gate found, as values that can be stored beside a winner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule.hpp"

namespace zyfa {

/// Outcome of one candidate. Everything but `measured` keeps it from winning.
enum class CandidateStatus : std::uint8_t {
    measured,
    rejected_constraint,
    assemble_failed,
    load_failed,
    wrong,
    unstable,
    crashed,
    timed_out,
    skipped
};
const char* to_string(CandidateStatus status) noexcept;

/// What a winner that was measured by this policy (tuner/protocols.hpp) is worth beside another one's:
/// sustained over paper-fixed and paper-adaptive over kernel-only over race over model; 0: not known here.
int policy_rank(std::string_view policy) noexcept;

/// One candidate's measurement.
struct Measurement {
    Schedule schedule;
    CandidateStatus status = CandidateStatus::measured;
    std::string message;       ///< why, where status is not `measured`
    std::string binary_digest; ///< hex, or empty
    std::string provenance;    ///< of a kernel from a file: which; empty: the template's own
    std::string subject;       ///< digest of what it was measured on and how (tuner/known.hpp), hex, or empty
    std::string output_bits;   ///< digest of the whole output that passed the gate, hex, or empty
    // Timing, device time per launch in milliseconds
    double median_ms = 0, min_ms = 0, max_ms = 0;
    std::uint32_t blocks = 0, launches = 0;
    double screen_ms = 0; ///< by which finalists are picked; `median_ms` may be a final's; 0: not known
    std::string policy;   ///< "model", "race", "sustained", ...
    bool simulated = false;
    double clock_ghz = 0, power_w = 0, temperature_c = 0; ///< 0: not known; clock of the slowest chiplet
    std::uint64_t throttle = 0;                           ///< throttle status bits seen while timing
    double tflops = 0, tflop_per_joule = 0;               ///< of the timed problem; 0: not known
    double gain = 0, gain_low = 0, gain_high = 0; ///< default time / time - 1, and its interval; all 0: none
    std::vector<double> block_ms;                 ///< means of the blocks, in order of time
    // Accuracy on the gate's rows
    double relative_rms = 0, emulation_relative_rms = 0, max_abs = 0, lse_max_abs = 0;
    std::uint32_t gate_rows = 0;
};

std::string to_json(const Measurement& measurement);
Measurement measurement_from_json(const std::string& text); ///< throws Error{invalid_argument}

/// A moment of the launches that a verdict rests on.
struct SeriesPoint {
    double at_ms = 0, ms = 0;   ///< device time since the first of them; time per launch
    std::uint32_t finalist = 0; ///< 0: the default
};

/// Everything a winner carries.
struct Evidence {
    Measurement winner, fallback; ///< `fallback` is the default schedule's measurement
    std::string verdict;          ///< "default", "faster by 3.1%", "tie"
    std::string data_profile;     ///< "gaussian", "captured:NAME", ...
    std::string versions_json;    ///< HIP, driver, comgr, zyfa
    std::uint64_t unix_time = 0;
    std::string telemetry; ///< where clock, power and temperature come from, or why they are not known
    /// Policy "sustained": warm-in until settled (< 0: never), period of the slow swing (0: none), block
    /// length, and device time of it all.
    double settled_ms = 0, period_ms = 0, block_ms = 0, device_ms = 0;
    std::string
        problem_json; ///< what was tuned, before it was cut (core/problem_json.hpp); empty: not recorded
    std::vector<SeriesPoint> series; ///< thinned to a few hundred points

    std::string to_json() const;
    static Evidence from_json(const std::string& text); ///< throws Error{invalid_argument}
};

} // namespace zyfa
