// SPDX-License-Identifier: Apache-2.0
// What earlier tunings have measured: a new candidate costs its own measurement, not that of all others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace zyfa::tuner {

/// Measurements of one subject: the same problem, data, device, HIP, driver, firmware, protocol and gate. The
/// version of zyfa is none of it: what a candidate is, is said by the digest of its binary.
class Known {
  public:
    Known() = default;
    /// Of `measurements` those count that were taken of `subject`, and whose result is one of the binary
    /// alone: measured, wrong or unstable. A crash may have had other causes and is tried again.
    Known(const std::vector<Measurement>& measurements, const std::string& subject);

    bool has(const Schedule& schedule) const;
    /// Null: not known, or of another binary.
    const Measurement* find(const Schedule& schedule, const std::string& binary_digest) const;

  private:
    std::map<std::string, Measurement> by_schedule_; ///< canonical
};

} // namespace zyfa::tuner
