// SPDX-License-Identifier: Apache-2.0
// Old and rarely used calls, in terms of the others.
#include <cstring>
#include <map>
#include <vector>

#include "sim/hip/copy.hpp"
#include "sim/hip/graph.hpp"
#include "sim/hip/launch.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/pool.hpp"
#include "sim/hip/process.hpp"

using namespace zyfa::sim::hip;

// Launching in three steps: configure, set each argument, launch.

namespace {
std::vector<std::byte>& argument_block() {
    thread_local std::vector<std::byte> block;
    return block;
}
} // namespace

hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t dynamic_lds, hipStream_t stream) {
    argument_block().clear();
    return __hipPushCallConfiguration(grid, block, dynamic_lds, stream);
}

hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset) {
    return api("hipSetupArgument", [&] {
        require(argument && offset <= 4096 && size <= 4096, hipErrorInvalidValue,
                "null argument, or too large");
        auto& block = argument_block();
        if (block.size() < offset + size)
            block.resize(offset + size);
        std::memcpy(block.data() + offset, argument, size);
    });
}

hipError_t hipLaunchByPtr(const void* host_function) {
    dim3 grid, block;
    std::size_t dynamic_lds = 0, bytes = argument_block().size();
    hipStream_t stream = nullptr;
    if (const hipError_t status = __hipPopCallConfiguration(&grid, &block, &dynamic_lds, &stream);
        status != hipSuccess)
        return status;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, argument_block().data(), HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, HIP_LAUNCH_PARAM_END};
    hipFunction_t function = nullptr;
    if (const hipError_t status = hipGetFuncBySymbol(&function, host_function); status != hipSuccess)
        return status;
    return hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                 static_cast<unsigned>(dynamic_lds), stream, nullptr, extra);
}

// One launch per device.

namespace {

template <class Launch>
hipError_t each_device(const char* function, int count, Launch&& launch) {
    return api(function, [&] {
        require(count > 0 && count <= Process::get().device_count(), hipErrorInvalidValue,
                "number of devices");
        const int current = thread_state().device;
        hipError_t status = hipSuccess;
        for (int i = 0; i < count && status == hipSuccess; ++i)
            status = launch(i);
        thread_state().device = current;
        return status;
    });
}

int device_of(hipStream_t stream) {
    require(stream != nullptr, hipErrorInvalidResourceHandle, "each launch needs a stream of its device");
    return resolve_stream(stream)->device.ordinal;
}

hipError_t multi_device(const char* function, const hipLaunchParams* list, int count, bool cooperative) {
    return each_device(function, list ? count : 0, [&](int i) {
        const hipLaunchParams& p = list[i];
        thread_state().device = device_of(p.stream);
        return cooperative ? hipLaunchCooperativeKernel(p.func, p.gridDim, p.blockDim, p.args,
                                                        static_cast<unsigned>(p.sharedMem), p.stream)
                           : hipLaunchKernel(p.func, p.gridDim, p.blockDim, p.args, p.sharedMem, p.stream);
    });
}

} // namespace

hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count, unsigned int) {
    return multi_device("hipLaunchCooperativeKernelMultiDevice", list, count, true);
}
hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count, unsigned int) {
    return multi_device("hipExtLaunchMultiKernelMultiDevice", list, count, false);
}
hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams* list, unsigned int count,
                                                       unsigned int) {
    return each_device(
        "hipModuleLaunchCooperativeKernelMultiDevice", list ? static_cast<int>(count) : 0, [&](int i) {
            const hipFunctionLaunchParams& p = list[i];
            thread_state().device = device_of(p.hStream);
            return hipModuleLaunchCooperativeKernel(p.function, p.gridDimX, p.gridDimY, p.gridDimZ,
                                                    p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes,
                                                    p.hStream, p.kernelParams);
        });
}

// Copies of boxes between devices.

namespace {
hipError_t peer_box(const char* function, const hipMemcpy3DPeerParms* p, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        require(p != nullptr, hipErrorInvalidValue, "null parameters");
        Process::get().device(p->srcDevice);
        Process::get().device(p->dstDevice);
        hipMemcpy3DParms box{};
        box.srcArray = p->srcArray;
        box.srcPos = p->srcPos;
        box.srcPtr = p->srcPtr;
        box.dstArray = p->dstArray;
        box.dstPos = p->dstPos;
        box.dstPtr = p->dstPtr;
        box.extent = p->extent;
        submit_copy(box_copy(box), hipMemcpyDeviceToDevice, stream, wait);
    });
}
} // namespace

hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms* p) {
    return peer_box("hipMemcpy3DPeer", p, nullptr, Wait::yes);
}
hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms* p, hipStream_t stream) {
    return peer_box("hipMemcpy3DPeerAsync", p, stream, Wait::no);
}

// Managed memory: advice is not kept, so every attribute has its default.

namespace {
void range_attribute(void* data, std::size_t size, hipMemRangeAttribute attribute, const void* pointer,
                     std::size_t count) {
    require(data && size >= sizeof(int) && pointer && count, hipErrorInvalidValue,
            "null pointer, or nothing");
    locate(address_of(pointer), count);
    int value = 0;
    switch (attribute) {
    case hipMemRangeAttributeReadMostly:
        break;
    case hipMemRangeAttributePreferredLocation:
    case hipMemRangeAttributeAccessedBy:
    case hipMemRangeAttributeLastPrefetchLocation:
        value = hipInvalidDeviceId;
        break;
    case hipMemRangeAttributeCoherencyMode:
        value = hipMemRangeCoherencyModeFineGrain;
        break;
    default:
        fail(hipErrorInvalidValue, "attribute");
    }
    for (std::size_t i = 0; i + sizeof value <= size; i += sizeof value)
        std::memcpy(static_cast<char*>(data) + i, &value, sizeof value);
}
} // namespace

