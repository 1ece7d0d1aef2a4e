// SPDX-License-Identifier: Apache-2.0
// Tunings that compare and store no winner: two schedules, a stored winner against the default, kernels from
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/problem_flags.hpp"
#include "tuner/tuner.hpp"

namespace CLI {
class App;
}

namespace zyfa::cli {

/// What candidates go through before they meet the device in this process.
struct IsolationFlags {
    std::string isolate = "auto"; ///< auto: for files, and on a GPU
    double candidate_limit_s = 0;
    std::optional<std::uint64_t> memory_bytes;
};
void add_isolation_flags(CLI::App& command, IsolationFlags& flags);
/// `files`: whether a candidate comes from one.
void apply(const IsolationFlags& flags, bool simulated, bool files, tuner::Options& options);

/// Seconds: what was asked for, else a minute, or no limit where a policy takes long blocks.
double tuning_budget(const std::optional<double>& asked, const std::string& policy);

/// Whether a candidate's name is that of a file: "kernel.s", "./x/kernel.co"; a schedule has a brace.
bool names_file(const std::string& candidate);

struct ComparisonFlags {
    ProblemFlags problem;
    std::vector<std::string> layers;     ///< of `zyfa tune --verify --layer`
    std::vector<std::string> candidates; ///< the first one is the baseline
    std::string like;                    ///< schedule whose launches files take; empty: see read_foreign()
    std::string policy;
    std::optional<double> budget_s;
    std::uint32_t rows = 48;
    double precision = 0.01;
    IsolationFlags isolation;
};

/// Compares all candidates with the first one ("default", "winner", a schedule, a file). With exactly two the
/// exit code says whether it is decided.
ExitCode compare(const CommonOptions& common, const ComparisonFlags& flags);

/// Whether the stored winner of `key` (first digits of its digest) still passes its gate and is still faster
/// than the default schedule: on what it was tuned on, or on the given input or layers.
ExitCode verify_winner(const CommonOptions& common, const std::string& key, ComparisonFlags flags,
                       bool input_given);

} // namespace zyfa::cli
