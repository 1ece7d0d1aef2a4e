// SPDX-License-Identifier: Apache-2.0
// One simulated MI355X: what it says of itself, its engine, its streams and the worker thread that runs them.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sim/engine.hpp"
#include "sim/hip/stream.hpp"

namespace zyfa::sim::hip {

/// What can be set per device (ZYFA_SIM_OPTIONS, zyfaSimSetDevice).
struct DeviceOptions {
    std::uint64_t seed = 0; ///< order of streams and, in the engine, of workgroups and waves; 0: as enqueued
    double clock_factor = 1.0; ///< of 2.4 GHz
    unsigned threads = 0;      ///< host threads of the engine; 0: all
    std::uint32_t compute_units = 256, xcds = 8;
    std::uint64_t memory = 288ull << 30; ///< bytes, nominal: backed on demand
    double launch_overhead = 5e-6;       ///< seconds per kernel (MGPUSim's MI300A measurements: about 5 us)
    std::string name = "AMD Instinct MI355X";
    double chip_spread = 0; ///< how far this chip's kernel times lie from the model's (chip_factor)
    /// Of the clock under sustained load (clock_under_load): change per second, and share by which it swings.
    double clock_drift = 0, clock_swing = 0;
    std::string driver = "sim", firmware = "sim"; ///< version strings, as a kernel driver would report them
    /// Run on the cycle model, per launch (Launch::timed_workgroups). Nothing: as many as event times need,
    /// once someone has recorded an event.
    std::optional<std::uint32_t> timed_workgroups;
    bool events = false;   ///< keep every instruction of those, for a trace
    bool grid = false;     ///< the grid model instead of results (Launch::grid_model)
    bool sanitize = false; ///< every launch under the sanitizer (sim/sanitizer)
    std::uint64_t wave_quantum = DeviceConfig{}.wave_quantum;
    std::uint64_t instruction_limit = DeviceConfig{}.instruction_limit; ///< of a wave; beyond, it hangs
};

/// Sets one option from text; returns what is wrong, or nothing.
std::optional<std::string> set_option(DeviceOptions& options, const std::string& option,
                                      const std::string& value);

/// Workgroups of a launch on the cycle model where events are recorded: two, since a grid's workgroups may
/// differ in length.
inline constexpr std::uint32_t sampled_workgroups = 2;
/// The clock after so many seconds of load, over what the clock model says: a chip that warms up drifts, and
/// a power control swings with a period near one second, in phase with the start of load.
double clock_under_load(const DeviceOptions& options, double seconds);
/// What a kernel's time is multiplied by on the chip with this seed: between 1 - chip_spread and
/// 1 + chip_spread, drawn from the seed and the code. Chips of one kind differ, and not by the same for every
/// kernel: by 4% in the median, up to 8% (paper Section V).
double chip_factor(const DeviceOptions& options, std::uint64_t code);

inline constexpr double peak_clock_ghz = 2.4; ///< paper Table I
inline constexpr const char* target_name = "gfx950:sramecc+:xnack-";

/// A kernel stopped. Thrown by execute(), kept by the device until it is reset or cleared.
struct DeviceFault {
    hipError_t code;
    std::string text;
};

struct LastLaunch {
    bool ran = false; ///< false: nothing was launched yet
    std::uint64_t instructions = 0;
    double cycles = 0, seconds = 0, clock_ghz = 0, load = 0;
    bool repeated = false;
    std::vector<std::shared_ptr<const timing::TimingReport>> timing; ///< of the timed workgroups
    std::shared_ptr<const timing::GridReport> grid;
    std::shared_ptr<CodeObject> code; ///< for the reports' disassembly; null where there are none
};

class Device {
  public:
    Device(int device_ordinal, DeviceOptions device_options);

    const int ordinal;

    DeviceOptions options() const;
    void configure(const DeviceOptions& options); ///< takes effect with the next launch

    /// Engine for the present options; worker thread only.
    Engine& engine();

    StreamPtr default_stream();
    StreamPtr create_stream(unsigned flags, int priority);
    void destroy_stream(const StreamPtr& stream);

    void join(); ///< at the end of the process

    bool kernels_watched() const;

    /// Throws Failure with the fault's code where the device has faulted.
    void check() const;

    // Guarded by Scheduler's mutex.
    std::vector<StreamPtr> streams; ///< [0] is the default stream
    std::optional<DeviceFault> fault;
    LastLaunch last_launch;
    bool watched = false;                   ///< a timing event was recorded: kernels' times matter
    double compute_free = 0, copy_free = 0; ///< virtual seconds
    std::vector<bool> peers;                ///< peer access enabled from this device

    std::atomic<bool> stop = false; ///< kernels are to end at once (zyfaSimStopKernels)

    unsigned flags = 0;                                         ///< hipSetDeviceFlags
    std::atomic<std::uint32_t> stack_size{Launch{}.stack_size}; ///< hipLimitStackSize, bytes per work-item

  private:
    friend class Scheduler;
    void work();
    std::size_t choose(const std::vector<std::size_t>& runnable);

    DeviceOptions options_;
    std::unique_ptr<Engine> engine_;
    std::uint64_t options_version_ = 0, engine_version_ = 0;
    std::mt19937_64 order_;
    std::thread worker_;
};

} // namespace zyfa::sim::hip
