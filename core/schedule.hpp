// SPDX-License-Identifier: Apache-2.0
// Schedule: one point of the tunable space, as a value that can be printed and read back. The core does not
// know what a parameter means; the template that made the schedule does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace zyfa {

using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

std::string to_string(const ParameterValue& value);

struct Schedule {
    std::string template_name;                        ///< "bf16_fwd_d128"
    std::map<std::string, ParameterValue> parameters; ///< ordered by name: the canonical order

    bool operator==(const Schedule&) const = default;

    /// Typed look-up; throws Error{internal} where the parameter is missing or has another type (an integer
    /// is accepted where a double is asked for).
    bool flag(std::string_view name) const;
    std::int64_t integer(std::string_view name) const;
    double number(std::string_view name) const;
    const std::string& text(std::string_view name) const;

    /// "name{a=1,b=0.5,c=true,d=runs}"; parse(canonical()) == *this. Strings are [A-Za-z0-9_.-]+, doubles
    /// always carry '.', 'e', or inf so that the type survives.
    std::string canonical() const;
    static Schedule parse(std::string_view text); ///< throws Error{invalid_argument}
};

} // namespace zyfa
