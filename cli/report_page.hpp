// SPDX-License-Identifier: Apache-2.0
// The page of `zyfa report`: one HTML text that holds its style and its plots, and loads nothing.
#pragma once

#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace zyfa::cli {

/// One winner.
struct ReportEntry {
    std::string title, key_text, schedule, profile, policy;
    Evidence evidence;
    std::vector<Measurement> measurements; ///< of all candidates
};

/// How one value of a schedule's parameter does: the best time of any candidate that has it.
struct AxisValue {
    std::string axis, value;
    double best_ms = 0, median_ms = 0;
    std::size_t candidates = 0;
};
/// Measured candidates only, axis by axis; axes with one value are left out.
std::vector<AxisValue> axis_values(const std::vector<Measurement>& measurements);

/// Share of the measured candidates whose time is within `tolerance` (relative) of the best.
double share_near_best(const std::vector<Measurement>& measurements, double tolerance);

std::string report_page(const std::vector<ReportEntry>& entries);

} // namespace zyfa::cli
