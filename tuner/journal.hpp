// SPDX-License-Identifier: Apache-2.0
// What a tuning has measured so far, on disk: a process that dies loses the measurement in flight, not more,
// and the next tuning of the same thing goes on from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/measurement.hpp"

namespace zyfa::tuner {

/// A file of JSON lines: first what is being tuned, then one line where a candidate begins and one with its
/// measurement. Each is on disk (fdatasync(2)) before the tuning goes on. A last line that is cut short is
/// ignored.
class Journal {
  public:
    /// Opens or makes the file. What is in it counts only if its first line says the same `subject` and it is
    /// younger than `oldest_s`; else it starts anew. Throws Error{io_error}.
    Journal(std::string path, const std::string& subject, double oldest_s = 86400);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    /// A finished measurement of the schedule's binary.
    std::optional<Measurement> find(const Schedule& schedule, const std::string& binary_digest) const;
    /// How many times a tuning has begun the candidate and was over before it, killed or by its budget.
    std::uint32_t lost(const Schedule& schedule) const;
    std::size_t size() const noexcept { return done_.size(); }

    void begin(const Schedule& schedule);
    void end(const Measurement& measurement);
    void remove(); ///< everything was measured

  private:
    void load(const std::string& subject, double oldest_s);
    void append(const std::string& line);

    std::string path_;
    int file_ = -1;
    std::map<std::string, Measurement> done_; ///< by canonical schedule
    std::map<std::string, std::uint32_t> begun_;
};

} // namespace zyfa::tuner