hipError_t hipMemRangeGetAttribute(void* data, size_t size, hipMemRangeAttribute attribute,
                                   const void* pointer, size_t count) {
    return api("hipMemRangeGetAttribute", [&] { range_attribute(data, size, attribute, pointer, count); });
}
hipError_t hipMemRangeGetAttributes(void** data, size_t* sizes, hipMemRangeAttribute* attributes,
                                    size_t number, const void* pointer, size_t count) {
    return api("hipMemRangeGetAttributes", [&] {
        require(data && sizes && attributes && number, hipErrorInvalidValue, "null list");
        for (std::size_t i = 0; i < number; ++i)
            range_attribute(data[i], sizes[i], attributes[i], pointer, count);
    });
}

// User objects: counted, and destroyed with the last reference.

namespace {

struct UserObject {
    void* pointer;
    hipHostFn_t destroy;
    unsigned references;
};

struct UserObjects {
    std::mutex mutex;
    std::map<const void*, UserObject> by_handle;
};
UserObjects& user_objects() {
    static auto* all = new UserObjects;
    return *all;
}

void retain(hipUserObject_t handle, unsigned count) {
    std::lock_guard lock(user_objects().mutex);
    const auto found = user_objects().by_handle.find(handle);
    require(found != user_objects().by_handle.end() && count > 0, hipErrorInvalidValue,
            "no such user object");
    found->second.references += count;
}

void release_references(const void* handle, unsigned count) {
    UserObject last{};
    {
        std::lock_guard lock(user_objects().mutex);
        const auto found = user_objects().by_handle.find(handle);
        require(found != user_objects().by_handle.end() && count > 0 && count <= found->second.references,
                hipErrorInvalidValue, "no such user object, or fewer references");
        found->second.references -= count;
        if (found->second.references > 0)
            return;
        last = found->second;
        user_objects().by_handle.erase(found);
    }
    last.destroy(last.pointer);
    delete static_cast<const char*>(handle);
}

} // namespace

hipError_t hipUserObjectCreate(hipUserObject_t* handle, void* pointer, hipHostFn_t destroy,
                               unsigned int references, unsigned int flags) {
    return api("hipUserObjectCreate", [&] {
        require(handle && destroy && references > 0 && flags == hipUserObjectNoDestructorSync,
                hipErrorInvalidValue, "null pointer, no reference, or flags");
        *handle = reinterpret_cast<hipUserObject_t>(new char);
        std::lock_guard lock(user_objects().mutex);
        user_objects().by_handle[*handle] = {pointer, destroy, references};
    });
}
hipError_t hipUserObjectRetain(hipUserObject_t handle, unsigned int count) {
    return api("hipUserObjectRetain", [&] { retain(handle, count); });
}
hipError_t hipUserObjectRelease(hipUserObject_t handle, unsigned int count) {
    return api("hipUserObjectRelease", [&] { release_references(handle, count); });
}
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t handle, unsigned int count,
                                    unsigned int flags) {
    return api("hipGraphRetainUserObject", [&] {
        require(Process::get().graphs.find(graph) && flags <= hipGraphUserObjectMove, hipErrorInvalidValue,
                "no such graph, or flags");
        if (flags != hipGraphUserObjectMove)
            retain(handle, count);
        std::lock_guard lock(Process::get().graph_mutex);
        // One release per reference when the last copy of the graph goes.
        for (unsigned i = 0; i < count; ++i)
            Process::get().graphs.find(graph)->user_objects.push_back(
                {handle, [](const void* object) {
                     (void)hipUserObjectRelease(static_cast<hipUserObject_t>(const_cast<void*>(object)), 1);
                 }});
    });
}
hipError_t hipGraphReleaseUserObject(hipGraph_t handle, hipUserObject_t object, unsigned int count) {
    return api("hipGraphReleaseUserObject", [&] {
        const auto graph = Process::get().graphs.find(handle);
        require(graph != nullptr, hipErrorInvalidValue, "no such graph");
        std::vector<std::shared_ptr<const void>>
            released; // let go without the lock: a destructor may call HIP
        std::lock_guard lock(Process::get().graph_mutex);
        for (auto entry = graph->user_objects.begin();
             entry != graph->user_objects.end() && released.size() < count;)
            if (entry->get() == object) {
                released.push_back(std::move(*entry));
                entry = graph->user_objects.erase(entry);
            } else {
                ++entry;
            }
        require(released.size() == count, hipErrorInvalidValue, "the graph has fewer references");
    });
}

// Memory that graphs hold.

hipError_t hipDeviceGetGraphMemAttribute(int device, hipGraphMemAttributeType attribute, void* value) {
    return api("hipDeviceGetGraphMemAttribute", [&] {
        require(value && attribute <= hipGraphMemAttrReservedMemHigh, hipErrorInvalidValue,
                "null pointer or attribute");
        Process::get().device(device);
        *static_cast<std::uint64_t*>(value) = graph_memory_used(device);
    });
}
hipError_t hipDeviceSetGraphMemAttribute(int device, hipGraphMemAttributeType attribute, void* value) {
    return api("hipDeviceSetGraphMemAttribute", [&] {
        require(value &&
                    (attribute == hipGraphMemAttrUsedMemHigh || attribute == hipGraphMemAttrReservedMemHigh),
                hipErrorInvalidValue, "only high-water marks can be set");
        Process::get().device(device);
    });
}
hipError_t hipDeviceGraphMemTrim(int device) {
    return api("hipDeviceGraphMemTrim", [&] { Process::get().device(device); });
}
