// SPDX-License-Identifier: Apache-2.0
// Which schedules to try, in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/schedule.hpp"
#include "templates/template.hpp"

namespace zyfa::tuner {

struct SearchPoint {
    Schedule schedule;
    std::optional<std::string> rejection; ///< why it is not tried
    std::uint32_t distance = 0;           ///< parameters that differ from the default; 0 also of a hint
    bool pruned = false; ///< `rejection` is the timing model's: allowed, but slow (guide.hpp)
};

/// How many parameters of `a` are not as in `b`.
std::uint32_t distance(const Schedule& a, const Schedule& b);

/// The default schedule first, then the points that differ from it in one parameter, then in two, and so on:
/// a search that its budget ends early has seen every axis. `candidates` replaces the template's whole space
/// (rejected ones stay in the list with their reason; duplicates are dropped). `hint`, a schedule that won
/// before, is tried right after the default.
std::vector<SearchPoint> search_points(const templates::Template& form, const Problem& problem,
                                       const std::optional<std::vector<Schedule>>& candidates,
                                       const std::optional<Schedule>& hint = std::nullopt);

} // namespace zyfa::tuner
