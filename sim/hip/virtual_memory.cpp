// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: physical memory is an anonymous file, a mapping is a mapping of it at the
// reserved address. What is mapped and accessible without a gap is one allocation to the engine.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "sim/hip/graph.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

constexpr std::size_t granularity = 2 << 20; ///< as the real run time recommends: large pages

struct Physical {
    Physical(int file, std::size_t bytes, const hipMemAllocationProp& prop)
        : fd(file), size(bytes), properties(prop) {}
    ~Physical() { close(fd); }
    Physical(const Physical&) = delete;
    Physical& operator=(const Physical&) = delete;
    const int fd;
    const std::size_t size;
    const hipMemAllocationProp properties;
};

struct Mapping {
    std::size_t size = 0;
    std::shared_ptr<Physical> memory;
    std::map<int, hipMemAccessFlags> access; ///< by device
    bool accessible() const {
        for (const auto& [device, flags] : access)
            if (flags != hipMemAccessFlagsProtNone)
                return true;
        return false;
    }
};

struct Reservation {
    std::size_t size = 0;
    std::map<std::uint64_t, Mapping> mappings; ///< by address
    std::vector<std::uint64_t> allocations;    ///< what the engine knows of it
};

struct VirtualMemory {
    std::mutex mutex;
    std::map<std::uint64_t, Reservation> reservations;
    std::map<const void*, std::pair<std::shared_ptr<Physical>, unsigned>> handles; ///< with reference count
};
VirtualMemory& virtual_memory() {
    static auto* all = new VirtualMemory;
    return *all;
}

std::pair<std::shared_ptr<Physical>, unsigned>& resolve_handle(hipMemGenericAllocationHandle_t handle) {
    const auto found = virtual_memory().handles.find(handle);
    require(found != virtual_memory().handles.end(), hipErrorInvalidValue, "no such memory handle");
    return found->second;
}

hipMemGenericAllocationHandle_t keep(std::shared_ptr<Physical> memory) {
    auto* handle = reinterpret_cast<hipMemGenericAllocationHandle_t>(memory.get());
    auto& entry = virtual_memory().handles[handle];
    entry.first = std::move(memory);
    ++entry.second;
    return handle;
}

Reservation& reservation_of(std::uint64_t address, std::size_t size) {
    auto after = virtual_memory().reservations.upper_bound(address);
    require(after != virtual_memory().reservations.begin(), hipErrorInvalidValue,
            "the range is not reserved");
    auto& [base, reservation] = *std::prev(after);
    require(address - base <= reservation.size && size <= reservation.size - (address - base),
            hipErrorInvalidValue, "the range is not reserved");
    return reservation;
}

/// Tells the engine anew what of a reservation can be accessed.
void publish(Reservation& reservation) {
    Memory& memory = Process::get().memory;
    for (const std::uint64_t address : reservation.allocations) {
        forget(address);
        memory.release(address);
    }
    reservation.allocations.clear();
    for (auto mapping = reservation.mappings.begin(); mapping != reservation.mappings.end();) {
        if (!mapping->second.accessible()) {
            ++mapping;
            continue;
        }
        const std::uint64_t begin = mapping->first;
        const int device = mapping->second.memory->properties.location.id;
        std::uint64_t end = begin;
        while (mapping != reservation.mappings.end() && mapping->first == end &&
               mapping->second.accessible() && mapping->second.memory->properties.location.id == device) {
            end += mapping->second.size;
            ++mapping;
        }
        memory.adopt(begin, end - begin, AllocationKind::device, device);
        note(begin, {.variable = true}); // not for hipFree
        reservation.allocations.push_back(begin);
    }
}

void check_property(const hipMemAllocationProp* property) {
    require(property != nullptr, hipErrorInvalidValue, "null properties");
    require(property->type == hipMemAllocationTypePinned || property->type == hipMemAllocationTypeUncached,
            hipErrorInvalidValue, "allocation type");
    require(property->location.type == hipMemLocationTypeDevice, hipErrorInvalidValue, "location");
    Process::get().device(property->location.id);
}

