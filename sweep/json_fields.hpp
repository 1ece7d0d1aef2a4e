// SPDX-License-Identifier: Apache-2.0
// Reading an object of a JSON file that people write: every field has a path that errors name, and a field
// that nobody asked for is an error. Private to sweep.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa::sweep {

using Json = nlohmann::ordered_json;

[[noreturn]] inline void refuse_field(const std::string& path, const Json& value,
                                      const std::string& accepted) {
    throw Error(ErrorCode::invalid_argument, path, path + " is " + value.dump() + "; accepted: " + accepted);
}

/// An integer of at least `least`.
inline std::int64_t read_size(const Json& value, const std::string& path, std::int64_t least = 1,
                              std::int64_t most = std::int64_t{1} << 40) {
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() >> 62) ||
        value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        refuse_field(path, value,
                     "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return value.get<std::int64_t>();
}

inline double read_number(const Json& value, const std::string& path, double least, double most) {
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
        refuse_field(path, value, "a number from " + Json(least).dump() + " to " + Json(most).dump());
    return value.get<double>();
}

inline std::string read_text(const Json& value, const std::string& path) {
    if (!value.is_string())
        refuse_field(path, value, "a string");
    return value.get<std::string>();
}

class Fields {
  public:
    Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
        if (!json.is_object())
            refuse_field(path_.empty() ? "the file" : path_, json, "an object");
    }

    std::string path(const char* name) const { return path_.empty() ? name : path_ + "." + name; }

    /// The field, or null where it is absent.
    const Json* find(const char* name) {
        known_.insert(name);
        const auto found = json_.find(name);
        return found == json_.end() ? nullptr : &*found;
    }
    const Json& at(const char* name) {
        const Json* value = find(name);
        if (!value)
            throw Error(ErrorCode::invalid_argument, path(name), path(name) + " is missing");
        return *value;
    }

    /// `read(value, path)` where the field is given.
    template <class Target, class Read>
    void optional(const char* name, Target& target, Read read) {
        if (const Json* value = find(name))
            target = read(*value, path(name));
    }

    /// A list of at least one; a single value stands for a list of one.
    template <class Target, class Read>
    void list(const char* name, Target& target, Read read, bool may_be_empty = false) {
        const Json* value = find(name);
        if (!value)
            return;
        target.clear();
        if (!value->is_array()) {
            target.push_back(read(*value, path(name)));
            return;
        }
        for (std::size_t i = 0; i < value->size(); ++i)
            target.push_back(read((*value)[i], path(name) + "[" + std::to_string(i) + "]"));
        if (target.empty() && !may_be_empty)
            refuse_field(path(name), *value, "a list that is not empty");
    }

    /// To be called last: refuses fields that were not asked for.
    void end() const {
        for (const auto& [name, value] : json_.items())
            if (!known_.contains(name)) {
                std::string accepted;
                for (const std::string& known : known_)
                    accepted += (accepted.empty() ? "" : ", ") + known;
                throw Error(ErrorCode::invalid_argument, path(name.c_str()),
                            path(name.c_str()) + " is not a field; accepted: " + accepted);
            }
    }

  private:
    const Json& json_;
    std::string path_;
    std::set<std::string> known_;
};

/// Parses a whole file; throws Error{invalid_argument} naming `what`.
inline Json parse_json(std::string_view text, const char* what) {
    try {
        return Json::parse(text);
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::invalid_argument, what, std::string(what) + " is not JSON: " + error.what());
    }
}

/// Text from elsewhere (a driver's message) may not be UTF-8; it is replaced, not thrown at.
inline std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace zyfa::sweep
