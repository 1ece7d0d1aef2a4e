// SPDX-License-Identifier: Apache-2.0
// A libamdhip64 whose launches do nothing: what is left of a call's time is zyfa's own. Memory is host
// memory, one MI355X is reported. Not the simulator: nothing is executed, and results are never looked at.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <hip/hip_runtime_api.h>

#define FAKE_HIP extern "C" __attribute__((visibility("default")))

namespace {

struct Allocations {
    std::mutex mutex;
    std::map<const char*, std::size_t> sizes;

    /// The allocation that holds the pointer: its base and size; null base if none.
    std::pair<const char*, std::size_t> find(const void* pointer) {
        const std::lock_guard<std::mutex> lock(mutex);
        const char* address = static_cast<const char*>(pointer);
        auto after = sizes.upper_bound(address);
        if (after == sizes.begin()) {
            return {nullptr, 0};
        }
        --after;
        return address < after->first + after->second ? std::pair<const char*, std::size_t>(*after)
                                                      : std::pair<const char*, std::size_t>(nullptr, 0);
    }
};
Allocations allocations;
std::atomic<std::uint64_t> launches{0};
char anything; // what handles point to

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

/// For the benchmark's check that its calls arrived.
FAKE_HIP std::uint64_t fakeHipLaunches() {
    return launches.load(std::memory_order_relaxed);
}

FAKE_HIP hipError_t hipInit(unsigned) {
    return hipSuccess;
}
FAKE_HIP hipError_t hipGetDeviceCount(int* count) {
    *count = 1;
    return hipSuccess;
}
FAKE_HIP hipError_t hipRuntimeGetVersion(int* version) {
    *version = HIP_VERSION;
    return hipSuccess;
}
FAKE_HIP hipError_t hipDriverGetVersion(int* version) {
    return hipRuntimeGetVersion(version);
}
FAKE_HIP hipError_t hipGetDevice(int* device) {
    *device = 0;
    return hipSuccess;
}
FAKE_HIP hipError_t hipSetDevice(int device) {
    return device == 0 ? hipSuccess : hipErrorInvalidDevice;
}
FAKE_HIP hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int) {
    std::memset(properties, 0, sizeof *properties);
    std::strcpy(properties->name, "no GPU: launches do nothing");
    std::strcpy(properties->gcnArchName, "gfx950:sramecc+:xnack-");
    properties->multiProcessorCount = 256;
    properties->warpSize = 64;
    properties->sharedMemPerBlock = 163840;
    properties->maxSharedMemoryPerMultiProcessor = 163840;
    properties->totalGlobalMem = std::size_t{288} << 30;
    properties->clockRate = 2400000;
    properties->maxThreadsPerBlock = 1024;
    return hipSuccess;
}
FAKE_HIP hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
    switch (attribute) {
    case hipDeviceAttributeMultiprocessorCount:
        *value = 256;
        return hipSuccess;
    case hipDeviceAttributeClockRate:
        *value = 2400000;
        return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
        *value = 163840;
        return hipSuccess;
    case hipDeviceAttributeNumberOfXccs:
        *value = 8;
        return hipSuccess;
    default:
        *value = 0;
        return hipSuccess;
    }
}
FAKE_HIP hipError_t hipDeviceGetPCIBusId(char* id, int length, int) {
    std::strncpy(id, "0000:00:00.0", static_cast<std::size_t>(length));
    return hipSuccess;
}
FAKE_HIP hipError_t hipDeviceSynchronize() {
    return hipSuccess;
}
FAKE_HIP const char* hipGetErrorName(hipError_t error) {
    return error == hipSuccess ? "hipSuccess" : "hipError";
}
FAKE_HIP const char* hipGetErrorString(hipError_t error) {
    return hipGetErrorName(error);
}
FAKE_HIP hipError_t hipGetLastError() {
    return hipSuccess;
}

