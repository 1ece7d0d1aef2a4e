// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace zyfa::fuzz {

/// Ends the process where hostile bytes were believed.
inline void require(bool condition) {
    if (!condition)
        std::abort();
}

} // namespace zyfa::fuzz
