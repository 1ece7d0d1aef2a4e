// SPDX-License-Identifier: Apache-2.0
// Search strategies over a template's space: which of its points are measured, given what was measured
// before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/search.hpp"

namespace zyfa::tuner {

enum class Strategy : std::uint8_t {
    exhaustive, ///< every point, nearest to the default first
    coordinate, ///< one axis at a time from the best so far, until a pass over all axes changes nothing and
                ///< several at a time do not help; then continuous axes between the grid's values
    halving     ///< every point briefly; the better third again, three times as long; and so forth
};
const char* to_string(Strategy strategy) noexcept;
/// Throws Error{invalid_argument} that names `search` and lists the names.
Strategy strategy_named(std::string_view name);

/// Time of a point in any unit; infinite where it failed; nullopt: the search has to stop. `effort` is how
/// long to measure, 1 for full length.
using Evaluate = std::function<std::optional<double>(std::size_t point, double effort)>;

/// An axis on which values off the grid may be proposed.
struct ContinuousAxis {
    std::string name;
    double low = 0, high = 0;
};
/// Adds a schedule to the points and returns its place there, or that of one that is known already; nullopt:
/// it is not allowed.
using Propose = std::function<std::optional<std::size_t>(const Schedule&)>;

struct SearchOptions {
    /// Order of the coordinate search; empty: that of names.
    std::vector<std::string> axes;
    /// It goes on from another point only if that is faster by more than this (relative), so that equal
    /// points do not send it round.
    double tie = 0.001;
    /// Where no single parameter helps, points that differ in several are tried, as long as no more than a
    /// third of all points has been measured: at most `pairs` in a row that differ in two, those first whose
    /// parameters matter most, then `jumps` others; and only those that would be less than `pair_reach` and
    /// `reach` slower than the best if every parameter did by itself what it does there.
    std::size_t pairs = 16, jumps = 8;
    double pair_reach = 0.1, reach = 0.03;
    /// Where coordinate search goes on between the values of the grid: the best value's neighbours are halved
    /// towards it, `halvings` times at most, if the axis matters at all.
    std::vector<ContinuousAxis> continuous;
    Propose propose;
    unsigned halvings = 3;
};

/// Points in the order in which they were measured, each at its last effort. Every strategy begins with the
/// default, points[0], and passes by rejected points. Coordinate search starts from the best of the points of
/// distance 0, the default and hints.
struct Trace {
    struct Step {
        std::size_t point;
        double effort, time;
    };
    std::vector<Step> steps;
    std::size_t best = 0; ///< point
    double best_time = std::numeric_limits<double>::infinity();
    std::size_t points = 0; ///< distinct ones
};
/// `points` may grow while the search runs, by `propose`.
Trace search(Strategy strategy, const std::vector<SearchPoint>& points, const Evaluate& evaluate,
             const SearchOptions& options = {});

} // namespace zyfa::tuner
