// SPDX-License-Identifier: Apache-2.0
// hipMallocAsync, hipFreeAsync and memory pools.
#include "sim/hip/pool.hpp"

#include <algorithm>
#include <map>

#include "sim/hip/graph.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

struct GraphMemories {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<GraphMemory>> by_address;
};
GraphMemories& graph_memories() {
    static auto* all = new GraphMemories;
    return *all;
}

/// Pools by handle, and which of them is current on each device.
struct Pools {
    std::mutex mutex;
    std::map<const void*, std::shared_ptr<Pool>> by_handle;
    std::map<int, std::shared_ptr<Pool>> standard, current;
};
Pools& pools() {
    static auto* all = new Pools;
    return *all;
}

std::shared_ptr<Pool> standard_pool(int device) { // mutex held
    auto& pool = pools().standard[device];
    if (!pool) {
        pool = std::make_shared<Pool>(device);
        pools().by_handle[pool.get()] = pool;
    }
    return pool;
}

std::shared_ptr<Pool> current_pool(int device) {
    std::lock_guard lock(pools().mutex);
    const auto& chosen = pools().current[device];
    return chosen ? chosen : standard_pool(device);
}

std::shared_ptr<Pool> resolve_pool(hipMemPool_t handle) {
    std::lock_guard lock(pools().mutex);
    const auto found = pools().by_handle.find(handle);
    require(found != pools().by_handle.end(), hipErrorInvalidValue, "no such memory pool");
    return found->second;
}

hipMemPool_t handle_of(const std::shared_ptr<Pool>& pool) {
    return reinterpret_cast<hipMemPool_t>(pool.get());
}

void* allocate_from(const std::shared_ptr<Pool>& pool, std::size_t bytes, const StreamPtr& stream) {
    if (bytes == 0)
        return nullptr;
    if (capturing(stream)) {
        const auto memory = make_graph_memory(bytes, pool->device);
        Operation operation = AllocateOperation{memory};
        capture(stream, operation, Wait::no);
        return reinterpret_cast<void*>(memory->address);
    }
    {
        std::lock_guard lock(pool->mutex);
        require(pool->limit == 0 || pool->used + bytes <= pool->limit, hipErrorOutOfMemory,
                "the pool's maximum size");
    }
    stream->device.check();
    void* pointer = allocate(bytes, AllocationKind::device, pool->device, {.pool = pool});
    pool->taken(bytes);
    return pointer;
}

} // namespace

void Pool::taken(std::uint64_t bytes) {
    std::lock_guard lock(mutex);
    used += bytes;
    used_high = std::max(used_high, used);
}

void Pool::given_back(std::uint64_t bytes) {
    std::lock_guard lock(mutex);
    used -= std::min(used, bytes);
}

GraphMemory::GraphMemory(std::size_t bytes, int owner)
    : address(address_of(allocate(bytes, AllocationKind::device, owner, {}))), size(bytes), device(owner) {}

GraphMemory::~GraphMemory() {
    {
        std::lock_guard lock(graph_memories().mutex);
        graph_memories().by_address.erase(address);
    }
    release_now(address); // unless the caller freed it
}

std::shared_ptr<GraphMemory> make_graph_memory(std::size_t bytes, int device) {
    auto memory = std::make_shared<GraphMemory>(bytes, device);
    std::lock_guard lock(graph_memories().mutex);
    graph_memories().by_address[memory->address] = memory;
    return memory;
}

std::shared_ptr<GraphMemory> find_graph_memory(std::uint64_t address) {
    std::lock_guard lock(graph_memories().mutex);
    const auto found = graph_memories().by_address.find(address);
    return found == graph_memories().by_address.end() ? nullptr : found->second.lock();
}

std::uint64_t graph_memory_used(int device) {
    std::lock_guard lock(graph_memories().mutex);
    std::uint64_t bytes = 0;
    for (const auto& [address, weak] : graph_memories().by_address)
        if (const auto memory = weak.lock(); memory && memory->device == device)
            bytes += memory->size;
    return bytes;
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;
using zyfa::sim::Allocation;

hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t handle) {
    return api("hipMallocAsync", [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        const StreamPtr stream = resolve_stream(handle);
        *pointer = allocate_from(current_pool(stream->device.ordinal), bytes, stream);
    });
}

hipError_t hipMallocFromPoolAsync(void** pointer, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
    return api("hipMallocFromPoolAsync", [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null result pointer");
        *pointer = allocate_from(resolve_pool(pool), bytes, resolve_stream(stream));
    });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t handle) {
    return api("hipFreeAsync", [&] {
        const StreamPtr stream = resolve_stream(handle);
        if (!pointer)
            return;
        const std::uint64_t address = address_of(pointer);
        const auto allocation = Process::get().memory.find(address);
        require(allocation && allocation->address == address, hipErrorInvalidValue,
                "no allocation begins there");
        PointerNotes notes = notes_of(address);
        require(!notes.registered && !notes.variable && !notes.freeing, hipErrorInvalidValue,
                "freed already, or not allocated by hipMalloc or its kin");
        Operation operation =
            FreeOperation{address, capturing(stream) ? find_graph_memory(address) : nullptr};
        if (capture(stream, operation, Wait::no))
            return;
        notes.freeing = true;
        note(address, notes);
        try {
            enqueue(stream, std::move(operation), {});
        } catch (const Failure&) { // a faulted device runs nothing any more; the memory is still the caller's
                                   // to free
            release_now(address);
            throw;
        }
    });
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
    return api("hipDeviceGetDefaultMemPool", [&] {
        require(pool != nullptr, hipErrorInvalidValue, "null result pointer");
        Process::get().device(device);
        std::lock_guard lock(pools().mutex);
        *pool = handle_of(standard_pool(device));
    });
}
hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
    return api("hipDeviceGetMemPool", [&] {
        require(pool != nullptr, hipErrorInvalidValue, "null result pointer");
        Process::get().device(device);
        *pool = handle_of(current_pool(device));
    });
}
hipError_t hipDeviceSetMemPool(int device, hipMemPool_t handle) {
    return api("hipDeviceSetMemPool", [&] {
        Process::get().device(device);
        const auto pool = resolve_pool(handle);
        require(pool->device == device, hipErrorInvalidDevice, "a pool of another device");
        std::lock_guard lock(pools().mutex);
        pools().current[device] = pool;
    });
}

