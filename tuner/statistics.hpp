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

/// 97.5% quantile of Student's t distribution with `degrees` >= 1 degrees of freedom.
double student_t_975(std::size_t degrees);

} // namespace zyfa::tuner
