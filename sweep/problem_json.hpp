// SPDX-License-Identifier: Apache-2.0
// A sweep's problem as JSON: contiguous ones only. Private to sweep.
#pragma once

#include "sweep/json_fields.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::sweep {

Json problem_json(const Problem& problem);
Problem problem_from_json(const Json& json); ///< throws Json::exception or Error{invalid_argument}

} // namespace zyfa::sweep
