// SPDX-License-Identifier: Apache-2.0
// Autocorrelation and settling of launch times; block means.
#include "tuner/series.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace zyfa::tuner {

namespace {

/// Means over equal bins of time; empty bins take their predecessor's.
std::vector<double> binned(std::span<const LaunchSample> series, double bin_ms) {
    const double begin = series.front().start_ms;
    const LaunchSample& last = series.back();
    const auto bins = static_cast<std::size_t>((last.start_ms - begin) / bin_ms) + 1;
    std::vector<double> sum(bins, 0.0), weight(bins, 0.0);
    for (const LaunchSample& sample : series) {
        const auto bin = static_cast<std::size_t>((sample.start_ms - begin) / bin_ms);
        sum[bin] += sample.ms * sample.launches;
        weight[bin] += sample.launches;
    }
    for (std::size_t i = 0; i < bins; ++i)
        sum[i] = weight[i] > 0 ? sum[i] / weight[i] : sum[i - 1]; // the first bin holds the first sample
    return sum;
}

void take_trend_out(std::vector<double>& values) {
    const auto n = static_cast<double>(values.size());
    const double centre = (n - 1) / 2;
    double mean = 0, slope = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = static_cast<double>(i) - centre;
        mean += values[i] / n;
        slope += x * values[i];
        squares += x * x;
    }
    slope = squares > 0 ? slope / squares : 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] -= mean + slope * (static_cast<double>(i) - centre);
}

} // namespace

double mean_ms(const TimedBlock& block, double skip_ms) {
    double sum = 0, launches = 0;
    for (const LaunchSample& sample : block.samples) {
        if (sample.start_ms - block.samples.front().start_ms < skip_ms)
            continue;
        sum += sample.ms * sample.launches;
        launches += sample.launches;
    }
    return launches > 0 ? sum / launches : block.samples.back().ms;
}

std::uint32_t launches_of(const TimedBlock& block) {
    std::uint32_t launches = 0;
    for (const LaunchSample& sample : block.samples)
        launches += sample.launches;
    return launches;
}

double busy_ms(const TimedBlock& block) {
    double sum = 0;
    for (const LaunchSample& sample : block.samples)
        sum += sample.ms * sample.launches;
    return sum;
}

std::optional<double> swing_period_ms(std::span<const LaunchSample> series, const PeriodLimits& limits) {
    if (series.size() < 8)
        return std::nullopt;
    std::vector<double> values = binned(series, limits.bin_ms);
    take_trend_out(values);
    const auto lag_of = [&](double ms) { return static_cast<std::size_t>(std::lround(ms / limits.bin_ms)); };
    const std::size_t longest = std::min(lag_of(limits.longest_ms), values.size() / 2);
    // Not normalised by the number of products: the estimate of long lags rests on few of them and is damped.
    const auto correlation = [&](std::size_t lag) {
        double sum = 0;
        for (std::size_t i = 0; i + lag < values.size(); ++i)
            sum += values[i] * values[i + lag];
        return sum;
    };
    const double power = correlation(0);
    if (!(power > 0))
        return std::nullopt;
    std::optional<std::size_t> best;
    double highest = limits.least_correlation * power;
    for (std::size_t lag = std::max<std::size_t>(lag_of(limits.shortest_ms), 1); lag + 1 <= longest; ++lag) {
        const double here = correlation(lag);
        if (here > highest && here >= correlation(lag - 1) && here >= correlation(lag + 1)) {
            highest = here;
            best = lag;
        }
    }
    if (!best)
        return std::nullopt;
    return static_cast<double>(*best) * limits.bin_ms;
}

std::optional<double> settled_after_ms(std::span<const LaunchSample> series, double window_ms,
                                       double tolerance) {
    if (series.empty())
        return std::nullopt;
    const double begin = series.front().start_ms;
    const double end = series.back().start_ms + series.back().ms * series.back().launches;
    const auto windows = static_cast<std::size_t>((end - begin) / window_ms);
    // Windows count from the end, so that the last one is whole.
    std::vector<double> sum(windows, 0.0), weight(windows, 0.0);
    for (const LaunchSample& sample : series) {
        const auto back = static_cast<std::size_t>(std::max(0.0, end - sample.start_ms) / window_ms);
        if (back >= windows)
            continue;
        sum[back] += sample.ms * sample.launches;
        weight[back] += sample.launches;
    }
    std::size_t good = 0;
    double total = 0, launches = 0;
    for (std::size_t back = 0; back < windows && weight[back] > 0; ++back) {
        const double mean = sum[back] / weight[back];
        if (launches > 0 && std::abs(mean - total / launches) > tolerance * (total / launches))
            break;
        total += sum[back];
        launches += weight[back];
        good = back + 1;
    }
    if (good < 2)
        return std::nullopt;
    return std::max(0.0, end - static_cast<double>(good) * window_ms - begin);
}

} // namespace zyfa::tuner
