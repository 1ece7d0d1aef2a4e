// SPDX-License-Identifier: Apache-2.0
// The process-wide state: devices from the environment, faults, the end of the process.
#include "sim/hip/process.hpp"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace zyfa::sim::hip {
namespace {

std::atomic<bool> forked{false};

/// Comma-separated `option=value` (all devices) or `N.option=value` (device N).
void apply_environment(std::vector<DeviceOptions>& devices, const char* text) {
    std::istringstream entries(text);
    for (std::string entry; std::getline(entries, entry, ',');) {
        if (entry.empty())
            continue;
        std::size_t first = 0, last = devices.size();
        std::string option = entry.substr(0, entry.find('='));
        const std::string value = entry.size() > option.size() ? entry.substr(option.size() + 1) : "";
        std::size_t ordinal = 0;
        const auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), ordinal);
        if (error == std::errc() && end != option.data() + option.size() && *end == '.') {
            option = option.substr(static_cast<std::size_t>(end - option.data()) + 1);
            first = ordinal;
            last = std::min(ordinal + 1, devices.size());
        }
        std::optional<std::string> wrong;
        for (std::size_t i = first; i < last && !wrong; ++i)
            wrong = set_option(devices[i], option, value);
        if (wrong)
            std::fprintf(stderr, "zyfa-sim: ZYFA_SIM_OPTIONS: %s: %s\n", entry.c_str(), wrong->c_str());
    }
}

} // namespace

Process& Process::get() {
    static Process* process = new Process;
    require(!forked, hipErrorNotInitialized, "HIP was initialised before fork(); the child has no device");
    return *process;
}

Process::Process() {
    if (const char* text = std::getenv("ZYFA_SIM_DEVICES"))
        count_ = std::clamp(std::atoi(text), 0, 64);
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    // Workers end with the command they are at, before static objects of other libraries are destroyed.
    std::atexit([] {
        if (forked)
            return;
        Process& process = get();
        {
            std::lock_guard lock(process.scheduler.mutex);
            process.scheduler.stopping = true;
        }
        process.scheduler.changed.notify_all();
        for (auto& device : process.devices_)
            device->join();
        process.sanitizer.at_exit();
    });
}

void Process::create_devices() {
    if (!devices_.empty())
        return;
    configured_.resize(static_cast<std::size_t>(count_));
    if (const char* text = std::getenv("ZYFA_SIM_OPTIONS"))
        apply_environment(configured_, text);
    if (sanitizer.wanted())
        for (DeviceOptions& options : configured_)
            options.sanitize = true;
    for (const DeviceOptions& options : configured_)
        if (options.sanitize)
            memory.track_initialisation();
    for (int i = 0; i < count_; ++i)
        devices_.push_back(std::make_unique<Device>(i, configured_[static_cast<std::size_t>(i)]));
    for (auto& device : devices_)
        device->peers.resize(devices_.size());
}

int Process::device_count() {
    std::lock_guard lock(mutex_);
    create_devices();
    require(count_ > 0, hipErrorNoDevice, "ZYFA_SIM_DEVICES is 0");
    return count_;
}

Device& Process::device(int ordinal) {
    std::lock_guard lock(mutex_);
    create_devices();
    require(count_ > 0, hipErrorNoDevice, "ZYFA_SIM_DEVICES is 0");
    require(ordinal >= 0 && ordinal < count_, hipErrorInvalidDevice);
    return *devices_[static_cast<std::size_t>(ordinal)];
}

Device& Process::current_device() {
    return device(thread_state().device);
}

bool Process::set_device_count(int count) {
    std::lock_guard lock(mutex_);
    if (!devices_.empty() || count < 0 || count > 64)
        return false;
    count_ = count;
    return true;
}

std::string Process::set_device_option(int ordinal, const std::string& option, const std::string& value) {
    Device& target = device(ordinal);
    DeviceOptions options = target.options();
    if (auto wrong = set_option(options, option, value))
        return *wrong;
    target.configure(options);
    return {};
}

std::string Process::last_fault() {
    std::lock_guard lock(mutex_);
    return last_fault_;
}

void Process::keep_fault(const std::string& text) {
    std::lock_guard lock(mutex_);
    last_fault_ = text;
}

} // namespace zyfa::sim::hip
