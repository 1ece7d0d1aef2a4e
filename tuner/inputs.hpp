// SPDX-License-Identifier: Apache-2.0
// Inputs to tune on where the caller gives none: seeded Gaussian values, the same on every machine.
#pragma once

#include <cstdint>

#include "core/reference.hpp"
#include "tuner/guarded_tensor.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

/// Host tensors of a problem (padding left as zeros), q, k and v drawn from a normal distribution of mean 0
/// and the given standard deviation (0.1: paper Section V-B), rounded to the problem's dtype.
TuningInputs gaussian_inputs(const Problem& problem, double standard_deviation = 0.1, std::uint64_t seed = 1);

/// The inputs as the reference wants them.
inline HostTensors view(const TuningInputs& inputs) {
    return {inputs.q, inputs.k, inputs.v};
}

} // namespace zyfa::tuner