void synchronize_all() {
    const int count = Process::get().device_count();
    for (int i = 0; i < count; ++i)
        try {
            synchronize(Process::get().device(i));
        } catch (const Failure&) { // a faulted device runs nothing any more
        }
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipMemGetAllocationGranularity(size_t* bytes, const hipMemAllocationProp* property,
                                          hipMemAllocationGranularity_flags) {
    return api("hipMemGetAllocationGranularity", [&] {
        require(bytes != nullptr, hipErrorInvalidValue, "null result pointer");
        check_property(property);
        *bytes = granularity;
    });
}

hipError_t hipMemAddressReserve(void** pointer, size_t size, size_t alignment, void*,
                                unsigned long long flags) {
    return api("hipMemAddressReserve", [&] {
        require(pointer && size && size % granularity == 0 && flags == 0, hipErrorInvalidValue,
                "null pointer, flags, or a size that is not a multiple of 2 MiB");
        require((alignment & (alignment - 1)) == 0, hipErrorInvalidValue, "alignment is not a power of two");
        const std::size_t align = std::max(alignment, granularity);
        void* raw =
            mmap(nullptr, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        require(raw != MAP_FAILED, hipErrorOutOfMemory, "no address space");
        const std::uint64_t begin = (address_of(raw) + align - 1) / align * align;
        if (begin > address_of(raw))
            munmap(raw, begin - address_of(raw));
        munmap(reinterpret_cast<void*>(begin + size), address_of(raw) + align - begin);
        std::lock_guard lock(virtual_memory().mutex);
        virtual_memory().reservations[begin].size = size;
        *pointer = reinterpret_cast<void*>(begin);
    });
}

hipError_t hipMemAddressFree(void* pointer, size_t size) {
    return api("hipMemAddressFree", [&] {
        std::lock_guard lock(virtual_memory().mutex);
        const auto found = virtual_memory().reservations.find(address_of(pointer));
        require(found != virtual_memory().reservations.end() && found->second.size == size,
                hipErrorInvalidValue, "no such reservation");
        require(found->second.mappings.empty(), hipErrorInvalidValue, "memory is still mapped there");
        munmap(pointer, size);
        virtual_memory().reservations.erase(found);
    });
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size,
                        const hipMemAllocationProp* property, unsigned long long flags) {
    return api("hipMemCreate", [&] {
        require(handle && size && size % granularity == 0 && flags == 0, hipErrorInvalidValue,
                "null pointer, flags, or a size that is not a multiple of 2 MiB");
        check_property(property);
        require(size <= Process::get().device(property->location.id).options().memory, hipErrorOutOfMemory,
                "more than the device's nominal memory");
        const int fd = memfd_create("zyfa-sim", MFD_CLOEXEC);
        require(fd >= 0, hipErrorOutOfMemory, "memfd_create");
        if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
            close(fd);
            fail(hipErrorOutOfMemory, "ftruncate");
        }
        std::lock_guard lock(virtual_memory().mutex);
        *handle = keep(std::make_shared<Physical>(fd, size, *property));
    });
}

hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
    return api("hipMemRelease", [&] {
        std::lock_guard lock(virtual_memory().mutex);
        auto& [memory, count] = resolve_handle(handle);
        if (--count == 0) // mappings keep the memory
            virtual_memory().handles.erase(handle);
    });
}

hipError_t hipMemMap(void* pointer, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags) {
    return api("hipMemMap", [&] {
        std::lock_guard lock(virtual_memory().mutex);
        const auto& memory = resolve_handle(handle).first;
        require(offset == 0 && flags == 0 && size == memory->size, hipErrorInvalidValue,
                "the whole of a memory handle is mapped, from its begin");
        const std::uint64_t address = address_of(pointer);
        require(address % granularity == 0, hipErrorInvalidValue, "address is not a multiple of 2 MiB");
        Reservation& reservation = reservation_of(address, size);
        for (const auto& [begin, mapping] : reservation.mappings)
            require(address + size <= begin || begin + mapping.size <= address, hipErrorInvalidValue,
                    "something is mapped there");
        require(mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd, 0) != MAP_FAILED,
                hipErrorMapFailed, "mmap");
        reservation.mappings[address] = {size, memory, {}};
    });
}

hipError_t hipMemUnmap(void* pointer, size_t size) {
    return api("hipMemUnmap", [&] {
        synchronize_all();
        std::lock_guard lock(virtual_memory().mutex);
        const std::uint64_t address = address_of(pointer);
        Reservation& reservation = reservation_of(address, size);
        std::uint64_t covered = address;
        for (auto mapping = reservation.mappings.find(address);
             mapping != reservation.mappings.end() && mapping->first == covered && covered < address + size;
             ++mapping)
            covered += mapping->second.size;
        require(covered == address + size, hipErrorInvalidValue, "the range is not made of whole mappings");
        std::erase_if(reservation.mappings, [&](const auto& entry) {
            return entry.first >= address && entry.first < address + size;
        });
        publish(reservation);
        require(mmap(pointer, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                     0) != MAP_FAILED,
                hipErrorUnmapFailed, "mmap");
    });
}

