// SPDX-License-Identifier: Apache-2.0
// What timing and the accuracy gate found, as values that can be stored beside a winner.
#pragma once

#include <cstdint>
#include <string>
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

/// One candidate's measurement.
struct Measurement {
    Schedule schedule;
    CandidateStatus status = CandidateStatus::measured;
    std::string message;       ///< why, where status is not `measured`
    std::string binary_digest; ///< hex, or empty
    // Timing, device time per launch in milliseconds
    double median_ms = 0, min_ms = 0, max_ms = 0;
    std::uint32_t blocks = 0, launches = 0;
    std::string policy; ///< "model", "race", "sustained", ...
    bool simulated = false;
    double clock_ghz = 0, power_w = 0, temperature_c = 0; ///< 0: not known
    // Accuracy on the gate's rows
    double relative_rms = 0, emulation_relative_rms = 0, max_abs = 0, lse_max_abs = 0;
    std::uint32_t gate_rows = 0;
};

std::string to_json(const Measurement& measurement);
Measurement measurement_from_json(const std::string& text); ///< throws Error{invalid_argument}

/// Everything a winner carries.
struct Evidence {
    Measurement winner, fallback; ///< `fallback` is the default schedule's measurement
    std::string verdict;          ///< "default", "faster by 3.1%", "tie"
    std::string data_profile;     ///< "gaussian", "captured:NAME", ...
    std::string versions_json;    ///< HIP, driver, comgr, zyfa
    std::uint64_t unix_time = 0;

    std::string to_json() const;
    static Evidence from_json(const std::string& text); ///< throws Error{invalid_argument}
};

} // namespace zyfa
