// SPDX-License-Identifier: Apache-2.0
// Memory of other owners by file descriptor: what hipMemExportToShareableHandle gives, here or in another
// process, or any other file that can be mapped. Semaphores cannot be imported: HIP's back end for ROCm has
// none (clr 6.3, rocdevice.hpp: importExtSemaphore answers false), and says hipErrorNotSupported.
#include <fcntl.h>

#include "sim/hip/graph.hpp"
#include "sim/hip/mapped_file.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

struct ExternalMemory {
    std::shared_ptr<const File> file;
    std::uint64_t size;
};
Handles<ExternalMemory>& external_memories() {
    static auto* all = new Handles<ExternalMemory>;
    return *all;
}

void check_semaphores(const hipExternalSemaphore_t* semaphores, const void* parameters, unsigned count,
                      hipStream_t stream) {
    require(semaphores && parameters, hipErrorInvalidValue, "null list");
    try {
        static_cast<void>(resolve_stream(stream));
    } catch (const Failure& failure) {
        fail(hipErrorInvalidValue, failure.why);
    }
    require(count == 0, hipErrorInvalidValue, "no such semaphore: none can be imported");
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipImportExternalMemory(hipExternalMemory_t* memory, const hipExternalMemoryHandleDesc* desc) {
    return api("hipImportExternalMemory", [&] {
        require(memory && desc, hipErrorInvalidValue, "null pointer");
        require((desc->flags == 0 || desc->flags == hipExternalMemoryDedicated) && desc->size != 0,
                hipErrorInvalidValue, "flags, or no bytes");
        require(desc->type >= hipExternalMemoryHandleTypeOpaqueFd &&
                    desc->type <= hipExternalMemoryHandleTypeD3D11ResourceKmt,
                hipErrorInvalidValue, "handle type");
        // The descriptor stays the caller's. What cannot be mapped is HIP's hipErrorOutOfMemory.
        const int fd = fcntl(desc->handle.fd, F_DUPFD_CLOEXEC, 0);
        require(fd >= 0, hipErrorOutOfMemory, "not a file descriptor");
        auto file = std::make_shared<const File>(fd);
        require(file->size() >= desc->size, hipErrorOutOfMemory, "the file is smaller than the memory");
        map_file(file, 0, desc->size).reset(); // can it be mapped?
        *memory = external_memories().insert(
            std::make_shared<ExternalMemory>(ExternalMemory{std::move(file), desc->size}));
    });
}

hipError_t hipExternalMemoryGetMappedBuffer(void** pointer, hipExternalMemory_t handle,
                                            const hipExternalMemoryBufferDesc* desc) {
    return api("hipExternalMemoryGetMappedBuffer", [&] {
        require(pointer && handle && desc && desc->flags == 0, hipErrorInvalidValue,
                "null pointer, or flags");
        const auto memory = external_memories().find(handle);
        require(memory != nullptr, hipErrorInvalidValue, "no such external memory");
        require(desc->size != 0 && desc->size <= memory->size && desc->offset <= memory->size - desc->size,
                hipErrorInvalidValue, "the range leaves the memory");
        *pointer = adopt_mapping(map_file(memory->file, desc->offset, desc->size), false);
    });
}

hipError_t hipDestroyExternalMemory(hipExternalMemory_t handle) {
    return api("hipDestroyExternalMemory", [&] { // mapped buffers live until hipFree
        require(handle && external_memories().remove(handle), hipErrorInvalidValue,
                "no such external memory");
    });
}

hipError_t hipImportExternalSemaphore(hipExternalSemaphore_t* semaphore,
                                      const hipExternalSemaphoreHandleDesc* desc) {
    return api("hipImportExternalSemaphore", [&] {
        require(semaphore && desc, hipErrorInvalidValue, "null pointer");
        require(desc->type >= hipExternalSemaphoreHandleTypeOpaqueFd &&
                    desc->type <= hipExternalSemaphoreHandleTypeD3D12Fence && desc->handle.fd != 0,
                hipErrorInvalidValue, "handle type, or no descriptor");
        fail(hipErrorNotSupported, "ROCm imports no semaphores");
    });
}

hipError_t hipSignalExternalSemaphoresAsync(const hipExternalSemaphore_t* semaphores,
                                            const hipExternalSemaphoreSignalParams* parameters,
                                            unsigned int count, hipStream_t stream) {
    return api("hipSignalExternalSemaphoresAsync",
               [&] { check_semaphores(semaphores, parameters, count, stream); });
}
hipError_t hipWaitExternalSemaphoresAsync(const hipExternalSemaphore_t* semaphores,
                                          const hipExternalSemaphoreWaitParams* parameters,
                                          unsigned int count, hipStream_t stream) {
    return api("hipWaitExternalSemaphoresAsync",
               [&] { check_semaphores(semaphores, parameters, count, stream); });
}

hipError_t hipDestroyExternalSemaphore(hipExternalSemaphore_t) {
    return api("hipDestroyExternalSemaphore",
               [] { fail(hipErrorInvalidValue, "no such semaphore: none can be imported"); });
}
