// SPDX-License-Identifier: Apache-2.0
// A worker's signs of life, from a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "sweep/journal.hpp"

namespace zyfa::sweep {

/// Says a few times per lease that the worker lives, until it is destroyed. Falls silent while one
/// measurement lasts longer than `hang_s`, so that others take the task over. Ends the process at once,
/// without another word, when the process that started it is gone and `with_parent` is set: a node daemon
/// that died takes its job with it, and the GPU is no longer ours.
class Pulse {
  public:
    Pulse(const Journal& journal, double lease_s, double hang_s, bool with_parent);
    ~Pulse();
    Pulse(const Pulse&) = delete;
    Pulse& operator=(const Pulse&) = delete;

    /// What the worker is at from now on; empty: nothing. Seen with the next beat.
    void at(std::string activity, bool measuring);

  private:
    using Clock = std::chrono::steady_clock;
    void run();

    const Journal& journal_;
    const double lease_s_, hang_s_;
    const bool with_parent_;
    const int parent_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ending_ = false, measuring_ = false;
    std::string activity_ = "starting";
    Clock::time_point since_ = Clock::now();
    std::thread thread_;
};

} // namespace zyfa::sweep
