// SPDX-License-Identifier: Apache-2.0
// Several inputs of one shape with weights, as `zyfa tune --layer` names them.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::cli {

struct LayerInputs {
    Problem problem; ///< of the first, with its descales
    tuner::TuningInputs inputs;
    std::string source; ///< for people
};

/// `layers`: FILE, FILE=WEIGHT, DISTRIBUTION or DISTRIBUTION=WEIGHT each; the other flags hold for all. None:
/// what the flags say. Throws Error{invalid_argument} that names `--layer` where they are not of one shape.
LayerInputs load_layers(const ProblemFlags& flags, const std::vector<std::string>& layers);

} // namespace zyfa::cli
