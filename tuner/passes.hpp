// SPDX-License-Identifier: Apache-2.0
// A set of layers with weights as a sequence of launches: what a pass over it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace zyfa::tuner {

/// Launches of each layer in one pass, at least one of each. Of all passes of at most 32 launches (or one of
/// each, where there are more layers) the one whose shares are nearest to those of the weights, the shortest
/// of equally near ones. Weights are above 0; throws Error{invalid_argument} that names `weight`.
std::vector<std::uint32_t> launches_per_pass(std::span<const double> weights);

} // namespace zyfa::tuner
