// SPDX-License-Identifier: Apache-2.0
// What the sites that measured a task say together: the winner, and where it holds. (The rule is on top of
// agreement.cpp.)
#pragma once

#include <string>
#include <vector>

#include "sweep/board.hpp"

namespace zyfa::sweep {

/// What one site found.
struct SiteResult {
    WorkerInfo worker;
    Result result;
    const DoneLine* line = nullptr; ///< of the board that it was read from
};

enum class Hold : std::uint8_t {
    everywhere, ///< on every site, and there are at least two
    alone,      ///< only one site has measured it
    partly,     ///< on some sites; on others another schedule is faster by more than the tolerance
};
const char* to_string(Hold hold) noexcept;

/// A site's view of the winner.
struct SiteView {
    std::string site, node, gpu;
    double winner_ms = 0, fallback_ms = 0; ///< 0: not measured there
    std::string choice;                    ///< the schedule that the site chose for itself
    double choice_ms = 0;
    double behind = 0; ///< how much slower the winner is there than the site's own choice, relative
    bool holds = false;
};

struct Winner {
    std::size_t task = 0; ///< in the plan
    Schedule schedule;
    Hold hold = Hold::alone;
    bool changed = false; ///< sites chose differently
    double spread = 0;    ///< of the default schedule's time between sites: (slowest - fastest) / fastest
    std::vector<SiteView> sites;
    std::string key;   ///< canonical winner key
    Evidence evidence; ///< of the site that searched; verdict and versions tell of all sites
};

/// `results` of one task within one lane, the search first; not empty.
Winner settle(const Plan& plan, std::size_t task, const std::vector<SiteResult>& results);

/// Reads what the sites of a lane found for a task. Damaged results are left out, one line each in `damage`.
std::vector<SiteResult> read_results(const Board& board, const std::string& lane, std::size_t task,
                                     std::vector<std::string>& damage);

} // namespace zyfa::sweep
