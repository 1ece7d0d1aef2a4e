// SPDX-License-Identifier: Apache-2.0
// The counters of calls whose keys are split: device memory that is 0 between launches (each launch leaves it
// so) and that no two launches under way share. Launches on one stream follow one another, so each stream has
// a run of counters of its own, set to 0 once, in the stream's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/runtime.hpp"

namespace zyfa::call {

class PartCounters {
  public:
    PartCounters() = default;
    ~PartCounters();
    PartCounters(const PartCounters&) = delete;
    PartCounters& operator=(const PartCounters&) = delete;

    /// Counters for the next launch on `stream` of `device`; null where the stream cannot have any of its
    /// own: while it captures (what is captured may be replayed on any stream, at any time), where the HIP
    /// library does not tell streams apart, or beyond the first `most_streams` streams. The caller then
    /// clears counters in the launch's own memory. Throws Error{device_error}.
    void* of(const runtime::Runtime& runtime, int device, void* stream, std::size_t bytes);
    /// A launch on the stream has failed, and may have left anything.
    void forget(const runtime::Runtime& runtime, int device, void* stream) noexcept;

    static constexpr std::size_t most_streams = 64;

  private:
    struct Run {
        int device = 0;
        std::uint64_t stream = 0; ///< its id
        void* data = nullptr;
        std::size_t bytes = 0;
    };

    std::mutex lock_;
    std::vector<Run> runs_, outgrown_;
    const runtime::Runtime* runtime_ = nullptr; ///< of whoever asked; outlives this
};

} // namespace zyfa::call
