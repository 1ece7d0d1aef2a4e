// SPDX-License-Identifier: Apache-2.0
// Reading the members of LAUNCH.json. Private to its readers: it brings nlohmann/json. Every function throws
// Error{invalid_argument} whose argument is `where`, the place in the file ("buffers.q.generator.kind").
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/element.hpp"
#include "cli/launch_file.hpp"

namespace zyfa::cli::launch_json {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& message);
/// The place of a member: "where.member".
std::string at(const std::string& where, std::string_view member);
/// Refuses what is no object, and members that are not in `known`.
void check_members(const Json& json, const std::string& where, std::initializer_list<const char*> known);

std::string text(const Json& json, const std::string& where);
std::string optional_text(const Json& json, const std::string& where, const char* member);
std::uint64_t unsigned_number(const Json& json, const std::string& where, std::uint64_t max);
std::uint64_t optional_unsigned(const Json& json, const std::string& where, const char* member,
                                std::uint64_t max, std::uint64_t otherwise);
/// Also "nan", "inf" and "-inf".
double number(const Json& json, const std::string& where);
double optional_number(const Json& json, const std::string& where, const char* member, double otherwise);
ElementType type_of(const Json& json, const std::string& where);
/// A list of one to three sizes of at least 1; the missing ones are 1.
std::array<std::uint32_t, 3> three(const Json& json, const std::string& where);
/// A path, relative to the launch file's folder.
std::string path_of(const Json& json, const std::string& where, const std::string& folder);

inline constexpr std::uint64_t max_buffer_bytes = std::uint64_t{1} << 36;

BufferSpec parse_buffer(const Json& json, const std::string& where, const std::string& folder);
AttentionSpec parse_attention(const Json& json, const std::string& where);

} // namespace zyfa::cli::launch_json