hipError_t hipMemSetAccess(void* pointer, size_t size, const hipMemAccessDesc* descriptions, size_t count) {
    return api("hipMemSetAccess", [&] {
        require(pointer && size && descriptions && count, hipErrorInvalidValue, "null pointer, or nothing");
        for (std::size_t i = 0; i < count; ++i) {
            require(descriptions[i].location.type == hipMemLocationTypeDevice, hipErrorInvalidValue,
                    "location");
            Process::get().device(descriptions[i].location.id);
        }
        std::lock_guard lock(virtual_memory().mutex);
        const std::uint64_t address = address_of(pointer);
        Reservation& reservation = reservation_of(address, size);
        std::uint64_t covered = address;
        for (auto& [begin, mapping] : reservation.mappings) {
            if (begin < address || begin >= address + size)
                continue;
            require(begin == covered, hipErrorInvalidValue, "a part of the range is not mapped");
            covered += mapping.size;
            for (std::size_t i = 0; i < count; ++i)
                mapping.access[descriptions[i].location.id] = descriptions[i].flags;
            mprotect(reinterpret_cast<void*>(begin), mapping.size,
                     mapping.accessible() ? PROT_READ | PROT_WRITE : PROT_NONE);
        }
        require(covered == address + size, hipErrorInvalidValue, "a part of the range is not mapped");
        publish(reservation);
    });
}

hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location, void* pointer) {
    return api("hipMemGetAccess", [&] {
        require(flags && location && pointer, hipErrorInvalidValue, "null pointer");
        std::lock_guard lock(virtual_memory().mutex);
        const std::uint64_t address = address_of(pointer);
        Reservation& reservation = reservation_of(address, 1);
        for (const auto& [begin, mapping] : reservation.mappings)
            if (address >= begin && address < begin + mapping.size) {
                const auto found = mapping.access.find(location->id);
                *flags = found == mapping.access.end() ? hipMemAccessFlagsProtNone : found->second;
                return;
            }
        fail(hipErrorInvalidValue, "nothing is mapped there");
    });
}

hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp* property,
                                                   hipMemGenericAllocationHandle_t handle) {
    return api("hipMemGetAllocationPropertiesFromHandle", [&] {
        require(property != nullptr, hipErrorInvalidValue, "null result pointer");
        std::lock_guard lock(virtual_memory().mutex);
        *property = resolve_handle(handle).first->properties;
    });
}

hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* handle, void* pointer) {
    return api("hipMemRetainAllocationHandle", [&] {
        require(handle && pointer, hipErrorInvalidValue, "null pointer");
        std::lock_guard lock(virtual_memory().mutex);
        const std::uint64_t address = address_of(pointer);
        for (const auto& [begin, mapping] : reservation_of(address, 1).mappings)
            if (address >= begin && address < begin + mapping.size) {
                *handle = keep(mapping.memory);
                return;
            }
        fail(hipErrorInvalidValue, "nothing is mapped there");
    });
}

// A file descriptor of the memory: other processes can map it, though no simulated device of theirs shares
// it.
hipError_t hipMemExportToShareableHandle(void* shareable, hipMemGenericAllocationHandle_t handle,
                                         hipMemAllocationHandleType type, unsigned long long flags) {
    return api("hipMemExportToShareableHandle", [&] {
        require(shareable && flags == 0, hipErrorInvalidValue, "null result pointer or flags");
        require(type == hipMemHandleTypePosixFileDescriptor, hipErrorInvalidValue, "handle type");
        std::lock_guard lock(virtual_memory().mutex);
        const int fd = fcntl(resolve_handle(handle).first->fd, F_DUPFD_CLOEXEC, 0);
        require(fd >= 0, hipErrorOperatingSystem, "dup");
        *static_cast<int*>(shareable) = fd;
    });
}

hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t* handle, void* shareable,
                                           hipMemAllocationHandleType type) {
    return api("hipMemImportFromShareableHandle", [&] {
        require(handle && shareable, hipErrorInvalidValue, "null pointer");
        require(type == hipMemHandleTypePosixFileDescriptor, hipErrorInvalidValue, "handle type");
        const int fd =
            fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)), F_DUPFD_CLOEXEC, 0);
        require(fd >= 0, hipErrorInvalidValue, "not a file descriptor");
        struct stat status{};
        if (fstat(fd, &status) != 0 || status.st_size == 0) {
            close(fd);
            fail(hipErrorInvalidValue, "not a memory handle");
        }
        hipMemAllocationProp property{};
        property.type = hipMemAllocationTypePinned;
        property.location = {hipMemLocationTypeDevice, Process::get().current_device().ordinal};
        std::lock_guard lock(virtual_memory().mutex);
        *handle = keep(std::make_shared<Physical>(fd, static_cast<std::size_t>(status.st_size), property));
    });
}
