// SPDX-License-Identifier: Apache-2.0
// What the sanitizer has found in this process's launches, and the environment's wishes about it:
//   ZYFA_SANITIZE           1 or strict: every launch of every device runs under the sanitizer; what it finds
//                           is printed to stderr at the end of the process
//   ZYFA_SANITIZE_LOG       a file that gets the report as JSON as well
//   ZYFA_SANITIZE_EXITCODE  of a process in which errors were found (99; 0 leaves the program's own)
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "sim/sanitizer/report.hpp"

namespace zyfa::sim::hip {

class SanitizerLog {
  public:
    SanitizerLog();
    bool wanted() const noexcept { return wanted_; } ///< by the environment
    void add(const sanitizer::Report& launch);
    void clear();
    /// Launches that ran under the sanitizer since clear().
    std::uint64_t launches() const;
    std::uint64_t errors(bool strict) const;
    std::string text(bool strict) const;
    std::string json(bool strict) const;
    /// The process ends: reports where the environment asked for it, and may not return.
    void at_exit() const;

  private:
    mutable std::mutex mutex_;
    std::vector<sanitizer::Report> reports_;
    std::uint64_t launches_ = 0;
    bool wanted_ = false, strict_ = false;
};

} // namespace zyfa::sim::hip
