// SPDX-License-Identifier: Apache-2.0
// The gate's rows, chosen with a look at the inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/reference.hpp"
#include "tuner/gate.hpp"

namespace zyfa::tuner {

/// sum p^2 of a row's attention weights: 1 / (number of keys that it attends to). 1: one key; 0: it sees
/// none.
double concentration(const Problem& problem, const HostTensors& inputs, const GateRow& row);

/// At most `count` distinct rows: those of sample_rows(), of which up to a sixth make way for the flattest
/// and the sharpest of up to 128 random rows that see at least 64 keys (fewer rows where they are long: some
/// 10^8 multiplications in all). In flat rows the probabilities lie close together, on a few codes; in sharp
/// ones a maximum that is off is seen at once.
std::vector<GateRow> gate_rows(const Problem& problem, const HostTensors& inputs, std::size_t count,
                               std::uint64_t seed = 1);

} // namespace zyfa::tuner
