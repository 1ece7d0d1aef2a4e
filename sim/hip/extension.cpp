// SPDX-License-Identifier: Apache-2.0
// The zyfaSim... functions.
#include "sim/hip/zyfa_sim.h"

#include "sim/hip/process.hpp"
#include "sim/hip/timing_text.hpp"

using namespace zyfa::sim::hip;

namespace {

const char* keep(std::string text) {
    thread_local std::string kept;
    kept = std::move(text);
    return kept.c_str();
}

/// Runs the body and turns HIP's failures into a result, without touching the thread's last HIP error.
template <class Body>
int attempt(Body&& body) {
    try {
        return body() ? 0 : 1;
    } catch (const Failure&) {
        return 1;
    } catch (const std::exception&) {
        return 1;
    }
}

} // namespace

ZYFA_HIP_API const char* zyfaSimVersion(void) {
    return "zyfa-sim " ZYFA_VERSION;
}

ZYFA_HIP_API int zyfaSimSetDeviceCount(int count) {
    return attempt([&] { return Process::get().set_device_count(count); });
}

ZYFA_HIP_API const char* zyfaSimSetDevice(int device, const char* option, const char* value) {
    if (!option || !value)
        return "null option or value";
    try {
        const std::string wrong = Process::get().set_device_option(device, option, value);
        return wrong.empty() ? nullptr : keep(wrong);
    } catch (const Failure& failure) {
        return keep(failure.why.empty() ? error_text(failure.code) : failure.why);
    } catch (const std::exception& error) {
        return keep(error.what());
    }
}

ZYFA_HIP_API const char* zyfaSimDeviceText(int device, const char* option) {
    std::string text;
    const int failed = attempt([&] {
        const DeviceOptions options = Process::get().device(device).options();
        const std::string asked = option ? option : "";
        text = asked == "name"       ? options.name
               : asked == "driver"   ? options.driver
               : asked == "firmware" ? options.firmware
                                     : "";
        return !text.empty();
    });
    return failed ? nullptr : keep(std::move(text));
}

ZYFA_HIP_API const char* zyfaSimLastFault(void) {
    std::string text;
    attempt([&] {
        text = Process::get().last_fault();
        return true;
    });
    return keep(std::move(text));
}

ZYFA_HIP_API int zyfaSimClearFault(int ordinal) {
    return attempt([&] {
        Device& device = Process::get().device(ordinal);
        try {
            synchronize(device); // what was enqueued behind the fault is dropped first
        } catch (const Failure&) {
        }
        std::lock_guard lock(Process::get().scheduler.mutex);
        device.fault.reset();
        return true;
    });
}

ZYFA_HIP_API double zyfaSimClockUnderLoad(int ordinal, double seconds) {
    double clock = 1;
    attempt([&] {
        clock = clock_under_load(Process::get().device(ordinal).options(), seconds);
        return true;
    });
    return clock;
}

ZYFA_HIP_API int zyfaSimStopKernels(int ordinal) {
    return attempt([&] {
        Device& device = Process::get().device(ordinal);
        device.stop = true;
        try {
            synchronize(device);
        } catch (const Failure&) { // the kernel's fault
        }
        device.stop = false;
        return true;
    });
}

namespace {

template <class Text>
const char* timing_text(int ordinal, Text&& text) {
    std::string result;
    const int failed = attempt([&] {
        LastLaunch launch;
        {
            Device& device = Process::get().device(ordinal);
            std::lock_guard lock(Process::get().scheduler.mutex);
            launch = device.last_launch;
        }
        if (launch.timing.empty())
            return false;
        result = text(launch);
        return true;
    });
    return failed ? nullptr : keep(std::move(result));
}

} // namespace

ZYFA_HIP_API const char* zyfaSimLastTiming(int device, int instructions) {
    return timing_text(device,
                       [&](const LastLaunch& launch) { return timing_json(launch, instructions != 0); });
}

ZYFA_HIP_API const char* zyfaSimLastTrace(int device) {
    return timing_text(device, [](const LastLaunch& launch) { return perfetto_trace(launch); });
}

ZYFA_HIP_API const char* zyfaSimLastGrid(int device) {
    return timing_text(device, [](const LastLaunch& launch) {
        return launch.grid ? grid_json(launch) : std::string("null");
    });
}

ZYFA_HIP_API const char* zyfaSimLastPicture(int device, long long begin, unsigned long long cycles) {
    return timing_text(device, [&](const LastLaunch& launch) { return picture(launch, begin, cycles); });
}

ZYFA_HIP_API const char* zyfaSimLastListing(int device) {
    return timing_text(device, [](const LastLaunch& launch) { return listing(launch); });
}

ZYFA_HIP_API int zyfaSimReadTelemetry(int ordinal, zyfaSimTelemetry* telemetry) {
    return attempt([&] {
        Device& device = Process::get().device(ordinal);
        const double maximum = peak_clock_ghz * device.options().clock_factor;
        std::lock_guard lock(Process::get().scheduler.mutex);
        const LastLaunch& last = device.last_launch;
        if (!telemetry || !last.ran)
            return false;
        *telemetry = {last.clock_ghz, maximum, last.load, last.repeated ? 1 : 0};
        return true;
    });
}

ZYFA_HIP_API int zyfaSimLastLaunch(int ordinal, zyfaSimLaunch* launch) {
    return attempt([&] {
        Device& device = Process::get().device(ordinal);
        std::lock_guard lock(Process::get().scheduler.mutex);
        if (!launch || !device.last_launch.ran)
            return false;
        *launch = {device.last_launch.instructions, device.last_launch.cycles, device.last_launch.seconds};
        return true;
    });
}

ZYFA_HIP_API const char* zyfaSimSanitizerReport(int json, int strict) {
    std::string text;
    const int failed = attempt([&] {
        const SanitizerLog& log = Process::get().sanitizer;
        if (log.launches() == 0)
            return false;
        text = json != 0 ? log.json(strict != 0) : log.text(strict != 0);
        return true;
    });
    return failed ? nullptr : keep(std::move(text));
}

ZYFA_HIP_API uint64_t zyfaSimSanitizerErrors(int strict) {
    uint64_t count = 0;
    attempt([&] {
        count = Process::get().sanitizer.errors(strict != 0);
        return true;
    });
    return count;
}

ZYFA_HIP_API void zyfaSimSanitizerClear(void) {
    attempt([] {
        Process::get().sanitizer.clear();
        return true;
    });
}
