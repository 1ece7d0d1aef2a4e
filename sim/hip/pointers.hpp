// SPDX-License-Identifier: Apache-2.0
// What the library knows of a pointer: the engine's allocation, and what HIP keeps beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/engine.hpp"

namespace zyfa::sim::hip {

inline std::uint64_t address_of(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

struct Pool;
class File;
class FileMapping;

/// Beyond the engine's Allocation.
struct PointerNotes {
    unsigned flags = 0;      ///< of hipHostMalloc, hipExtMallocWithFlags, hipMallocManaged, hipHostRegister
    bool registered = false; ///< hipHostRegister
    std::shared_ptr<Pool> pool; ///< that it came from
    bool freeing = false;       ///< a stream-ordered free of it is on its way
    bool variable = false;      ///< belongs to a code object or the library; not the caller's to free
    std::shared_ptr<const FileMapping> mapping; ///< that it lies in
    bool of_other_process = false;              ///< hipIpcOpenMemHandle: not for hipFree
    std::shared_ptr<const File> shared;         ///< hipIpcGetMemHandle: its bytes, for other processes
};

void note(std::uint64_t base, const PointerNotes& notes);
PointerNotes notes_of(std::uint64_t base);
void forget(std::uint64_t base);

struct Located {
    std::optional<Allocation> allocation; ///< none: pageable host memory
    bool on_device() const {
        return allocation &&
               (allocation->kind == AllocationKind::device || allocation->kind == AllocationKind::code);
    }
    bool pageable() const { return !allocation; }
};

/// Throws Failure{hipErrorInvalidValue} where the range leaves its allocation or lies in a freed one.
Located locate(std::uint64_t address, std::uint64_t bytes);

/// Allocates on the current device and notes; 0 bytes gives null. Throws Failure{hipErrorOutOfMemory}.
void* allocate(std::size_t bytes, AllocationKind kind, int device, const PointerNotes& notes);

/// Waits for the device, then releases. Throws Failure{hipErrorInvalidValue} where no allocation begins
/// there.
void release(void* pointer);

/// Releases at once, with the accounts of its pool. Nothing happens where no allocation begins there.
void release_now(std::uint64_t address);

/// Ends what hipIpcGetMemHandle began, for whoever gets the addresses next; the bytes are lost.
void unshare(std::uint64_t address, std::uint64_t bytes);

} // namespace zyfa::sim::hip
