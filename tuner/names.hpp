// SPDX-License-Identifier: Apache-2.0
// Enumerators by the names that users write.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

/// The one of `all` whose to_string() is `name`. Else throws Error{invalid_argument} about `argument`:
/// "`what` is "..."; accepted: ...".
template <class Enum, std::size_t count>
Enum named(std::string_view name, const std::array<Enum, count>& all, const char* argument,
           const char* what) {
    std::string accepted;
    for (const Enum one : all) {
        if (name == to_string(one))
            return one;
        accepted += std::string(accepted.empty() ? "" : ", ") + "\"" + to_string(one) + "\"";
    }
    throw Error(ErrorCode::invalid_argument, argument,
                std::string(what) + " is \"" + std::string(name) + "\"; accepted: " + accepted);
}

} // namespace zyfa::tuner
