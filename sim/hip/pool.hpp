// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation: pools, and memory of graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <hip/hip_runtime_api.h>

namespace zyfa::sim::hip {

/// Memory of a pool goes back to the device as soon as its free has run, whatever the release threshold: the
/// simulator gains nothing from keeping it, and a use after free shows.
struct Pool {
    explicit Pool(int owner) : device(owner) {}

    void taken(std::uint64_t bytes);
    void given_back(std::uint64_t bytes);

    const int device;
    std::mutex mutex;
    std::uint64_t limit = 0; ///< bytes; 0: none
    std::uint64_t used = 0, used_high = 0, release_threshold = 0;
    int reuse_event_dependencies = 1, reuse_opportunistic = 1, reuse_internal_dependencies = 1;
};

/// See AllocateOperation.
struct GraphMemory {
    GraphMemory(std::size_t bytes, int device);
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;
    std::uint64_t address = 0;
    std::size_t size = 0;
    int device = 0;
};

/// The live graph memory that begins at an address, or null.
std::shared_ptr<GraphMemory> find_graph_memory(std::uint64_t address);
std::shared_ptr<GraphMemory> make_graph_memory(std::size_t bytes, int device);
std::uint64_t graph_memory_used(int device); ///< bytes

} // namespace zyfa::sim::hip
