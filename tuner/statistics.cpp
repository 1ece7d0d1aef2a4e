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

/// Continued fraction of the incomplete beta function by Lentz's method (Abramowitz and Stegun 26.5.8).
double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;
    for (int m = 1; m <= 500; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        fraction *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        fraction *= d * c;
        if (std::abs(d * c - 1) < 1e-15)
            break;
    }
    return fraction;
}

/// Regularised incomplete beta function I_x(a, b).
double beta_probability(double a, double b, double x) {
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// Where an increasing function of [low, high] reaches `value`.
template <class Function>
double bisect(double low, double high, double value, Function function) {
    for (int i = 0; i < 200; ++i) {
        const double middle = 0.5 * (low + high);
        (function(middle) < value ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

} // namespace

double student_t_quantile(double probability, double degrees) {
    if (probability < 0.5)
        return -student_t_quantile(1 - probability, degrees);
    // P(|T| > t) = I_x(degrees / 2, 1/2) with x = degrees / (degrees + t^2) (Abramowitz and Stegun 26.7.1);
    // by the symmetry of I, the inner probability is that of y = 1 - x, which is small for small t.
    const double inside = 2 * probability - 1;
    const double y =
        bisect(0, 1, inside, [&](double at) { return beta_probability(0.5, 0.5 * degrees, at); });
    return std::sqrt(degrees * y / (1 - y));
}

MeanInterval mean_interval(std::span<const double> samples, double error) {
    MeanInterval result;
    result.samples = samples.size();
    const auto n = static_cast<double>(samples.size());
    for (const double sample : samples)
        result.mean += sample / n;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    result.low = -infinity;
    result.high = infinity;
    if (samples.size() < 2)
        return result;
    double squares = 0;
    for (const double sample : samples)
        squares += (sample - result.mean) * (sample - result.mean);
    const double half = student_t_quantile(1 - 0.5 * error, n - 1) * std::sqrt(squares / (n - 1) / n);
    result.low = result.mean - half;
    result.high = result.mean + half;
    return result;
}

double proportion_upper_95(std::size_t hits, std::size_t trials) {
    if (hits >= trials)
        return 1;
    const auto k = static_cast<double>(hits), n = static_cast<double>(trials);
    return bisect(0, 1, 0.95, [&](double p) { return beta_probability(k + 1, n - k, p); });
}

double proportion_lower_95(std::size_t hits, std::size_t trials) {
    return 1 - proportion_upper_95(trials - std::min(hits, trials), trials);
}

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
