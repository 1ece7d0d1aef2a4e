// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_json.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/core.h>

#include "zyfa/error.hpp"

namespace zyfa::cli::launch_json {

void fail(const std::string& where, const std::string& message) {
    throw Error(ErrorCode::invalid_argument, where.empty() ? "LAUNCH.json" : where, message);
}

std::string at(const std::string& where, std::string_view member) {
    return where.empty() ? std::string(member) : where + "." + std::string(member);
}

void check_members(const Json& json, const std::string& where, std::initializer_list<const char*> known) {
    if (!json.is_object()) {
        fail(where, "an object is needed here");
    }
    std::string list;
    for (const char* name : known) {
        list += (list.empty() ? "" : ", ") + std::string(name);
    }
    for (const auto& [name, value] : json.items()) {
        if (std::none_of(known.begin(), known.end(), [&key = name](const char* k) { return key == k; })) {
            fail(at(where, name), "not known here; accepted are " + list);
        }
    }
}

std::string text(const Json& json, const std::string& where) {
    if (!json.is_string()) {
        fail(where, "a string is needed here");
    }
    return json.get<std::string>();
}

std::string optional_text(const Json& json, const std::string& where, const char* member) {
    return json.contains(member) ? text(json[member], at(where, member)) : std::string();
}

std::uint64_t unsigned_number(const Json& json, const std::string& where, std::uint64_t max) {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > max) {
        fail(where, fmt::format("{} is not a whole number from 0 to {}", json.dump(), max));
    }
    return json.get<std::uint64_t>();
}

std::uint64_t optional_unsigned(const Json& json, const std::string& where, const char* member,
                                std::uint64_t max, std::uint64_t otherwise) {
    return json.contains(member) ? unsigned_number(json[member], at(where, member), max) : otherwise;
}

double number(const Json& json, const std::string& where) {
    if (json.is_number()) {
        return json.get<double>();
    }
    if (json.is_string()) { // JSON has no words for these
        const std::string word = json.get<std::string>();
        if (word == "nan") {
            return std::numeric_limits<double>::quiet_NaN();
        }
        if (word == "inf" || word == "-inf") {
            return word == "inf" ? std::numeric_limits<double>::infinity()
                                 : -std::numeric_limits<double>::infinity();
        }
    }
    fail(where, json.dump() + " is not a number (\"nan\", \"inf\" and \"-inf\" are accepted too)");
}

double optional_number(const Json& json, const std::string& where, const char* member, double otherwise) {
    return json.contains(member) ? number(json[member], at(where, member)) : otherwise;
}

ElementType type_of(const Json& json, const std::string& where) {
    const std::string name = text(json, where);
    const std::optional<ElementType> type = element_type(name);
    if (!type) {
        fail(where, fmt::format("'{}' is not an element type; accepted are {}", name, element_type_names()));
    }
    return *type;
}

std::array<std::uint32_t, 3> three(const Json& json, const std::string& where) {
    if (!json.is_array() || json.empty() || json.size() > 3) {
        fail(where, "a list of one to three sizes is needed here");
    }
    std::array<std::uint32_t, 3> sizes{1, 1, 1};
    for (std::size_t i = 0; i < json.size(); ++i) {
        const std::string place = fmt::format("{}[{}]", where, i);
        sizes[i] = static_cast<std::uint32_t>(
            unsigned_number(json[i], place, std::numeric_limits<std::uint32_t>::max()));
        if (sizes[i] == 0) {
            fail(place, "0 is not accepted; at least 1");
        }
    }
    return sizes;
}

std::string path_of(const Json& json, const std::string& where, const std::string& folder) {
    const std::filesystem::path path(text(json, where));
    return path.is_absolute() || folder.empty() ? path.string()
                                                : (std::filesystem::path(folder) / path).string();
}

} // namespace zyfa::cli::launch_json
