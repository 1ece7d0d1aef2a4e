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

/// An access to what is not there: outside every live allocation, or beyond the workgroup's LDS or the lane's
/// scratch.
struct OutOfBounds {
    enum class Space : std::uint8_t { global, lds, scratch } space = Space::global;
    const char* what = "";     ///< "load", "store", "atomic", ...
    std::uint64_t address = 0; ///< LDS, scratch: byte offset
    unsigned bytes = 0;
    int lane = -1;           ///< -1: the whole wave's
    std::uint64_t limit = 0; ///< LDS, scratch: bytes that are there

    const char* kind() const noexcept; ///< "global memory fault", ...; one pointer per space
    std::string describe(const Memory& memory) const;
};
std::string hexadecimal(std::uint64_t value);

} // namespace zyfa::sim
