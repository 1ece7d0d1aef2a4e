// SPDX-License-Identifier: Apache-2.0
// Captured layers as input of a sweep.
#pragma once

#include <string>

#include "sweep/measure.hpp"
#include "sweep/spec.hpp"

namespace zyfa::cli {

/// Copies the layers that `spec` names into the folder, under names that carry their digest, and renames them
/// in the spec. A name that is a file in the folder's inputs/ already stays. Throws Error{io_error} and, for
/// a file that holds no q, k and v, Error{invalid_argument}.
void copy_layers(sweep::Spec& spec, const sweep::Folder& folder);

/// Why a layer of the folder cannot serve a problem ("has 4096 rows"), or empty.
std::function<std::string(const std::string& layer, const Problem& problem)>
layer_fits(const sweep::Folder& folder);

/// Reads a layer, cut to the problem.
tuner::TuningInputs load_layer(const std::string& path, Problem& problem);

} // namespace zyfa::cli
