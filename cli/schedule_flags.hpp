// SPDX-License-Identifier: Apache-2.0
// Flags that name a schedule: --schedule "name{...}", or one flag per parameter of the templates' spaces.
#pragma once

#include <map>
#include <string>

#include "core/schedule.hpp"
#include "zyfa/problem.hpp"

namespace CLI {
class App;
}

namespace zyfa::cli {

struct ScheduleFlags {
    std::string text;                              ///< --schedule
    std::map<std::string, std::string> parameters; ///< by name of the parameter
    bool given() const;
};

/// A flag for every parameter that a template of this build lets vary ("chiplet_map" becomes --chiplet-map).
void add_schedule_flags(CLI::App& command, ScheduleFlags& flags);

/// The schedule that the flags name; the template's default for what they leave open. Throws
/// Error{invalid_argument} for an unknown parameter, and for one that the template rejects, with its reason.
Schedule schedule_from(const ScheduleFlags& flags, const Problem& problem);

} // namespace zyfa::cli
