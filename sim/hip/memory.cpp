// SPDX-License-Identifier: Apache-2.0
// Allocation, registration and pointer queries.
#include <map>
#include <mutex>

#include "sim/hip/graph.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/pool.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

struct Notes {
    std::mutex mutex;
    std::map<std::uint64_t, PointerNotes> by_base;
};
Notes& all_notes() {
    static auto* notes = new Notes;
    return *notes;
}

hipMemoryType type_of(const Allocation& allocation) {
    switch (allocation.kind) {
    case AllocationKind::host_pinned:
        return hipMemoryTypeHost;
    case AllocationKind::managed:
        return hipMemoryTypeManaged;
    default:
        return hipMemoryTypeDevice;
    }
}

Allocation find_allocation(const void* pointer) {
    const auto allocation = Process::get().memory.find(address_of(pointer));
    require(allocation.has_value(), hipErrorInvalidValue, "the pointer belongs to no allocation");
    return *allocation;
}

} // namespace

void note(std::uint64_t base, const PointerNotes& notes) {
    std::lock_guard lock(all_notes().mutex);
    all_notes().by_base[base] = notes;
}

PointerNotes notes_of(std::uint64_t base) {
    std::lock_guard lock(all_notes().mutex);
    auto found = all_notes().by_base.find(base);
    return found == all_notes().by_base.end() ? PointerNotes{} : found->second;
}

void forget(std::uint64_t base) {
    std::lock_guard lock(all_notes().mutex);
    all_notes().by_base.erase(base);
}

Located locate(std::uint64_t address, std::uint64_t bytes) {
    const Memory& memory = Process::get().memory;
    if (const auto allocation = memory.find(address)) {
        require(bytes <= allocation->address + allocation->size - address, hipErrorInvalidValue,
                "the range leaves its allocation");
        return {allocation};
    }
    const auto gone = memory.nearest(address);
    require(!gone || !gone->freed || address < gone->address || address >= gone->address + gone->size,
            hipErrorInvalidValue, "the memory was freed");
    return {};
}

void* allocate(std::size_t bytes, AllocationKind kind, int device, const PointerNotes& notes) {
    if (bytes == 0)
        return nullptr;
    Process& process = Process::get();
    const std::uint64_t capacity = process.device(device).options().memory;
    if (kind == AllocationKind::device)
        require(bytes <= capacity && process.memory.used(device) <= capacity - bytes, hipErrorOutOfMemory,
                "the device's nominal memory is exhausted");
    const std::uint64_t address = process.memory.allocate(bytes, kind, device);
    require(address != 0, hipErrorOutOfMemory, "no memory");
    note(address, notes);
    return reinterpret_cast<void*>(address);
}

void release(void* pointer) {
    Process& process = Process::get();
    const Allocation allocation = find_allocation(pointer);
    require(allocation.address == address_of(pointer), hipErrorInvalidValue,
            "not the begin of an allocation");
    const PointerNotes notes = notes_of(allocation.address);
    require(!notes.registered && !notes.variable && !notes.of_other_process, hipErrorInvalidValue,
            "not allocated by hipMalloc or its kin");
    try {
        synchronize(process.device(allocation.device));
    } catch (const Failure&) {
        // A faulted device runs nothing any more; the memory is the caller's to free.
    }
    release_now(address_of(pointer));
}

