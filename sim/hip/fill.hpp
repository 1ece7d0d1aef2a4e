// SPDX-License-Identifier: Apache-2.0
// Fills as operations.
#pragma once

#include "sim/hip/operation.hpp"

namespace zyfa::sim::hip {

/// Throws Failure where the range, its alignment or the element size is wrong.
void check_fill(const FillOperation& fill);

} // namespace zyfa::sim::hip
