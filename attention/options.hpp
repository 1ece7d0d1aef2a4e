// SPDX-License-Identifier: Apache-2.0
// Texts of options, from the environment and through the C API.
#pragma once

#include <cstdint>
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

/// nullopt where the text is anything but a number.
std::optional<std::uint64_t> byte_count(std::string_view text);
inline constexpr const char* byte_counts = "a number of bytes; 0: no limit";

} // namespace zyfa::call
