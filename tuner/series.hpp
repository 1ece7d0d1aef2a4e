// SPDX-License-Identifier: Apache-2.0
// What a series of launch times says about the device's clock: from when on it is settled, and the period of
// the slow swing that remains.
#pragma once

#include <optional>
#include <span>

#include "tuner/clocked_device.hpp"

namespace zyfa::tuner {

struct PeriodLimits {
    double shortest_ms = 200, longest_ms = 2500;
    double bin_ms = 20;
    /// Autocorrelation that counts as a swing. Recorded power-limited runs reach 0.3 to 0.6 at one period;
    /// runs that no limit touches stay below 0.2 everywhere (docs/tuning.md).
    double least_correlation = 0.25;
};

/// Period of the slow swing of launch times: the lag of the highest peak of their autocorrelation, after the
/// trend is taken out. Nullopt: the series holds fewer than two of its periods, or does not swing.
std::optional<double> swing_period_ms(std::span<const LaunchSample> series, const PeriodLimits& limits = {});

/// When the device had settled, in milliseconds after the start of the series: the earliest moment from which
/// every window of `window_ms` has a mean within `tolerance` (relative) of the mean of all that follows.
/// Nullopt: no two whole windows agree at the end of the series.
std::optional<double> settled_after_ms(std::span<const LaunchSample> series, double window_ms,
                                       double tolerance);

} // namespace zyfa::tuner
