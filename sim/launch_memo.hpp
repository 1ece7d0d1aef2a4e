// SPDX-License-Identifier: Apache-2.0
// Launches that would change nothing: the same code, arguments and data as an earlier launch whose results
// still lie in memory. Tuning and benchmarking repeat launches thousands of times.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/memory_view.hpp"

namespace zyfa::sim {

class LaunchMemo {
  public:
    explicit LaunchMemo(const Memory& memory) : memory_(memory) {}

    /// The result of the earlier launch, if running this one again would leave every byte as it is: all that
    /// it read is as it was then, and all that it wrote is still as it left it.
    const LaunchResult* find(const Launch& launch);
    /// Remembers a launch that has just ended. Those that read a clock or used more than 4 GiB are not
    /// remembered; those that read what they wrote (atomics, sums in place) once a second launch has left
    /// every byte as it found it.
    void store(const Launch& launch, std::vector<MemoryView::Use> uses, const LaunchResult& result);

  private:
    struct Content {
        std::uint64_t begin = 0, size = 0, serial = 0, hash = 0;
        bool operator==(const Content&) const = default;
    };
    struct Entry {
        std::string key;
        std::weak_ptr<CodeObject> code;
        std::vector<Content> contents;
        LaunchResult result;
        bool settled = true; ///< the launch is known to leave all as it is
        bool again = false;  ///< not settled, and the next launch began with what this one left
    };
    static std::string key_of(const Launch& launch);

    const Memory& memory_;
    std::list<Entry> entries_; ///< most recently used first
};

/// 64-bit hash of bytes, for noticing change (not for adversaries).
std::uint64_t content_hash(const void* data, std::uint64_t size);

} // namespace zyfa::sim