FAKE_HIP hipError_t hipMalloc(void** pointer, std::size_t bytes) {
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == nullptr) {
        return hipErrorOutOfMemory;
    }
    const std::lock_guard<std::mutex> lock(allocations.mutex);
    allocations.sizes[static_cast<const char*>(memory)] = bytes;
    *pointer = memory;
    return hipSuccess;
}
FAKE_HIP hipError_t hipFree(void* pointer) {
    {
        const std::lock_guard<std::mutex> lock(allocations.mutex);
        allocations.sizes.erase(static_cast<const char*>(pointer));
    }
    std::free(pointer);
    return hipSuccess;
}
/// Memory that was freed stays with the stream's pool, as HIP's does up to its release threshold.
struct Pool {
    std::mutex mutex;
    std::multimap<std::size_t, void*> free;
    std::map<void*, std::size_t> taken;
};
static Pool pool;
FAKE_HIP hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t) {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    if (const auto found = pool.free.find(bytes); found != pool.free.end()) {
        *pointer = found->second;
        pool.free.erase(found);
    } else if (const hipError_t error = hipMalloc(pointer, bytes); error != hipSuccess) {
        return error;
    }
    pool.taken[*pointer] = bytes;
    return hipSuccess;
}
FAKE_HIP hipError_t hipFreeAsync(void* pointer, hipStream_t) {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    const auto found = pool.taken.find(pointer);
    if (found == pool.taken.end()) {
        return hipErrorInvalidValue;
    }
    pool.free.emplace(found->second, pointer);
    pool.taken.erase(found);
    return hipSuccess;
}
FAKE_HIP hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
    std::memcpy(to, from, bytes);
    return hipSuccess;
}
FAKE_HIP hipError_t hipMemset(void* to, int value, std::size_t bytes) {
    std::memset(to, value, bytes);
    return hipSuccess;
}
FAKE_HIP hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
    const auto [base, size] = allocations.find(pointer);
    if (base == nullptr) {
        return hipErrorInvalidValue;
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->type = hipMemoryTypeDevice;
    attributes->devicePointer = const_cast<void*>(pointer);
    return hipSuccess;
}
FAKE_HIP hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* size, hipDeviceptr_t pointer) {
    const auto [found, bytes] = allocations.find(pointer);
    if (found == nullptr) {
        return hipErrorInvalidValue;
    }
    *base = const_cast<char*>(found);
    *size = bytes;
    return hipSuccess;
}

FAKE_HIP hipError_t hipModuleLoadData(hipModule_t* module, const void*) {
    *module = reinterpret_cast<hipModule_t>(&anything);
    return hipSuccess;
}
FAKE_HIP hipError_t hipModuleUnload(hipModule_t) {
    return hipSuccess;
}
FAKE_HIP hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t, const char*) {
    *function = reinterpret_cast<hipFunction_t>(&anything);
    return hipSuccess;
}
FAKE_HIP hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, unsigned, hipStream_t, void**, void**) {
    launches.fetch_add(1, std::memory_order_relaxed);
    return hipSuccess;
}

FAKE_HIP hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
    *stream = reinterpret_cast<hipStream_t>(&anything);
    return hipSuccess;
}
FAKE_HIP hipError_t hipStreamDestroy(hipStream_t) {
    return hipSuccess;
}
FAKE_HIP hipError_t hipStreamSynchronize(hipStream_t) {
    return hipSuccess;
}
FAKE_HIP hipError_t hipStreamGetDevice(hipStream_t, hipDevice_t* device) {
    *device = 0;
    return hipSuccess;
}
FAKE_HIP hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
    *status = hipStreamCaptureStatusNone;
    return hipSuccess;
}

struct ihipEvent_t {
    double ms;
};
FAKE_HIP hipError_t hipEventCreate(hipEvent_t* event) {
    *event = new ihipEvent_t{0};
    return hipSuccess;
}
FAKE_HIP hipError_t hipEventDestroy(hipEvent_t event) {
    delete event;
    return hipSuccess;
}
FAKE_HIP hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
    event->ms = now_ms();
    return hipSuccess;
}
FAKE_HIP hipError_t hipEventSynchronize(hipEvent_t) {
    return hipSuccess;
}
FAKE_HIP hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
    *ms = static_cast<float>(stop->ms - start->ms);
    return hipSuccess;
}
