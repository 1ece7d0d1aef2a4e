// SPDX-License-Identifier: Apache-2.0
// From elements of O and LSE beside the reference's to an ErrorSummary.
#pragma once

#include <cmath>
#include <limits>

#include "core/reference.hpp"

namespace zyfa {

/// Sums over elements; a NaN that the reference does not have makes the figures NaN, an agreeing one counts
/// as no error.
class ErrorSums {
  public:
    void element(double found, double expected) {
        if (std::isnan(found) && std::isnan(expected)) {
            return;
        }
        const double difference = found - expected;
        squared_error_ += difference * difference;
        squared_ += expected * expected;
        max_abs_ = larger(max_abs_, std::fabs(difference));
    }
    void lse(double found, double expected) {
        if (found == expected ||
            (std::isnan(found) && std::isnan(expected))) { // -inf where no key is visible
            return;
        }
        lse_max_abs_ = larger(lse_max_abs_, std::fabs(found - expected));
    }
    ErrorSummary summary() const {
        const double relative = squared_ > 0         ? std::sqrt(squared_error_ / squared_)
                                : squared_error_ > 0 ? std::numeric_limits<double>::infinity()
                                                     : std::sqrt(squared_error_);
        return {.relative_rms = relative,
                .max_abs = max_abs_,
                .snr_db = -20 * std::log10(relative),
                .lse_max_abs = lse_max_abs_};
    }

  private:
    /// A NaN among them stays.
    static double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
    double squared_error_ = 0, squared_ = 0, max_abs_ = 0, lse_max_abs_ = 0;
};

} // namespace zyfa
