// SPDX-License-Identifier: Apache-2.0
// How far a sweep is, from its board.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sweep/board.hpp"

namespace zyfa::sweep {

struct LaneProgress {
    Lane lane;
    std::vector<std::string> sites;
    std::uint64_t tasks = 0;
    std::uint64_t complete = 0; ///< measured on as many sites as asked
    std::uint64_t partial = 0;  ///< a winner is known, but from fewer sites; none of them at it now
    std::uint64_t running = 0, waiting = 0, failed = 0;
    std::uint64_t changed = 0;      ///< sites chose differently
    double busy_s = 0;              ///< GPU time spent on measurements that ended
    double left_s = -1;             ///< wall clock until the end; negative: not known yet
    std::uint64_t out_of_reach = 0; ///< of `partial`: the lane has no further site
};

/// A task that failed somewhere and is not complete.
struct Failure {
    std::string lane, problem, site, reason;
    Stage stage = Stage::search;
    bool given_up = false; ///< failed on two sites
};

struct WorkerProgress {
    std::size_t worker = 0; ///< in Board::workers()
    std::uint64_t done = 0, failed = 0, lost = 0;
    double busy_s = 0;
};

struct Progress {
    std::vector<LaneProgress> lanes;
    std::vector<WorkerProgress> workers;
    std::vector<Failure> failures;
    bool mixed_versions = false; ///< lanes that differ in more than the kind of device
    bool complete() const;       ///< every task of every lane is measured on as many sites as there are
    bool any_alive = false;
};

Progress progress_of(const Board& board);

} // namespace zyfa::sweep
