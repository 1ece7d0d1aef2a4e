// SPDX-License-Identifier: Apache-2.0
// From a sweep's cross product to tasks: one per winner key, with its cost and its identity.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/spec.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::sweep {

/// A problem of the cross product.
struct Wanted {
    Problem problem;
    std::string model;
    std::vector<std::string> layers;
};

/// A problem that is not tuned, and why.
struct LeftOut {
    std::string problem, reason;
    bool operator==(const LeftOut&) const = default;
};

struct Expansion {
    std::vector<Wanted> wanted;
    std::vector<LeftOut> excluded; ///< by the sweep's exclusions
    std::vector<LeftOut> refused;  ///< nothing in this build computes them, or heads cannot be split so
};
Expansion expand(const Spec& spec);

/// What one site measures: a problem, and which schedules with which settings. Problems that share a winner
/// key share a task: the one with the most work stands for all.
struct Task {
    std::string key; ///< 24 hexadecimal digits: digest of the problem and of the candidate set
    Problem problem;
    std::string model;
    std::vector<std::string> layers;
    std::vector<std::string> covers; ///< other problems that its winner serves, for people
    std::string template_name;
    std::uint64_t schedules = 0; ///< upper bound of the schedules that a search tries
    double cost = 0;             ///< of one schedule, relative: scores of a launch
};

struct Plan {
    std::string id; ///< drawn; tells one shared folder from another
    Spec spec;
    std::string version; ///< of zyfa
    std::uint64_t unix_time = 0;
    std::vector<Task> tasks; ///< costliest first
    std::vector<LeftOut> excluded, refused;
    std::vector<LeftOut> drawn; ///< tasks that no captured layer of their model fits: tuned on drawn data
    std::uint64_t problems = 0; ///< of the cross product that have a task

    double search_cost(const Task& task) const;  ///< of trying all schedules
    double confirm_cost(const Task& task) const; ///< of measuring the finalists on another site
};

/// Why a captured layer cannot serve a problem, or empty.
using LayerFits = std::function<std::string(const std::string& layer, const Problem& problem)>;

/// `id` and `unix_time` are the caller's. Without `fits` every layer is taken to serve every problem. Throws
/// Error{invalid_argument} where nothing is left to tune.
Plan make_plan(const Spec& spec, std::string id, std::uint64_t unix_time, const LayerFits& fits = {});

/// Text with one line per task; parse_plan(to_text(plan)) equals plan. parse_plan throws
/// Error{invalid_argument}.
std::string to_text(const Plan& plan);
Plan parse_plan(std::string_view text);

} // namespace zyfa::sweep