void release_now(std::uint64_t address) {
    Memory& memory = Process::get().memory;
    const auto allocation = memory.find(address);
    if (!allocation || allocation->address != address)
        return;
    const std::uint64_t bytes = allocation->size;
    const PointerNotes notes = notes_of(address);
    forget(address);
    if (notes.shared) // what uses the addresses next is not shared
        unshare(address, bytes);
    memory.release(address);
    if (notes.pool)
        notes.pool->given_back(bytes);
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;
using zyfa::sim::Allocation;
using zyfa::sim::AllocationKind;

namespace {

hipError_t free_any(const char* function, void* pointer) {
    return api(function, [&] {
        Process::get().device_count();
        forbid_in_capture();
        if (pointer)
            release(pointer);
    });
}

hipError_t host_allocate(const char* function, void** pointer, std::size_t bytes, unsigned flags) {
    return api(function, [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        constexpr unsigned coherence = hipHostMallocCoherent | hipHostMallocNonCoherent;
        require((flags & coherence) != coherence, hipErrorInvalidValue, "coherent and non-coherent at once");
        forbid_in_capture();
        *pointer = nullptr;
        *pointer = allocate(bytes, AllocationKind::host_pinned, Process::get().current_device().ordinal,
                            {.flags = flags});
    });
}

hipError_t device_allocate(const char* function, void** pointer, std::size_t bytes, unsigned flags) {
    return api(function, [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        Device& device = Process::get().current_device();
        forbid_in_capture();
        *pointer = allocate(bytes, AllocationKind::device, device.ordinal, {.flags = flags});
    });
}

constexpr std::size_t pitch_alignment = 256; ///< texturePitchAlignment of the device

std::size_t allocate_pitched(void** pointer, std::size_t width, std::size_t height, std::size_t depth) {
    const std::size_t pitch = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    require(pitch >= width, hipErrorInvalidValue, "width");
    *pointer =
        allocate(pitch * height * depth, AllocationKind::device, Process::get().current_device().ordinal, {});
    return pitch;
}

} // namespace

hipError_t hipMalloc(void** pointer, size_t bytes) {
    return device_allocate("hipMalloc", pointer, bytes, hipDeviceMallocDefault);
}

hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned int flags) {
    if (flags > hipDeviceMallocContiguous)
        return api("hipExtMallocWithFlags", [] { fail(hipErrorInvalidValue, "flags"); });
    return device_allocate("hipExtMallocWithFlags", pointer, bytes, flags);
}

hipError_t hipFree(void* pointer) {
    return free_any("hipFree", pointer);
}
hipError_t hipHostFree(void* pointer) {
    return free_any("hipHostFree", pointer);
}
hipError_t hipFreeHost(void* pointer) {
    return free_any("hipFreeHost", pointer);
}

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int flags) {
    return host_allocate("hipHostMalloc", pointer, bytes, flags);
}
hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    return host_allocate("hipHostAlloc", pointer, bytes, flags);
}
hipError_t hipMallocHost(void** pointer, size_t bytes) {
    return host_allocate("hipMallocHost", pointer, bytes, hipHostMallocDefault);
}
hipError_t hipMemAllocHost(void** pointer, size_t bytes) {
    return host_allocate("hipMemAllocHost", pointer, bytes, hipHostMallocDefault);
}

hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
    return api("hipMallocManaged", [&] {
        require(pointer != nullptr && bytes != 0, hipErrorInvalidValue, "null pointer or no bytes");
        require(flags == hipMemAttachGlobal || flags == hipMemAttachHost || flags == hipMemAttachSingle,
                hipErrorInvalidValue, "flags");
        forbid_in_capture();
        *pointer = allocate(bytes, AllocationKind::managed, Process::get().current_device().ordinal,
                            {.flags = flags});
    });
}

hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    return api("hipMallocPitch", [&] {
        require(pointer && pitch, hipErrorInvalidValue, "null result pointer");
        forbid_in_capture();
        *pitch = allocate_pitched(pointer, width, height, 1);
    });
}

hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, size_t* pitch, size_t width, size_t height,
                            unsigned int element) {
    return api("hipMemAllocPitch", [&] {
        require(pointer && pitch, hipErrorInvalidValue, "null result pointer");
        require(element == 4 || element == 8 || element == 16, hipErrorInvalidValue, "element size");
        forbid_in_capture();
        *pitch = allocate_pitched(pointer, width, height, 1);
    });
}

hipError_t hipMalloc3D(hipPitchedPtr* pitched, hipExtent extent) {
    return api("hipMalloc3D", [&] {
        require(pitched != nullptr, hipErrorInvalidValue, "null result pointer");
        forbid_in_capture();
        pitched->pitch = allocate_pitched(&pitched->ptr, extent.width, extent.height, extent.depth);
        pitched->xsize = extent.width;
        pitched->ysize = extent.height;
    });
}

hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return api("hipHostRegister", [&] {
        require(pointer && bytes, hipErrorInvalidValue, "null pointer or no bytes");
        Process& process = Process::get();
        forbid_in_capture();
        require(!process.memory.find(address_of(pointer)) &&
                    !process.memory.find(address_of(pointer) + bytes - 1),
                hipErrorHostMemoryAlreadyRegistered, "the range is known already");
        process.memory.adopt(address_of(pointer), bytes, AllocationKind::host_pinned,
                             process.current_device().ordinal);
        note(address_of(pointer), {.flags = flags, .registered = true});
    });
}

hipError_t hipHostUnregister(void* pointer) {
    return api("hipHostUnregister", [&] {
        Process& process = Process::get();
        const auto allocation = process.memory.find(address_of(pointer));
        require(allocation && allocation->address == address_of(pointer) &&
                    notes_of(allocation->address).registered,
                hipErrorHostMemoryNotRegistered, "no registered range begins there");
        forbid_in_capture();
        try {
            synchronize(process.device(allocation->device));
        } catch (const Failure&) { // as in release()
        }
        forget(address_of(pointer));
        process.memory.release(address_of(pointer));
    });
}

hipError_t hipHostGetDevicePointer(void** device_pointer, void* pointer, unsigned int) {
    return api("hipHostGetDevicePointer", [&] {
        require(device_pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        find_allocation(pointer);
        *device_pointer = pointer; // one address space
    });
}

hipError_t hipHostGetFlags(unsigned int* flags, void* pointer) {
    return api("hipHostGetFlags", [&] {
        require(flags != nullptr, hipErrorInvalidValue, "null result pointer");
        const Allocation allocation = find_allocation(pointer);
        require(allocation.kind == AllocationKind::host_pinned, hipErrorInvalidValue,
                "not pinned host memory");
        *flags = notes_of(allocation.address).flags;
    });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
    return api("hipPointerGetAttributes", [&] {
        require(attributes && pointer, hipErrorInvalidValue, "null pointer");
        Process::get().device_count();
        *attributes = {};
        attributes->device = hipInvalidDeviceId;
        const Allocation allocation = find_allocation(pointer);
        attributes->type = type_of(allocation);
        attributes->device = allocation.device;
        attributes->devicePointer = const_cast<void*>(pointer);
        attributes->hostPointer =
            attributes->type == hipMemoryTypeDevice ? nullptr : const_cast<void*>(pointer);
        attributes->isManaged = attributes->type == hipMemoryTypeManaged;
        attributes->allocationFlags = notes_of(allocation.address).flags;
    });
}

namespace {

template <class Value>
void answer(void* data, Value value) {
    *static_cast<Value*>(data) = value;
}

void pointer_attribute(void* data, hipPointer_attribute attribute, const void* pointer) {
    const auto found = Process::get().memory.find(address_of(pointer));
    if (attribute == HIP_POINTER_ATTRIBUTE_MAPPED)
        return answer<bool>(data, found.has_value());
    const Allocation allocation = find_allocation(pointer);
    const PointerNotes notes = notes_of(allocation.address);
    const bool device_only = type_of(allocation) == hipMemoryTypeDevice;
    switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_CONTEXT:
        return answer<hipCtx_t>(
            data, reinterpret_cast<hipCtx_t>(static_cast<std::intptr_t>(allocation.device + 1)));
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return answer<unsigned>(data, type_of(allocation));
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return answer<const void*>(data, pointer);
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
        require(!device_only, hipErrorInvalidValue, "device memory has no host pointer");
        return answer<const void*>(data, pointer);
    case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return answer<bool>(data, false);
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
        return answer<std::uint64_t>(data, allocation.serial);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
        return answer<bool>(data, allocation.kind == AllocationKind::managed);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return answer<int>(data, allocation.device);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return answer<std::uint64_t>(data, allocation.address);
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
        return answer<std::size_t>(data, allocation.size);
    case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return answer<unsigned>(data, hipMemHandleTypeNone);
    case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
        return answer<bool>(data, false);
    case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return answer<int>(data, hipMemAccessFlagsProtReadWrite);
    case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return answer<void*>(data, notes.pool.get());
    default:
        fail(hipErrorInvalidValue, "attribute");
    }
}

} // namespace

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
    return api("hipPointerGetAttribute", [&] {
        require(data && pointer, hipErrorInvalidValue, "null pointer");
        Process::get().device_count();
        pointer_attribute(data, attribute, pointer);
    });
}

