// SPDX-License-Identifier: Apache-2.0
// The seam under every timing protocol: something that runs blocks of back-to-back launches of candidates and
// says how long each took. A GPU, the simulator and recorded traces stand behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zyfa::tuner {

/// Consecutive launches between two time stamps of the device.
struct LaunchSample {
    double start_ms = 0;        ///< since the device was opened; idle time counts
    double ms = 0;              ///< device time per launch
    std::uint32_t launches = 1; ///< that `ms` is the mean of
};

/// What telemetry said at one moment. Zero: not known.
struct ClockReading {
    double clock_ghz = 0; ///< of the slowest chiplet (paper Section V-C)
    double power_w = 0, temperature_c = 0;
    std::uint64_t throttle = 0;    ///< throttle status bits, 0 where none is set
    std::uint32_t other_users = 0; ///< processes beside this one that hold memory of the GPU
};

/// Back-to-back launches of one candidate: `launches` of them, or as many as fill `ms` of device time.
struct BlockRequest {
    std::size_t candidate = 0;
    double ms = 0;
    std::uint32_t launches = 0;
};

struct TimedBlock {
    std::size_t candidate = 0;
    std::vector<LaunchSample> samples; ///< in order of time, at least one
    std::vector<ClockReading> readings;
};

class ClockedDevice {
  public:
    virtual ~ClockedDevice() = default;
    /// Lets the device rest.
    virtual void idle(double seconds) = 0;
    /// Runs the blocks in order, without a gap between them. Throws Error{device_error}.
    virtual std::vector<TimedBlock> run(std::span<const BlockRequest> requests) = 0;
};

/// Mean device milliseconds per launch over the part of a block that starts `skip_ms` after its first launch;
/// over its last sample where nothing is left.
double mean_ms(const TimedBlock& block, double skip_ms = 0);
std::uint32_t launches_of(const TimedBlock& block);
/// Device time of the block's launches.
double busy_ms(const TimedBlock& block);

} // namespace zyfa::tuner