hipError_t hipMemPoolCreate(hipMemPool_t* handle, const hipMemPoolProps* properties) {
    return api("hipMemPoolCreate", [&] {
        require(handle && properties, hipErrorInvalidValue, "null pointer");
        require(properties->allocType == hipMemAllocationTypePinned &&
                    properties->location.type == hipMemLocationTypeDevice,
                hipErrorInvalidValue, "allocation type or location");
        require(properties->handleTypes == hipMemHandleTypeNone, hipErrorNotSupported,
                "the simulator does not share between processes");
        auto pool = std::make_shared<Pool>(Process::get().device(properties->location.id).ordinal);
        pool->limit = properties->maxSize;
        std::lock_guard lock(pools().mutex);
        pools().by_handle[pool.get()] = pool;
        *handle = handle_of(pool);
    });
}
hipError_t hipMemPoolDestroy(hipMemPool_t handle) {
    return api("hipMemPoolDestroy", [&] {
        const auto pool = resolve_pool(handle);
        std::lock_guard lock(pools().mutex);
        require(pool != pools().standard[pool->device], hipErrorInvalidValue,
                "a default pool is not destroyed");
        if (pools().current[pool->device] == pool)
            pools().current[pool->device] = nullptr;
        pools().by_handle.erase(handle); // its allocations keep it until they are freed
    });
}
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
    return api("hipMemPoolTrimTo", [&] { resolve_pool(pool); });
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t handle, hipMemPoolAttr attribute, void* value) {
    return api("hipMemPoolSetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null value");
        const auto pool = resolve_pool(handle);
        std::lock_guard lock(pool->mutex);
        switch (attribute) {
        case hipMemPoolReuseFollowEventDependencies:
            pool->reuse_event_dependencies = *static_cast<int*>(value);
            break;
        case hipMemPoolReuseAllowOpportunistic:
            pool->reuse_opportunistic = *static_cast<int*>(value);
            break;
        case hipMemPoolReuseAllowInternalDependencies:
            pool->reuse_internal_dependencies = *static_cast<int*>(value);
            break;
        case hipMemPoolAttrReleaseThreshold:
            pool->release_threshold = *static_cast<std::uint64_t*>(value);
            break;
        case hipMemPoolAttrUsedMemHigh:
        case hipMemPoolAttrReservedMemHigh:
            require(*static_cast<std::uint64_t*>(value) == 0, hipErrorInvalidValue,
                    "a high-water mark is reset to 0");
            pool->used_high = pool->used;
            break;
        default:
            fail(hipErrorInvalidValue, "attribute");
        }
    });
}
hipError_t hipMemPoolGetAttribute(hipMemPool_t handle, hipMemPoolAttr attribute, void* value) {
    return api("hipMemPoolGetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto pool = resolve_pool(handle);
        std::lock_guard lock(pool->mutex);
        switch (attribute) {
        case hipMemPoolReuseFollowEventDependencies:
            *static_cast<int*>(value) = pool->reuse_event_dependencies;
            break;
        case hipMemPoolReuseAllowOpportunistic:
            *static_cast<int*>(value) = pool->reuse_opportunistic;
            break;
        case hipMemPoolReuseAllowInternalDependencies:
            *static_cast<int*>(value) = pool->reuse_internal_dependencies;
            break;
        case hipMemPoolAttrReleaseThreshold:
            *static_cast<std::uint64_t*>(value) = pool->release_threshold;
            break;
        case hipMemPoolAttrUsedMemCurrent:
        case hipMemPoolAttrReservedMemCurrent:
            *static_cast<std::uint64_t*>(value) = pool->used;
            break;
        case hipMemPoolAttrUsedMemHigh:
        case hipMemPoolAttrReservedMemHigh:
            *static_cast<std::uint64_t*>(value) = pool->used_high;
            break;
        default:
            fail(hipErrorInvalidValue, "attribute");
        }
    });
}
// All simulated memory is visible to all devices.
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* descriptions, size_t count) {
    return api("hipMemPoolSetAccess", [&] {
        require(descriptions && count, hipErrorInvalidValue, "null list");
        resolve_pool(pool);
        for (std::size_t i = 0; i < count; ++i)
            Process::get().device(descriptions[i].location.id);
    });
}
hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool, hipMemLocation* location) {
    return api("hipMemPoolGetAccess", [&] {
        require(flags && location, hipErrorInvalidValue, "null pointer");
        resolve_pool(pool);
        Process::get().device(location->id);
        *flags = hipMemAccessFlagsProtReadWrite;
    });
}
