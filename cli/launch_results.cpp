// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_results.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

Comparison compare(const OutputSpec& spec, std::span<const std::byte> found,
                   std::span<const std::byte> wanted) {
    Comparison result;
    const std::size_t step = size_of(spec.type);
    if (found.size() < wanted.size()) {
        throw Error(ErrorCode::invalid_argument, spec.equals,
                    fmt::format("{} has {} bytes, buffer '{}' has {}", spec.equals, wanted.size(),
                                spec.buffer, found.size()));
    }
    result.elements = wanted.size() / step;
    for (std::uint64_t i = 0; i < result.elements; ++i) {
        const double a = load(spec.type, found.subspan(i * step, step));
        const double b = load(spec.type, wanted.subspan(i * step, step));
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        const double difference = same ? 0 : std::fabs(a - b);
        if (!(difference <= spec.tolerance)) { // a NaN on one side fails too
            if (!result.first) {
                result.first = i;
                result.found = a;
                result.wanted = b;
            }
            ++result.differing;
        }
        result.max_abs = std::isnan(difference) ? difference : std::max(result.max_abs, difference);
    }
    result.passed = result.differing == 0;
    return result;
}

nlohmann::ordered_json in_json(const OutputResult& output) {
    nlohmann::ordered_json json{{"buffer", output.spec->buffer}, {"bytes", output.size}};
    if (!output.spec->file.empty()) {
        json["file"] = output.spec->file;
    }
    if (output.comparison) {
        json["equals"] = output.spec->equals;
        json["passed"] = output.comparison->passed;
        json["max_abs"] = output.comparison->max_abs;
        json["differing"] = output.comparison->differing;
        json["elements"] = output.comparison->elements;
    }
    if (!output.values.empty()) {
        json["values"] = output.values;
    }
    return json;
}

std::string in_words(const OutputResult& output) {
    std::string text = bytes(static_cast<double>(output.size));
    if (!output.spec->file.empty()) {
        text += ", written to " + output.spec->file;
    }
    if (output.comparison) {
        const Comparison& c = *output.comparison;
        text += c.passed
                    ? fmt::format(", equals {} (largest difference {:.3g}, accepted {:.3g})",
                                  output.spec->equals, c.max_abs, output.spec->tolerance)
                    : fmt::format(
                          ", DIFFERS from {} in {} of {} elements; the first is [{}]: {:.9g}, wanted {:.9g}",
                          output.spec->equals, c.differing, c.elements, *c.first, c.found, c.wanted);
    }
    if (!output.values.empty()) {
        text += "\n";
        for (const double value : output.values) {
            text += fmt::format("{:.9g} ", value);
        }
        text.pop_back();
    }
    return text;
}

nlohmann::ordered_json in_json(const AttentionSpec& spec, const AttentionResult& result) {
    nlohmann::ordered_json json{{"problem", to_string(spec.problem)},
                                {"passed", result.passed},
                                {"relative_rms", result.error.relative_rms},
                                {"snr_db", result.error.snr_db},
                                {"max_abs", result.error.max_abs},
                                {"worst_row",
                                 {{"batch", result.batch},
                                  {"head", result.head},
                                  {"row", result.row},
                                  {"relative_rms", result.row_relative_rms}}}};
    if (spec.problem.lse) {
        json["lse_max_abs"] = result.error.lse_max_abs;
    }
    if (spec.probabilities) {
        json["emulation"] = {{"relative_rms", result.emulation_relative_rms},
                             {"kernel_on_these_rows", result.emulated_rows_relative_rms}};
    }
    if (!result.passed) {
        json["message"] = result.message;
    }
    return json;
}

std::string in_words(const AttentionSpec& spec, const AttentionResult& result) {
    std::string text =
        fmt::format("{}\n{}: relative RMS error {:.4g}, largest {:.3g}", to_string(spec.problem),
                    result.passed ? "agrees with fp64" : "DIFFERS from fp64, " + result.message,
                    result.error.relative_rms, result.error.max_abs);
    if (spec.problem.lse) {
        text += fmt::format(", LSE {:.3g}", result.error.lse_max_abs);
    }
    if (spec.probabilities) {
        text += fmt::format("\non some rows {:.4g}, where a plain emulation of such arithmetic has {:.4g}",
                            result.emulated_rows_relative_rms, result.emulation_relative_rms);
    }
    return text + fmt::format("\nworst row {} of head {}, batch {}: {:.3g}", result.row, result.head,
                              result.batch, result.row_relative_rms);
}

} // namespace zyfa::cli
