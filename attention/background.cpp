// SPDX-License-Identifier: Apache-2.0
#include "attention/background.hpp"

#include <unistd.h>

#include <chrono>

namespace zyfa::call {

BackgroundTuner::BackgroundTuner(double idle_s, Tune tune, Log log)
    : idle_s_(idle_s), tune_(std::move(tune)), log_(std::move(log)) {}

BackgroundTuner::~BackgroundTuner() {
    if (!thread_.joinable())
        return;
    if (process_ != ::getpid()) { // its parent's thread
        thread_.detach();
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void BackgroundTuner::offer(BackgroundJob job) {
    {
        const std::lock_guard lock(mutex_);
        if (ending_ || !known_.insert(job.key).second)
            return;
        if (thread_.joinable() && process_ != ::getpid())
            return;
        jobs_.push_back(std::move(job));
        if (!thread_.joinable()) {
            process_ = ::getpid();
            thread_ = std::thread([this] { work(); });
        }
    }
    changed_.notify_all();
}

/// Waits until no call has come for the idle time; false where it is to end.
bool BackgroundTuner::idle(std::unique_lock<std::mutex>& lock) {
    for (std::uint64_t seen = ~std::uint64_t{0}; !ending_;) {
        const std::uint64_t now = calls_.load(std::memory_order_relaxed);
        if (now == seen)
            return true;
        seen = now;
        changed_.wait_for(lock, std::chrono::duration<double>(idle_s_), [this] { return ending_.load(); });
    }
    return false;
}

void BackgroundTuner::work() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
        if (jobs_.empty()) {
            changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            continue;
        }
        if (!idle(lock))
            return;
        BackgroundJob job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        const std::uint64_t before = calls_.load(std::memory_order_relaxed);
        Done done = Done::finished;
        try {
            done = tune_(job,
                         [&] { return ending_.load() || calls_.load(std::memory_order_relaxed) != before; });
        } catch (const std::exception& error) {
            log_("background tuning of " + job.key + " has failed: " + error.what());
        }
        lock.lock();
        if (done == Done::interrupted)
            jobs_.push_back(std::move(job));
    }
}

} // namespace zyfa::call
