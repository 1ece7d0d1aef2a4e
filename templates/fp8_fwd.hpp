// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/template.hpp"

namespace zyfa::templates {

/// FP8 (e4m3) forward at head dimension 128, lean P by default.
const Template& fp8_fwd_d128();
/// FP8 forward with query-key dimension 192 and value dimension 128 (the MLA shape), exact P by default.
const Template& fp8_fwd_d192();

} // namespace zyfa::templates