hipError_t hipDrvPointerGetAttributes(unsigned int count, hipPointer_attribute* attributes, void** data,
                                      hipDeviceptr_t pointer) {
    return api("hipDrvPointerGetAttributes", [&] {
        require(count && attributes && data && pointer, hipErrorInvalidValue, "null pointer");
        for (unsigned i = 0; i < count; ++i)
            pointer_attribute(data[i], attributes[i], pointer);
    });
}

hipError_t hipPointerSetAttribute(const void* value, hipPointer_attribute attribute, hipDeviceptr_t pointer) {
    return api("hipPointerSetAttribute", [&] {
        require(value && attribute == HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS, hipErrorInvalidValue, "attribute");
        find_allocation(pointer); // copies wait in any case
    });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t pointer) {
    return api("hipMemGetAddressRange", [&] {
        const auto allocation = Process::get().memory.find(address_of(pointer));
        require(allocation.has_value(), hipErrorNotFound, "the pointer belongs to no allocation");
        if (base)
            *base = reinterpret_cast<void*>(allocation->address);
        if (size)
            *size = allocation->size;
    });
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* size) {
    return api("hipMemPtrGetInfo", [&] {
        require(size != nullptr, hipErrorInvalidValue, "null result pointer");
        *size = pointer ? find_allocation(pointer).size : 0;
    });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total) {
    return api("hipMemGetInfo", [&] {
        Device& device = Process::get().current_device();
        const std::uint64_t capacity = device.options().memory;
        if (free_bytes)
            *free_bytes = capacity - std::min(capacity, Process::get().memory.used(device.ordinal));
        if (total)
            *total = capacity;
    });
}

// Managed memory: advice changes nothing that could be seen here.

hipError_t hipMemAdvise(const void* pointer, size_t count, hipMemoryAdvise, int) {
    return api("hipMemAdvise", [&] {
        require(pointer && count, hipErrorInvalidValue, "null pointer or no bytes");
        locate(address_of(pointer), count);
    });
}

hipError_t hipMemAdvise_v2(const void* pointer, size_t count, hipMemoryAdvise, hipMemLocation) {
    return api("hipMemAdvise_v2", [&] {
        require(pointer && count, hipErrorInvalidValue, "null pointer or no bytes");
        locate(address_of(pointer), count);
    });
}

hipError_t hipMemPrefetchAsync(const void* pointer, size_t count, int device, hipStream_t stream) {
    return api("hipMemPrefetchAsync", [&] {
        require(pointer && count, hipErrorInvalidValue, "null pointer or no bytes");
        if (device != hipCpuDeviceId)
            Process::get().device(device);
        locate(address_of(pointer), count);
        submit(resolve_stream(stream), EmptyOperation{});
    });
}

hipError_t hipMemPrefetchAsync_v2(const void* pointer, size_t count, hipMemLocation, unsigned int,
                                  hipStream_t stream) {
    return api("hipMemPrefetchAsync_v2", [&] {
        require(pointer && count, hipErrorInvalidValue, "null pointer or no bytes");
        locate(address_of(pointer), count);
        submit(resolve_stream(stream), EmptyOperation{});
    });
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, size_t, unsigned int) {
    return api("hipStreamAttachMemAsync", [&] {
        find_allocation(pointer);
        submit(resolve_stream(stream), EmptyOperation{});
    });
}
