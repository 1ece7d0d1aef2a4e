// SPDX-License-Identifier: Apache-2.0
// Sustained tuning while nobody calls: what a first call's race has decided in seconds is decided again in
// the minute that a verdict takes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <sys/types.h>

#include "zyfa/problem.hpp"

namespace zyfa::call {

struct BackgroundJob {
    Problem problem; ///< canonical
    int device = 0;
    std::string key; ///< of its winner: a key is tuned once
};

/// One thread, started with the first job. A job begins when no call has come for `idle_s`, and is given up
/// when one comes (what it has measured stays in its journal, and it is tried again at the next idle time).
class BackgroundTuner {
  public:
    enum class Done { finished, interrupted };
    /// Tunes; asks `interrupted` between measurements. What it throws ends the job.
    using Tune = std::function<Done(const BackgroundJob& job, const std::function<bool()>& interrupted)>;
    using Log = std::function<void(const std::string& line)>;

    BackgroundTuner(double idle_s, Tune tune, Log log);
    ~BackgroundTuner(); ///< gives the job at hand up and waits for the measurement in flight
    BackgroundTuner(const BackgroundTuner&) = delete;
    BackgroundTuner& operator=(const BackgroundTuner&) = delete;

    void called() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }
    void offer(BackgroundJob job);

  private:
    void work();
    bool idle(std::unique_lock<std::mutex>& lock);

    const double idle_s_;
    const Tune tune_;
    const Log log_;
    std::atomic<std::uint64_t> calls_{0};
    std::atomic<bool> ending_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<BackgroundJob> jobs_;
    std::set<std::string> known_; ///< keys that were offered
    std::thread thread_;
    pid_t process_ = 0; ///< of the thread: a child of fork has none
};

} // namespace zyfa::call
