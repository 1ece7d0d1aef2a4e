// SPDX-License-Identifier: Apache-2.0
// A device's options, its engine, and the worker thread that runs its streams.
#include "sim/hip/device.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

template <class Number>
bool parse(const std::string& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

bool parse_timed(const std::string& text, std::optional<std::uint32_t>& count) {
    if (text == "auto") {
        count.reset();
        return true;
    }
    std::uint32_t number = 0;
    if (!parse(text, number) || number > 65536)
        return false;
    count = number;
    return true;
}

} // namespace

std::optional<std::string> set_option(DeviceOptions& options, const std::string& option,
                                      const std::string& value) {
    double number = 0;
    DeviceOptions changed = options;
    bool good = false;
    if (option == "seed")
        good = parse(value, changed.seed);
    else if (option == "clock_factor")
        good = parse(value, changed.clock_factor) && changed.clock_factor > 0 && changed.clock_factor <= 4;
    else if (option == "threads")
        good = parse(value, changed.threads) && changed.threads <= 1024;
    else if (option == "compute_units")
        good =
            parse(value, changed.compute_units) && changed.compute_units > 0 && changed.compute_units <= 1024;
    else if (option == "xcds")
        good = parse(value, changed.xcds) && changed.xcds > 0 && changed.xcds <= 64;
    else if (option == "memory")
        good = parse(value, changed.memory) && changed.memory > 0;
    else if (option == "timed_workgroups")
        good = parse_timed(value, changed.timed_workgroups);
    else if (option == "wave_quantum")
        good = parse(value, changed.wave_quantum) && changed.wave_quantum > 0;
    else if (option == "instruction_limit")
        good = parse(value, changed.instruction_limit) && changed.instruction_limit > 0;
    else if (option == "events") {
        good = value == "0" || value == "1";
        changed.events = value == "1";
    } else if (option == "sanitize") {
        good = value == "0" || value == "1";
        changed.sanitize = value == "1";
    } else if (option == "grid") {
        good = value == "0" || value == "1";
        changed.grid = value == "1";
    } else if (option == "launch_overhead_us") {
        good = parse(value, number) && number >= 0;
        changed.launch_overhead = number * 1e-6;
    } else if (option == "clock_drift") {
        good = parse(value, changed.clock_drift) && std::abs(changed.clock_drift) <= 0.1;
    } else if (option == "clock_swing") {
        good = parse(value, changed.clock_swing) && changed.clock_swing >= 0 && changed.clock_swing < 0.5;
    } else if (option == "chip_spread") {
        good = parse(value, changed.chip_spread) && changed.chip_spread >= 0 && changed.chip_spread < 1;
    } else if (option == "name" || option == "driver" || option == "firmware") {
        good = !value.empty() && value.size() < 256;
        (option == "name" ? changed.name : option == "driver" ? changed.driver : changed.firmware) = value;
    } else {
        return "unknown option; there are seed, clock_factor, clock_drift, clock_swing, threads, "
               "compute_units, xcds, memory, "
               "launch_overhead_us, chip_spread, timed_workgroups, events, grid, sanitize, wave_quantum, "
               "instruction_limit, "
               "name, driver, "
               "firmware";
    }
    if (!good)
        return "value '" + value + "' is not accepted";
    options = changed;
    return std::nullopt;
}

double clock_under_load(const DeviceOptions& options, double seconds) {
    const double drifted = std::clamp(1 + options.clock_drift * seconds, 0.5, 2.0);
    return drifted * (1 + options.clock_swing * std::cos(2 * std::numbers::pi * seconds));
}

double chip_factor(const DeviceOptions& options, std::uint64_t code) {
    if (options.chip_spread == 0)
        return 1;
    // Two rounds of the finaliser of MurmurHash3, so that seeds and codes that lie close give unlike factors.
    std::uint64_t hash = code ^ (options.seed * 0x9e3779b97f4a7c15);
    for (int round = 0; round < 2; ++round) {
        hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
        hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
    }
    const double uniform = static_cast<double>(hash >> 11) * 0x1p-53; // in [0, 1)
    return 1 + options.chip_spread * (2 * uniform - 1);
}

Device::Device(int device_ordinal, DeviceOptions device_options)
    : ordinal(device_ordinal), options_(std::move(device_options)), order_(options_.seed) {
    streams.push_back(std::make_shared<Stream>(*this, hipStreamDefault, 0, 0));
}

DeviceOptions Device::options() const {
    std::lock_guard lock(Process::get().scheduler.mutex);
    return options_;
}

void Device::configure(const DeviceOptions& options) {
    std::lock_guard lock(Process::get().scheduler.mutex);
    if (options.sanitize)
        Process::get().memory.track_initialisation();
    if (options.seed != options_.seed)
        order_.seed(options.seed);
    options_ = options;
    ++options_version_;
}

bool Device::kernels_watched() const {
    std::lock_guard lock(Process::get().scheduler.mutex);
    return watched;
}

