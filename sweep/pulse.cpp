// SPDX-License-Identifier: Apache-2.0
#include "sweep/pulse.hpp"

#include <unistd.h>

#include <algorithm>

#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {
constexpr double beats_per_lease = 4;
constexpr double longest_step_s = 0.5; ///< between looks at the parent
constexpr int exit_without_parent = 9;
} // namespace

Pulse::Pulse(const Journal& journal, double lease_s, double hang_s, bool with_parent)
    : journal_(journal), lease_s_(lease_s), hang_s_(hang_s), with_parent_(with_parent), parent_(::getppid()),
      thread_([this] { run(); }) {}

Pulse::~Pulse() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void Pulse::at(std::string activity, bool measuring) {
    const std::lock_guard lock(mutex_);
    activity_ = std::move(activity);
    measuring_ = measuring;
    since_ = Clock::now();
}

void Pulse::run() {
    const auto period = std::chrono::duration<double>(lease_s_ / beats_per_lease);
    const auto step = std::chrono::duration<double>(std::min(longest_step_s, period.count()));
    auto next = Clock::now() + period;
    std::unique_lock lock(mutex_);
    while (!ending_) {
        wake_.wait_for(lock, step);
        if (with_parent_ && ::getppid() != parent_)
            ::_exit(exit_without_parent);
        if (ending_ || Clock::now() < next)
            continue;
        next = Clock::now() + std::chrono::duration_cast<Clock::duration>(period);
        if (measuring_ && std::chrono::duration<double>(Clock::now() - since_).count() > hang_s_)
            continue;
        const std::string activity = activity_;
        lock.unlock();
        try {
            journal_.beat(activity);
        } catch (const Error&) { // the file system may come back; until then others see a silent worker
        }
        lock.lock();
    }
}

} // namespace zyfa::sweep
