// SPDX-License-Identifier: Apache-2.0
// The canonical text of a schedule and its inverse.
#include "core/schedule.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "zyfa/error.hpp"

namespace zyfa {

namespace {

bool is_word(std::string_view text) {
    if (text.empty())
        return false;
    for (const char c : text) {
        const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alphanumeric && c != '_' && c != '.' && c != '-')
            return false;
    }
    return true;
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stopped != end)
        return std::nullopt;
    return value;
}

/// Types are told apart by form: true/false, an integer, a number with '.', 'e' or inf, else a word.
std::optional<ParameterValue> read_value(std::string_view text) {
    if (text == "true")
        return ParameterValue(true);
    if (text == "false")
        return ParameterValue(false);
    if (const auto integer = read_number<std::int64_t>(text))
        return ParameterValue(*integer);
    if (const auto number = read_number<double>(text); number && !std::isnan(*number))
        return ParameterValue(*number);
    if (is_word(text))
        return ParameterValue(std::string(text));
    return std::nullopt;
}

std::string write_number(double value) {
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, result.ptr);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos)
        text += ".0";
    return text;
}

const ParameterValue& look_up(const Schedule& schedule, std::string_view name) {
    const auto found = schedule.parameters.find(std::string(name));
    if (found == schedule.parameters.end())
        throw Error(ErrorCode::internal, std::string(name),
                    "schedule of template " + schedule.template_name + " has no such parameter");
    return found->second;
}

[[noreturn]] void wrong_type(std::string_view name, const ParameterValue& value, const char* wanted) {
    throw Error(ErrorCode::internal, std::string(name),
                "schedule parameter is " + to_string(value) + "; asked for: " + wanted);
}

[[noreturn]] void malformed(std::string_view text, const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "schedule",
                "\"" + std::string(text.substr(0, 200)) + "\" " + why +
                    R"(; accepted: "template{name=value,...}", names in ascending order)");
}

} // namespace

std::string to_string(const ParameterValue& value) {
    if (const auto* flag = std::get_if<bool>(&value))
        return *flag ? "true" : "false";
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return std::to_string(*integer);
    if (const auto* number = std::get_if<double>(&value))
        return write_number(*number);
    return std::get<std::string>(value);
}

bool Schedule::flag(std::string_view name) const {
    const ParameterValue& value = look_up(*this, name);
    if (const auto* found = std::get_if<bool>(&value))
        return *found;
    wrong_type(name, value, "true or false");
}

std::int64_t Schedule::integer(std::string_view name) const {
    const ParameterValue& value = look_up(*this, name);
    if (const auto* found = std::get_if<std::int64_t>(&value))
        return *found;
    wrong_type(name, value, "an integer");
}

double Schedule::number(std::string_view name) const {
    const ParameterValue& value = look_up(*this, name);
    if (const auto* found = std::get_if<double>(&value))
        return *found;
    if (const auto* found = std::get_if<std::int64_t>(&value))
        return static_cast<double>(*found);
    wrong_type(name, value, "a number");
}

const std::string& Schedule::text(std::string_view name) const {
    const ParameterValue& value = look_up(*this, name);
    if (const auto* found = std::get_if<std::string>(&value))
        return *found;
    wrong_type(name, value, "a word");
}

std::string Schedule::canonical() const {
    if (!is_word(template_name))
        throw Error(ErrorCode::internal, "template_name",
                    "\"" + template_name + "\"; accepted: letters, digits, '_', '.', '-'");
    std::string text = template_name + "{";
    const char* separator = "";
    for (const auto& [name, value] : parameters) {
        std::string written = to_string(value);
        // A word that would be read back as another type (or not at all) must not be written.
        if (!is_word(name) || read_value(written) != value)
            throw Error(ErrorCode::internal, name,
                        "schedule parameter value \"" + written +
                            "\" does not survive "
                            "being written; accepted: true, false, numbers but NaN, words");
        text += separator;
        text += name;
        text += '=';
        text += written;
        separator = ",";
    }
    return text + "}";
}

Schedule Schedule::parse(std::string_view text) {
    const std::size_t open = text.find('{');
    if (open == std::string_view::npos || text.back() != '}')
        malformed(text, "has no {...}");
    Schedule schedule;
    schedule.template_name = text.substr(0, open);
    if (!is_word(schedule.template_name))
        malformed(text, "has no template name");
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        if (comma != std::string_view::npos && comma + 1 == rest.size())
            malformed(text, "ends in a comma");
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos || !is_word(item.substr(0, equals)))
            malformed(text, "has \"" + std::string(item) + "\" where name=value is expected");
        const auto value = read_value(item.substr(equals + 1));
        if (!value)
            malformed(text, "has no value in \"" + std::string(item) + "\"");
        if (!schedule.parameters.emplace(item.substr(0, equals), *value).second)
            malformed(text, "names \"" + std::string(item.substr(0, equals)) + "\" twice");
    }
    return schedule;
}

} // namespace zyfa
