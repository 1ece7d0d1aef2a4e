// SPDX-License-Identifier: Apache-2.0
// amd-smi by dlopen; the layouts are those of its public header amdsmi.h (ROCm/amdsmi).
#include "tuner/telemetry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "sim/hip/zyfa_sim.h"

namespace zyfa::tuner {

namespace {

class SimulatorTelemetry : public Telemetry {
  public:
    using ReadFunction = decltype(&zyfaSimReadTelemetry);
    SimulatorTelemetry(ReadFunction function, int device) : read_(function), device_(device) {}
    ClockReading read() override {
        ClockReading reading;
        zyfaSimTelemetry answer{};
        if (read_(device_, &answer) == 0)
            reading.clock_ghz = answer.shader_clock_ghz;
        return reading;
    }
    std::string source() const override { return "simulator"; }

  private:
    ReadFunction read_;
    int device_;
};

/// Layout of amdsmi_gpu_metrics_t up to its shader clocks. The structure has grown at its end from release to
/// release; the library is given more room than any of them takes.
struct GpuMetrics {
    std::uint16_t structure_size;
    std::uint8_t format_revision, content_revision;
    std::uint16_t temperature_edge, temperature_hotspot, temperature_memory, temperature_vr[3];
    std::uint16_t activity[3];
    std::uint16_t average_socket_power;
    std::uint64_t energy_accumulator, system_clock_counter;
    std::uint16_t average_clocks[7];
    std::uint16_t current_gfxclk, current_clocks[6];
    std::uint32_t throttle_status;
    std::uint16_t current_fan_speed, pcie_link_width, pcie_link_speed;
    std::uint32_t gfx_activity, memory_activity;
    std::uint16_t temperature_hbm[4];
    std::uint64_t firmware_timestamp;
    std::uint16_t voltages[3];
    std::uint64_t independent_throttle_status;
    std::uint16_t current_socket_power, vcn_activity[4];
    std::uint32_t gfxclk_lock_status;
    std::uint16_t xgmi_link_width, xgmi_link_speed;
    std::uint64_t pcie_counts[5], xgmi_read[8], xgmi_write[8];
    std::uint16_t current_gfxclks[8];
};

class AmdSmi : public Telemetry {
  public:
    static std::unique_ptr<Telemetry> open(const std::string& pci, std::string& why) {
        auto smi = std::unique_ptr<AmdSmi>(new AmdSmi);
        why = smi->start(pci);
        return why.empty() ? std::move(smi) : nullptr;
    }

    ~AmdSmi() override {
        if (started_)
            call<int (*)()>("amdsmi_shut_down")();
        if (library_)
            dlclose(library_);
    }

    ClockReading read() override {
        ClockReading reading;
        std::vector<std::byte> room(1 << 16);
        const auto get_metrics = call<int (*)(void*, void*)>("amdsmi_get_gpu_metrics_info");
        if (get_metrics && get_metrics(gpu_, room.data()) == 0) {
            GpuMetrics metrics;
            std::memcpy(&metrics, room.data(), sizeof metrics);
            take(metrics, reading);
        }
        reading.other_users = other_processes();
        return reading;
    }

    std::string source() const override { return "amd-smi"; }

  private:
    template <class Function>
    Function call(const char* name) const {
        return reinterpret_cast<Function>(dlsym(library_, name));
    }

    std::string start(const std::string& pci) {
        for (const char* name : {"libamd_smi.so", "/opt/rocm/lib/libamd_smi.so"})
            if (!library_)
                library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library_)
            return "libamd_smi.so was not found";
        const auto init = call<int (*)(std::uint64_t)>("amdsmi_init");
        const auto find = call<int (*)(std::uint64_t, void**)>("amdsmi_get_processor_handle_from_bdf");
        constexpr std::uint64_t gpus = 1 << 1; // AMDSMI_INIT_AMD_GPUS
        if (!init || !find || !call<int (*)()>("amdsmi_shut_down") || init(gpus) != 0)
            return "libamd_smi.so does not start";
        started_ = true;
        unsigned domain = 0, bus = 0, unit = 0, function = 0;
        if (std::sscanf(pci.c_str(), "%x:%x:%x.%x", &domain, &bus, &unit, &function) != 4)
            return "the device has no PCI address";
        // amdsmi_bdf_t: function 3 bits, device 5, bus 8, domain 48.
        const std::uint64_t bdf = (function & 7U) | (unit & 31U) << 3 | (bus & 255U) << 8 |
                                  static_cast<std::uint64_t>(domain) << 16;
        if (find(bdf, &gpu_) != 0)
            return "amd-smi does not know the device at " + pci;
        return {};
    }

    static void take(const GpuMetrics& metrics, ClockReading& reading) {
        const auto known = [](std::uint16_t value) { return value != 0 && value != 0xffff; };
        const auto clock = [&](std::uint16_t mhz) {
            if (known(mhz) && mhz < 5000) // a plausible clock; guards against a layout of another release
                reading.clock_ghz =
                    reading.clock_ghz > 0 ? std::min(reading.clock_ghz, mhz * 1e-3) : mhz * 1e-3;
        };
        for (const std::uint16_t mhz : metrics.current_gfxclks)
            clock(mhz);
        if (reading.clock_ghz == 0)
            clock(metrics.current_gfxclk);
        if (known(metrics.current_socket_power))
            reading.power_w = metrics.current_socket_power;
        else if (known(metrics.average_socket_power))
            reading.power_w = metrics.average_socket_power;
        if (known(metrics.temperature_hotspot))
            reading.temperature_c = metrics.temperature_hotspot;
        if (metrics.independent_throttle_status != ~std::uint64_t{0})
            reading.throttle = metrics.independent_throttle_status;
    }

    std::uint32_t other_processes() const {
        const auto get = call<int (*)(void*, std::uint32_t*, void*)>("amdsmi_get_gpu_process_list");
        std::uint32_t count =
            0; // asks for the number alone; this process is one of them once it uses the GPU
        if (!get || get(gpu_, &count, nullptr) != 0)
            return 0;
        return count > 1 ? count - 1 : 0;
    }

    void* library_ = nullptr;
    void* gpu_ = nullptr;
    bool started_ = false;
};

} // namespace

std::unique_ptr<Telemetry> open_telemetry(const std::shared_ptr<runtime::Runtime>& runtime,
                                          const runtime::DeviceInfo& device, std::string& why) {
    if (runtime->simulated()) {
        if (void* read = runtime->extension("zyfaSimReadTelemetry"))
            return std::make_unique<SimulatorTelemetry>(
                reinterpret_cast<SimulatorTelemetry::ReadFunction>(read), device.ordinal);
        why = "the simulator has no telemetry";
        return nullptr;
    }
    return AmdSmi::open(device.pci, why);
}

} // namespace zyfa::tuner
