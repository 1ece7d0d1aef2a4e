// SPDX-License-Identifier: Apache-2.0
// Candidates of a tuning or a check as a table, fastest first, failures last with their reasons.
#pragma once

#include <cstddef>
#include <vector>

#include "core/measurement.hpp"

namespace zyfa::cli {

/// `first`: what the first of them is called; null: nothing. Of those that passed at most `most` are shown,
/// and the first.
void print_measurements(const std::vector<Measurement>& measurements, const char* first = nullptr,
                        std::size_t most = ~std::size_t{0});

} // namespace zyfa::cli
