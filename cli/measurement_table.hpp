// SPDX-License-Identifier: Apache-2.0
// Candidates of a tuning or a check as a table, fastest first, failures last with their reasons.
#pragma once

#include <vector>

#include "core/measurement.hpp"

namespace zyfa::cli {

void print_measurements(const std::vector<Measurement>& measurements);

} // namespace zyfa::cli
