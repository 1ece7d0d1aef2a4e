// SPDX-License-Identifier: Apache-2.0
// Wall-clock time of stages, and the budget of a tuning.
#pragma once

#include <chrono>

namespace zyfa::tuner {

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    double ms() const { return 1e3 * seconds(); }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

/// Adds the life time of the scope to a sum of milliseconds.
class StopwatchScope {
  public:
    explicit StopwatchScope(double& sum_ms) : sum_ms_(sum_ms) {}
    ~StopwatchScope() { sum_ms_ += watch_.ms(); }
    StopwatchScope(const StopwatchScope&) = delete;
    StopwatchScope& operator=(const StopwatchScope&) = delete;

  private:
    double& sum_ms_;
    Stopwatch watch_;
};

} // namespace zyfa::tuner
