// SPDX-License-Identifier: Apache-2.0
#include "core/environment.hpp"

#include <cstdlib>

namespace zyfa {

std::string environment(const char* name) {
    const char* value = ::secure_getenv(name);
    return value ? value : "";
}

} // namespace zyfa
