// SPDX-License-Identifier: Apache-2.0
// A problem as text, strides and scales with it: what evidence says it was measured on, and what a worker
// process is told.
#pragma once

#include <string>

#include "zyfa/problem.hpp"

namespace zyfa {

std::string to_json(const Problem& problem);
Problem problem_from_json(const std::string& text); ///< throws Error{invalid_argument} naming `problem`

} // namespace zyfa
