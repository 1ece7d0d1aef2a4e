// SPDX-License-Identifier: Apache-2.0
// One worker: one process on one GPU that takes tasks until none is left for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sweep/measure.hpp"
#include "sweep/place.hpp"

namespace zyfa::sweep {

struct WorkerOptions {
    std::string folder;
    std::string device = "auto", hip_library, comgr_library; ///< as a context takes them
    Place place;
    LayerLoader layer;
    bool retry = false;                               ///< tasks that failed before are tried again
    std::function<bool()> stopped;                    ///< asked often: true ends the work soon
    std::function<void(const std::string& line)> say; ///< for people: one line per task and event
};

struct WorkerReport {
    std::string id;
    std::uint64_t done = 0, failed = 0;
    enum class End : std::uint8_t { finished, stopped, device_lost } end = End::finished;
};

/// Works. Throws Error{no_device, assemble_failed, io_error} where it cannot begin, and Error{io_error} where
/// the folder is lost.
WorkerReport run_worker(const WorkerOptions& options);

} // namespace zyfa::sweep
