// SPDX-License-Identifier: Apache-2.0
// Chunks in flight and their times.
#include "tuner/launch_device.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "tuner/timing.hpp"

namespace zyfa::tuner {

namespace {

/// Time between two readings of telemetry; amd-smi refreshes its table about every 1 to 10 ms.
constexpr double reading_every_ms = 50;

} // namespace

LaunchDevice::LaunchDevice(std::shared_ptr<runtime::Runtime> runtime, int device,
                           const runtime::Stream& stream, std::vector<Launch> candidates,
                           Telemetry* telemetry, const Limits& limits)
    : runtime_(std::move(runtime)), device_(device), stream_(stream), candidates_(std::move(candidates)),
      telemetry_(telemetry), limits_(limits), known_ms_(candidates_.size(), 0.0) {}

void LaunchDevice::idle(double seconds) {
    if (!runtime_->simulated())
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    now_ms_ += 1e3 * seconds;
}

double LaunchDevice::launch_ms(std::size_t candidate) {
    double& ms = known_ms_.at(candidate);
    if (ms <= 0)
        ms = event_ms(runtime_, device_, stream_, 1, candidates_[candidate]);
    return ms;
}

void LaunchDevice::read_telemetry(TimedBlock& block) {
    if (!telemetry_ || (read_at_ms_ >= 0 && now_ms_ < read_at_ms_ + reading_every_ms))
        return;
    block.readings.push_back(telemetry_->read());
    block.readings.back().clock_ghz *= clock_under_load();
    read_at_ms_ = now_ms_;
}

double LaunchDevice::clock_under_load() const {
    using Ask = double (*)(int device, double seconds);
    static constexpr const char* name = "zyfaSimClockUnderLoad";
    const auto ask = runtime_->simulated() ? reinterpret_cast<Ask>(runtime_->extension(name)) : nullptr;
    return ask ? ask(device_, 1e-3 * now_ms_) : 1;
}

std::vector<TimedBlock> LaunchDevice::run_simulated(std::span<const BlockRequest> requests) {
    std::vector<TimedBlock> blocks;
    for (const BlockRequest& request : requests) {
        const double computed_ms = launch_ms(request.candidate);
        TimedBlock& block = blocks.emplace_back();
        block.candidate = request.candidate;
        const double total = request.launches ? request.launches * computed_ms : request.ms;
        // Samples as coarse as a GPU's chunks; a slow kernel's are single launches.
        const double step = std::max(computed_ms, std::max(limits_.chunk_ms, total / 1000));
        std::uint32_t launched = 0;
        for (double done = 0;
             request.launches ? launched < request.launches : done < total || launched == 0;) {
            const double ms = computed_ms / clock_under_load();
            const double left = request.launches ? step : std::max(total - done, ms);
            auto launches = static_cast<std::uint32_t>(std::max(1.0, std::round(std::min(step, left) / ms)));
            if (request.launches)
                launches = std::min(launches, request.launches - launched);
            block.samples.push_back({now_ms_, ms, launches});
            launched += launches;
            done += launches * ms;
            now_ms_ += launches * ms;
        }
        read_telemetry(block);
    }
    return blocks;
}

void LaunchDevice::enqueue(std::size_t block, std::size_t candidate, std::uint32_t launches) {
    for (std::uint32_t i = 0; i < launches; ++i)
        candidates_[candidate](stream_.handle());
    in_flight_.push_back({block, launches, std::make_unique<runtime::Event>(runtime_, device_)});
    in_flight_.back().end->record(stream_.handle());
}

void LaunchDevice::finish_one(std::vector<TimedBlock>& blocks) {
    Chunk chunk = std::move(in_flight_.front());
    in_flight_.erase(in_flight_.begin());
    chunk.end->synchronize();
    const double ms = runtime::Event::elapsed_ms(*last_end_, *chunk.end) / chunk.launches;
    TimedBlock& block = blocks[chunk.block];
    block.samples.push_back({now_ms_, ms, chunk.launches});
    now_ms_ += ms * chunk.launches;
    if (ms > 0)
        known_ms_[block.candidate] = ms;
    last_end_ = std::move(chunk.end);
    read_telemetry(block);
}

std::vector<TimedBlock> LaunchDevice::run(std::span<const BlockRequest> requests) {
    if (runtime_->simulated())
        return run_simulated(requests);
    std::vector<TimedBlock> blocks(requests.size());
    for (const BlockRequest& request : requests)
        launch_ms(request.candidate);
    last_end_ = std::make_unique<runtime::Event>(runtime_, device_);
    last_end_->record(stream_.handle());
    for (std::size_t b = 0; b < requests.size(); ++b) {
        const BlockRequest& request = requests[b];
        blocks[b].candidate = request.candidate;
        double enqueued_ms = 0;
        std::uint32_t enqueued = 0;
        while (request.launches ? enqueued < request.launches : enqueued_ms < request.ms || enqueued == 0) {
            const double ms = launch_ms(request.candidate);
            std::uint32_t launches = launches_for(limits_.chunk_ms, ms, limits_.most_launches_per_chunk);
            if (request.launches)
                launches = std::min(launches, request.launches - enqueued);
            enqueue(b, request.candidate, launches);
            enqueued += launches;
            enqueued_ms += launches * ms;
            while (in_flight_.size() > limits_.chunks_ahead)
                finish_one(blocks);
        }
    }
    while (!in_flight_.empty())
        finish_one(blocks);
    return blocks;
}

} // namespace zyfa::tuner
