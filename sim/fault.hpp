// SPDX-License-Identifier: Apache-2.0
// What stops a launch: thrown by handlers, completed with kernel, PC and wave by the engine.
#pragma once

#include <cstdint>
#include <string>

namespace zyfa::sim {

class Memory;

struct FaultError {
    std::string kind, detail;
    int lane = -1; ///< -1: the whole wave
    /// Raised between instructions (a hang): the PC is the one that would come next, not the last one.
    bool between_instructions = false;
};

[[noreturn]] void fault(std::string kind, std::string detail, int lane = -1);
/// An access of `bytes` at `address` outside every live allocation; `what`: "load", "store", "atomic", ...
[[noreturn]] void memory_fault(const Memory& memory, const char* what, std::uint64_t address, unsigned bytes,
                               int lane);
/// An access of LDS or scratch beyond the `limit` bytes that are there.
[[noreturn]] void range_fault(const char* kind, const char* what, std::uint64_t offset, unsigned bytes,
                              std::uint64_t limit, int lane);
std::string hexadecimal(std::uint64_t value);

} // namespace zyfa::sim
