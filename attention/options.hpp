// SPDX-License-Identifier: Apache-2.0
// Texts of options, from the environment and through the C API.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zyfa/context.hpp"

namespace zyfa::call {

/// "off", "replay", "tune", "must_hit" (or "must-hit"); nullopt for another name.
std::optional<Mode> mode_named(std::string_view name);
inline constexpr const char* mode_names = "off, replay, tune, must_hit";

/// The parts of "a:b:c"; empty ones are left out.
std::vector<std::string> path_list(const std::string& list);

} // namespace zyfa::call
