// SPDX-License-Identifier: Apache-2.0
// Weights to counts.
#include "tuner/passes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::uint32_t longest_pass = 32;

} // namespace

std::vector<std::uint32_t> launches_per_pass(std::span<const double> weights) {
    for (const double weight : weights)
        if (!(weight > 0) || !std::isfinite(weight))
            throw Error(ErrorCode::invalid_argument, "weight",
                        "a layer's weight is " + std::to_string(weight) + "; accepted: numbers above 0");
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto layers = static_cast<std::uint32_t>(weights.size());
    std::vector<std::uint32_t> best;
    double least = 0;
    for (std::uint32_t length = layers; length <= std::max(longest_pass, layers); ++length) {
        std::vector<std::uint32_t> counts;
        for (const double weight : weights)
            counts.push_back(static_cast<std::uint32_t>(std::max(1.0, std::round(weight / all * length))));
        const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0u));
        if (!best.empty() && total > std::max(longest_pass, layers))
            continue; // a launch of each rounds up
        double error = 0;
        for (std::size_t i = 0; i < counts.size(); ++i)
            error = std::max(error, std::abs(counts[i] / total - weights[i] / all));
        if (best.empty() || error < least - 1e-9) {
            best = std::move(counts);
            least = error;
        }
    }
    return best;
}

} // namespace zyfa::tuner
