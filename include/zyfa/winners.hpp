// SPDX-License-Identifier: Apache-2.0
// What a person decides about the schedules that serve a problem: pin one, ban one, go back to the last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

/// A pin or a ban, as it is stored.
struct Ruling {
    bool pin = false;       ///< else a ban
    bool every_key = false; ///< a ban of the schedule for whatever problem and device
    std::string schedule;   ///< canonical text
    std::string reason;     ///< as it was given
    std::uint64_t unix_time = 0;
};

struct FormerSchedule {
    std::string schedule, evidence_json;
    std::uint64_t measured = 0, replaced = 0; ///< seconds since 1970
    bool rolled_back = false;                 ///< roll_back() has left it, and goes back to it only by name
};

// All of these are about the key that `problem` and `device` share with others of their bucket
// (docs/cache.md). What is changed is in the user layer on disk when the function returns, counts for every
// process from its next look at the key, and in this context from the next call on: calls in flight are not
// touched. They throw Error{invalid_argument} for a schedule that the problem's template does not allow or
// that is ruled upon the other way, Error{io_error} where the user layer cannot be written, and
// Error{unsupported, no_device} as explain() does.

/// `schedule` (canonical text; empty: what serves the problem now) is the key's winner until unpin(),
/// whatever is measured, imported or pruned. Returns it.
ZYFA_API std::string pin(Context& context, const Problem& problem, const std::string& schedule = {},
                         const std::string& reason = {}, int device = 0);
/// False where nothing is pinned.
ZYFA_API bool unpin(Context& context, const Problem& problem, int device = 0);

/// `schedule` neither wins nor runs for the key until unban(), except in mode off. A winner that it is does
/// not count any more; where it is the default schedule, the one nearest to it takes its place.
ZYFA_API void ban(Context& context, const Problem& problem, const std::string& schedule,
                  const std::string& reason = {}, int device = 0);
/// False where it is not banned for this key.
ZYFA_API bool unban(Context& context, const Problem& problem, const std::string& schedule, int device = 0);

/// The winner that the present one has replaced is the winner again (or the former winner of this schedule).
/// Returns its schedule. Throws Error{invalid_argument} where there is none that may win.
ZYFA_API std::string roll_back(Context& context, const Problem& problem, const std::string& schedule = {},
                               int device = 0);

ZYFA_API std::vector<Ruling> rulings(Context& context, const Problem& problem, int device = 0);
/// The last one first; four are kept.
ZYFA_API std::vector<FormerSchedule> former_winners(Context& context, const Problem& problem, int device = 0);

} // namespace v0
} // namespace zyfa
