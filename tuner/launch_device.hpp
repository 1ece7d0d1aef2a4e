// SPDX-License-Identifier: Apache-2.0
// The clocked device that really launches: blocks of candidates on a HIP stream, timed by events.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/runtime.hpp"
#include "tuner/clocked_device.hpp"
#include "tuner/telemetry.hpp"

namespace zyfa::tuner {

/// Launches are enqueued in chunks of about `chunk_ms` with an event between them, `chunks_ahead` chunks
/// ahead of what has finished, over the limits of blocks too: the device never waits for the host. On the
/// simulator, whose times are computed and the same for every launch of a candidate, each candidate is
/// launched once and its block consists of that time.
class LaunchDevice : public ClockedDevice {
  public:
    using Launch = std::function<void(void* stream)>;
    struct Limits {
        double chunk_ms = 10;
        std::size_t chunks_ahead = 6;
        std::uint32_t most_launches_per_chunk = 2000;
    };

    /// `telemetry` may be null and outlives the device, as do runtime and stream.
    LaunchDevice(std::shared_ptr<runtime::Runtime> runtime, int device, const runtime::Stream& stream,
                 std::vector<Launch> candidates, Telemetry* telemetry, const Limits& limits);

    void idle(double seconds) override;
    std::vector<TimedBlock> run(std::span<const BlockRequest> requests) override;

  private:
    struct Chunk {
        std::size_t block;
        std::uint32_t launches;
        std::unique_ptr<runtime::Event> end;
    };
    std::vector<TimedBlock> run_simulated(std::span<const BlockRequest> requests);
    double clock_under_load() const; ///< of the simulator, now
    double launch_ms(std::size_t candidate);
    void enqueue(std::size_t block, std::size_t candidate, std::uint32_t launches);
    void finish_one(std::vector<TimedBlock>& blocks);
    void read_telemetry(TimedBlock& block);

    std::shared_ptr<runtime::Runtime> runtime_;
    int device_;
    const runtime::Stream& stream_;
    std::vector<Launch> candidates_;
    Telemetry* telemetry_;
    Limits limits_;
    std::vector<double> known_ms_; ///< last time per launch of each candidate; 0: none yet
    std::vector<Chunk> in_flight_;
    std::unique_ptr<runtime::Event> last_end_;
    double now_ms_ = 0, read_at_ms_ = -1;
};

} // namespace zyfa::tuner