Engine& Device::engine() {
    DeviceConfig config;
    std::uint64_t version = 0;
    {
        std::lock_guard lock(Process::get().scheduler.mutex);
        version = options_version_;
        config.ordinal = ordinal;
        config.compute_units = options_.compute_units;
        config.xcds = options_.xcds;
        config.clock_ghz = peak_clock_ghz * options_.clock_factor;
        config.seed = options_.seed;
        config.wave_quantum = options_.wave_quantum;
        config.threads = options_.threads;
        config.instruction_limit = options_.instruction_limit;
        config.stop = &stop;
    }
    if (!engine_ || engine_version_ != version) {
        engine_.reset();
        engine_ = std::make_unique<Engine>(Process::get().memory, config);
        engine_version_ = version;
    }
    return *engine_;
}

StreamPtr Device::default_stream() {
    std::lock_guard lock(Process::get().scheduler.mutex);
    return streams.front();
}

StreamPtr Device::create_stream(unsigned stream_flags, int priority) {
    auto& scheduler = Process::get().scheduler;
    std::lock_guard lock(scheduler.mutex);
    auto stream = std::make_shared<Stream>(*this, stream_flags, priority, ++scheduler.stream_id);
    stream->time = scheduler.host_time;
    streams.push_back(stream);
    return stream;
}

void Device::destroy_stream(const StreamPtr& stream) {
    std::lock_guard lock(Process::get().scheduler.mutex);
    stream->destroyed = true;
    if (stream->queue.empty() && (!stream->last || stream->last->done))
        std::erase(streams, stream);
}

void Device::check() const {
    std::lock_guard lock(Process::get().scheduler.mutex);
    if (fault)
        fail(fault->code, "the device has faulted");
}

void Device::join() {
    if (worker_.joinable())
        worker_.join();
}

std::size_t Device::choose(const std::vector<std::size_t>& runnable) {
    if (options_.seed != 0)
        return runnable[order_() % runnable.size()];
    return *std::min_element(runnable.begin(), runnable.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(streams[a]->priority, streams[a]->queue.front().serial) <
               std::pair(streams[b]->priority, streams[b]->queue.front().serial);
    });
}

void Device::work() {
    Scheduler& scheduler = Process::get().scheduler;
    std::unique_lock lock(scheduler.mutex);
    std::vector<std::size_t> runnable;
    for (;;) {
        if (scheduler.stopping)
            return;
        bool polling = false;
        runnable.clear();
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (streams[i]->queue.empty())
                continue;
            const Command& head = streams[i]->queue.front();
            if (!std::all_of(head.after.begin(), head.after.end(), [](auto& c) { return c->done; }))
                continue;
            if (fault || ready(head.operation))
                runnable.push_back(i);
            else
                polling = true;
        }
        if (runnable.empty()) {
            // A value in memory changes without notice.
            if (polling)
                scheduler.changed.wait_for(lock, std::chrono::microseconds(200));
            else
                scheduler.changed.wait(lock);
            continue;
        }

        const StreamPtr stream = streams[choose(runnable)];
        const Command command = std::move(stream->queue.front());
        stream->queue.pop_front();
        double begin = std::max(stream->time, command.host_time);
        for (const auto& before : command.after)
            begin = std::max(begin, before->end);
        const bool dead = fault && !std::holds_alternative<HostOperation>(command.operation);

        Cost cost;
        std::optional<DeviceFault> stopped;
        if (!dead) {
            lock.unlock();
            try {
                cost = execute(*this, command.operation);
            } catch (const DeviceFault& found) {
                stopped = found;
            } catch (const std::exception& error) {
                stopped = DeviceFault{hipErrorUnknown, error.what()};
            }
            if (stopped) {
                std::fprintf(stderr, "zyfa-sim: device %d: %s\n", ordinal, stopped->text.c_str());
                Process::get().keep_fault(stopped->text);
            }
            lock.lock();
        }

        if (stopped && !fault)
            fault = stopped;
        if (cost.unit != Cost::Unit::none) {
            double& free = cost.unit == Cost::Unit::compute ? compute_free : copy_free;
            begin = std::max(begin, free);
            free = begin + cost.seconds;
        }
        command.completion->begin = begin;
        command.completion->end = stream->time = begin + cost.seconds;
        command.completion->done = true;
        if (stream->destroyed && stream->queue.empty())
            std::erase(streams, stream);
        scheduler.changed.notify_all();
    }
}

void Scheduler::start(Device& device) {
    if (!device.worker_.joinable())
        device.worker_ = std::thread([&device] { device.work(); });
}

void Scheduler::wait(std::unique_lock<std::mutex>& lock, const CompletionPtr& completion) {
    changed.wait(lock, [&] { return completion->done || stopping; });
    host_time = std::max(host_time, completion->end);
}

} // namespace zyfa::sim::hip
