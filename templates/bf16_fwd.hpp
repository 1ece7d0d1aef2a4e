// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "templates/template.hpp"

namespace zyfa::templates {

/// BF16 forward at head dimension 128.
const Template& bf16_fwd_d128();
/// BF16 forward with query-key dimension 192 and value dimension 128 (the MLA shape).
const Template& bf16_fwd_d192();

} // namespace zyfa::templates
