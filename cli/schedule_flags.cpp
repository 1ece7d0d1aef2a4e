// SPDX-License-Identifier: Apache-2.0
#include "cli/schedule_flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "templates/template.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

std::string flag_of(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return "--" + name;
}

std::string choices(const templates::ParameterSpec& spec) {
    std::string text;
    for (const ParameterValue& value : spec.grid) {
        text += (text.empty() ? "" : ", ") + to_string(value);
    }
    return text;
}

/// Shapes whose templates' parameters have flags. Query-key dimension 192 has every parameter of BF16, exact
/// P every one of FP8.
std::array<Problem, 3> sample_problems() {
    Problem fp8 = Problem::contiguous(DType::e4m3, 1, 2, 1, 256, 256, 128, 128, Mask::causal);
    fp8.probability = Probability::exact;
    return {Problem::contiguous(DType::bf16, 1, 2, 1, 256, 256, 128, 128, Mask::causal),
            Problem::contiguous(DType::bf16, 1, 2, 1, 256, 256, 192, 128, Mask::causal), fp8};
}

/// Text read as the type that the parameter has in the template's default schedule.
ParameterValue value_like(const ParameterValue& like, const std::string& name, const std::string& text) {
    const auto wrong = [&](const char* accepted) {
        return Error(ErrorCode::invalid_argument, flag_of(name),
                     fmt::format("{} is '{}'; accepted is {}", flag_of(name), text, accepted));
    };
    if (std::holds_alternative<bool>(like)) {
        if (text != "true" && text != "false") {
            throw wrong("true or false");
        }
        return text == "true";
    }
    const char* end = text.data() + text.size();
    if (std::holds_alternative<std::int64_t>(like)) {
        std::int64_t value = 0;
        const std::from_chars_result result = std::from_chars(text.data(), end, value);
        if (result.ec != std::errc() || result.ptr != end) {
            throw wrong("an integer");
        }
        return value;
    }
    if (std::holds_alternative<double>(like)) {
        double value = 0;
        const std::from_chars_result result = std::from_chars(text.data(), end, value);
        if (result.ec != std::errc() || result.ptr != end) {
            throw wrong("a number");
        }
        return value;
    }
    return text;
}

} // namespace

bool ScheduleFlags::given() const {
    return !text.empty() || std::any_of(parameters.begin(), parameters.end(),
                                        [](const auto& parameter) { return !parameter.second.empty(); });
}

void add_schedule_flags(CLI::App& command, ScheduleFlags& flags) {
    command
        .add_option("--schedule", flags.text,
                    "A schedule as text, \"name{a=1,b=true}\"; what it leaves out is the default")
        ->type_name("TEXT")
        ->group("Schedule");
    for (const Problem& sample : sample_problems()) {
        for (const templates::ParameterSpec& spec : templates::template_for(sample).space(sample)) {
            const std::string flag = flag_of(spec.name);
            if (flags.parameters.contains(spec.name) || command.get_option_no_throw(flag) != nullptr) {
                continue; // --probability says what is to be computed
            }
            command
                .add_option(flag, flags.parameters[spec.name],
                            fmt::format("{} ({}; the first is the default)", spec.description, choices(spec)))
                ->type_name("VALUE")
                ->group(sample.dtype == DType::bf16 ? "Schedule" : "Schedule, FP8");
        }
    }
}

Schedule schedule_from(const ScheduleFlags& flags, const Problem& problem) {
    const templates::Template& serving = templates::template_for(problem);
    Schedule schedule = serving.default_schedule(problem);
    if (!flags.text.empty()) {
        schedule = Schedule::parse(flags.text);
        std::string why;
        if (!templates::template_named(schedule.template_name).serves(problem, &why)) {
            throw Error(
                ErrorCode::invalid_argument, "--schedule",
                fmt::format("template '{}' does not compute this problem: {}", schedule.template_name, why));
        }
        // What the text leaves out is as in the default schedule, and so is the type of a number ("tau=1").
        const Schedule defaults = templates::template_named(schedule.template_name).default_schedule(problem);
        for (const auto& [name, value] : defaults.parameters) {
            const auto [given, left_out] = schedule.parameters.try_emplace(name, value);
            const std::int64_t* whole = std::get_if<std::int64_t>(&given->second);
            if (!left_out && whole != nullptr && std::holds_alternative<double>(value)) {
                given->second = static_cast<double>(*whole);
            }
        }
    }
    for (const auto& [name, text] : flags.parameters) {
        if (text.empty()) {
            continue;
        }
        const auto parameter = schedule.parameters.find(name);
        if (parameter == schedule.parameters.end()) {
            throw Error(ErrorCode::invalid_argument, flag_of(name),
                        fmt::format("template '{}' has no parameter {}", schedule.template_name, name));
        }
        parameter->second = value_like(parameter->second, name, text);
    }
    if (const std::optional<std::string> reason =
            templates::template_named(schedule.template_name).reject(problem, schedule)) {
        throw Error(ErrorCode::invalid_argument, "--schedule",
                    fmt::format("{} is not allowed: {}", schedule.canonical(), *reason));
    }
    return schedule;
}

} // namespace zyfa::cli
