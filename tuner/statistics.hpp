// SPDX-License-Identifier: Apache-2.0
// Statistics of timed blocks: robust centre and spread, and the paired comparison of two candidates.
#pragma once

#include <cstddef>
#include <span>

namespace zyfa::tuner {

struct Spread {
    double median = 0, min = 0, max = 0;
};
Spread spread(std::span<const double> samples); ///< zeros where there is no sample

/// Candidate time over default time from paired blocks (each pair measured side by side, so that a drift of
/// the clock meets both).
struct PairedRatio {
    double median = 1; ///< exp of the median log ratio
    double low = 0,
           high = 0; ///< two-sided 95% interval of the mean log ratio (Student's t); [0, inf) for one pair
    std::size_t pairs = 0;
};
/// Both spans have the same length; times are > 0.
PairedRatio paired_ratio(std::span<const double> candidate_ms, std::span<const double> default_ms);

/// Two-sided interval of a mean by Student's t.
struct MeanInterval {
    double mean = 0;
    double low = 0, high = 0; ///< infinite for fewer than two samples
    std::size_t samples = 0;
    double half_width() const { return 0.5 * (high - low); }
};
/// `error` is the probability, shared by both sides, that the interval misses the mean: 0.05 for 95%.
MeanInterval mean_interval(std::span<const double> samples, double error);

/// Quantile of Student's t distribution; `degrees` >= 1, 0 < `probability` < 1. Exact to about 1e-9.
double student_t_quantile(double probability, double degrees);

/// Upper 95% bound of a proportion of which `hits` of `trials` were seen (Clopper and Pearson 1934).
double proportion_upper_95(std::size_t hits, std::size_t trials);
/// Lower 95% bound, likewise.
double proportion_lower_95(std::size_t hits, std::size_t trials);

/// 97.5% quantile of Student's t distribution with `degrees` >= 1 degrees of freedom.
double student_t_975(std::size_t degrees);

} // namespace zyfa::tuner
