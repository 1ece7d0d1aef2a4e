// SPDX-License-Identifier: Apache-2.0
// Medians and paired intervals over timed blocks.
#include "tuner/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace zyfa::tuner {

namespace {

double median_of(std::vector<double> values) {
    const std::size_t middle = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
    const double upper = values[middle];
    if (values.size() % 2 != 0)
        return upper;
    return 0.5 *
           (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)));
}

} // namespace

Spread spread(std::span<const double> samples) {
    if (samples.empty())
        return {};
    const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
    return {median_of({samples.begin(), samples.end()}), *low, *high};
}

double student_t_975(std::size_t degrees) {
    // Tabulated to 30 degrees; beyond, the first terms of the Cornish-Fisher expansion around the normal
    // quantile are good to three digits (Abramowitz and Stegun 26.7.5).
    static constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                                  2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                                  2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                                  2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    if (degrees == 0)
        return std::numeric_limits<double>::infinity();
    if (degrees <= table.size())
        return table[degrees - 1];
    const double z = 1.959964, n = static_cast<double>(degrees);
    return z + (z * z * z + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

PairedRatio paired_ratio(std::span<const double> candidate_ms, std::span<const double> default_ms) {
    PairedRatio result;
    result.pairs = std::min(candidate_ms.size(), default_ms.size());
    result.high = std::numeric_limits<double>::infinity();
    if (result.pairs == 0)
        return result;
    std::vector<double> logs(result.pairs);
    double mean = 0;
    for (std::size_t i = 0; i < result.pairs; ++i) {
        logs[i] = std::log(candidate_ms[i] / default_ms[i]);
        mean += logs[i] / static_cast<double>(result.pairs);
    }
    result.median = std::exp(median_of(logs));
    if (result.pairs == 1)
        return result;
    double squares = 0;
    for (const double value : logs)
        squares += (value - mean) * (value - mean);
    const double n = static_cast<double>(result.pairs);
    const double half = student_t_975(result.pairs - 1) * std::sqrt(squares / (n - 1) / n);
    result.low = std::exp(mean - half);
    result.high = std::exp(mean + half);
    return result;
}

} // namespace zyfa::tuner
