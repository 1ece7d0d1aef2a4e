// SPDX-License-Identifier: Apache-2.0
#include "cli/layer_inputs.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>

#include "core/distributions.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

struct Spec {
    std::string name;
    double weight = 1;
};

/// A name may hold '=' itself: what stands behind the last one counts only if it is a number.
Spec parse(const std::string& text) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos)
        return {text, 1};
    const std::string number = text.substr(at + 1);
    char* end = nullptr;
    const double weight = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0')
        return {text, 1};
    if (!(weight > 0))
        throw Error(ErrorCode::invalid_argument, "--layer",
                    fmt::format("{} has a weight of {}; accepted: numbers above 0", text, number));
    return {text.substr(0, at), weight};
}

Inputs load(const ProblemFlags& flags, const std::string& name) {
    ProblemFlags own = flags;
    for (const Distribution distribution : all_distributions())
        if (name == to_string(distribution)) {
            own.input.clear();
            own.distribution = name;
            return load_inputs(own);
        }
    own.input = name;
    return load_inputs(own);
}

Problem without_descales(Problem problem) {
    problem.q_descale = problem.k_descale = problem.v_descale = 1;
    return problem;
}

} // namespace

LayerInputs load_layers(const ProblemFlags& flags, const std::vector<std::string>& layers) {
    LayerInputs result;
    const auto first = [&result](Inputs inputs, double weight) {
        result.problem = inputs.problem;
        result.source = std::move(inputs.source);
        result.inputs = {.q = std::move(inputs.q),
                         .k = std::move(inputs.k),
                         .v = std::move(inputs.v),
                         .profile = std::move(inputs.profile),
                         .layers = {},
                         .weight = weight};
    };
    if (layers.empty())
        first(load_inputs(flags), 1);
    for (const std::string& text : layers) {
        const Spec spec = parse(text);
        Inputs inputs = load(flags, spec.name);
        if (&text == &layers.front()) {
            first(std::move(inputs), spec.weight);
            result.source = text;
            continue;
        }
        if (without_descales(inputs.problem) != without_descales(result.problem))
            throw Error(ErrorCode::invalid_argument, "--layer",
                        fmt::format("{} is {}, and {} is {}; accepted: layers of one shape and scale", text,
                                    to_string(inputs.problem), layers.front(), to_string(result.problem)));
        result.inputs.layers.push_back({.q = std::move(inputs.q),
                                        .k = std::move(inputs.k),
                                        .v = std::move(inputs.v),
                                        .name = inputs.profile,
                                        .weight = spec.weight,
                                        .q_descale = inputs.problem.q_descale,
                                        .k_descale = inputs.problem.k_descale,
                                        .v_descale = inputs.problem.v_descale});
        result.source += ", " + text;
    }
    return result;
}

} // namespace zyfa::cli
