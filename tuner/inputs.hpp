// SPDX-License-Identifier: Apache-2.0
// Inputs to tune on where the caller gives none.
#pragma once

#include <cstdint>

#include "core/distributions.hpp"
#include "core/reference.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

/// Host tensors of a problem from a named distribution, which becomes the data profile. A problem larger than
/// `most_elements` is drawn for one key-value head and its query heads; the other heads and batch entries
/// repeat them (drawing every element of a GPU-sized problem would take longer than tuning it).
TuningInputs drawn_inputs(const Problem& problem, Distribution distribution = Distribution::gaussian,
                          std::uint64_t seed = 1, std::uint64_t most_elements = std::uint64_t{1} << 24);

/// The rows of inputs that lie in the strides of `from`, in those of `to`, a part of the same problem.
TuningInputs repacked(const TuningInputs& inputs, const Problem& from, const Problem& to);

/// The inputs as the reference wants them.
inline HostTensors view(const TuningInputs& inputs) {
    return {inputs.q, inputs.k, inputs.v};
}

} // namespace zyfa::tuner
