// SPDX-License-Identifier: Apache-2.0
// The page of `zyfa report`: one HTML text that holds its style and its plots, and loads nothing.
#pragma once

#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace zyfa::cli {

/// One winner.
struct ReportEntry {
    std::string title, key_text, schedule, profile, policy; ///< `key_text` may name the profile
    Evidence evidence;
    std::vector<Measurement> measurements; ///< of all candidates
};

/// How one value of a schedule's parameter does: the best time of any candidate that has it, and its time
/// over that of the same schedule with the default's value, over all pairs that were measured.
struct AxisValue {
    std::string axis, value;
    double best_ms = 0, median_ms = 0;
    std::size_t candidates = 0;
    std::size_t pairs = 0; ///< 0: the default's own value, or none was measured
    double ratio = 1, least_ratio = 1, most_ratio = 1;
};
/// Measured candidates only, axis by axis; axes with one value are left out.
std::vector<AxisValue> axis_values(const std::vector<Measurement>& measurements, const Schedule& fallback);

/// How the winner of one data profile does on the data of another one of the same key.
struct OtherData {
    std::string key, winner_of, on;
    double ms = 0, best_ms = 0, default_ms = 0; ///< there: its own, that profile's winner's, the default's
};
std::vector<OtherData> on_other_data(const std::vector<ReportEntry>& entries);

/// Share of the measured candidates whose time is within `tolerance` (relative) of the best.
double share_near_best(const std::vector<Measurement>& measurements, double tolerance);

std::string report_page(const std::vector<ReportEntry>& entries);

} // namespace zyfa::cli
