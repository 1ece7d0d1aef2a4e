// SPDX-License-Identifier: Apache-2.0
// Devices, contexts (HIP has the primary ones only), peers, versions.
#include <cstring>
#include <string>

#include "sim/hip/graph.hpp"
#include "sim/hip/limits.hpp"
#include "sim/hip/process.hpp"
#include "sim/hip/properties.hpp"

using namespace zyfa::sim::hip;

namespace {

/// A primary context's handle is its device's ordinal plus 1.
hipCtx_t context_of(int device) {
    return reinterpret_cast<hipCtx_t>(static_cast<std::intptr_t>(device) + 1);
}

int device_of(hipCtx_t context) {
    const auto device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
    require(device >= 0, hipErrorInvalidContext, "null context");
    return Process::get().device(device).ordinal;
}

void set_device(int device) {
    thread_state().device = Process::get().device(device).ordinal;
}

hipError_t synchronize_device(const char* function) {
    return api(function, [&] {
        Device& device = Process::get().current_device();
        forbid_in_capture();
        synchronize(device);
    });
}

void enable_peer(int peer, unsigned flags) {
    require(flags == 0, hipErrorInvalidValue, "flags");
    Device& device = Process::get().current_device();
    const int other = Process::get().device(peer).ordinal;
    require(other != device.ordinal, hipErrorInvalidDevice, "a device is not its own peer");
    std::lock_guard lock(Process::get().scheduler.mutex);
    require(!device.peers[static_cast<std::size_t>(other)], hipErrorPeerAccessAlreadyEnabled);
    device.peers[static_cast<std::size_t>(other)] = true;
}

void disable_peer(int peer) {
    Device& device = Process::get().current_device();
    const int other = Process::get().device(peer).ordinal;
    std::lock_guard lock(Process::get().scheduler.mutex);
    require(device.peers[static_cast<std::size_t>(other)], hipErrorPeerAccessNotEnabled);
    device.peers[static_cast<std::size_t>(other)] = false;
}

} // namespace

hipError_t hipInit(unsigned int flags) {
    return api("hipInit", [&] {
        require(flags == 0, hipErrorInvalidValue, "flags");
        Process::get().device_count();
    });
}

hipError_t hipDriverGetVersion(int* version) {
    return api("hipDriverGetVersion", [&] {
        require(version != nullptr, hipErrorInvalidValue, "null result pointer");
        *version = hip_version();
    });
}
hipError_t hipRuntimeGetVersion(int* version) {
    return api("hipRuntimeGetVersion", [&] {
        require(version != nullptr, hipErrorInvalidValue, "null result pointer");
        *version = hip_version();
    });
}

hipError_t hipGetDeviceCount(int* count) {
    return api("hipGetDeviceCount", [&] {
        require(count != nullptr, hipErrorInvalidValue, "null result pointer");
        *count = 0;
        *count = Process::get().device_count();
    });
}
hipError_t hipSetDevice(int device) {
    return api("hipSetDevice", [&] { set_device(device); });
}
hipError_t hipGetDevice(int* device) {
    return api("hipGetDevice", [&] {
        require(device != nullptr, hipErrorInvalidValue, "null result pointer");
        *device = Process::get().current_device().ordinal;
    });
}
hipError_t hipSetValidDevices(int* devices, int count) {
    return api("hipSetValidDevices", [&] {
        require(count == 0 || devices, hipErrorInvalidValue, "null list");
        for (int i = 0; i < count; ++i)
            Process::get().device(devices[i]);
    });
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
    return api("hipDeviceGet", [&] {
        require(device != nullptr, hipErrorInvalidValue, "null result pointer");
        *device = Process::get().device(ordinal).ordinal;
    });
}
hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
    return api("hipDeviceComputeCapability", [&] {
        require(major && minor, hipErrorInvalidValue, "null result pointer");
        *major = device_attribute(Process::get().device(device), hipDeviceAttributeComputeCapabilityMajor);
        *minor = device_attribute(Process::get().device(device), hipDeviceAttributeComputeCapabilityMinor);
    });
}
hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
    return api("hipDeviceGetName", [&] {
        require(name && size > 0, hipErrorInvalidValue, "no room for the name");
        const std::string text = Process::get().device(device).options().name;
        std::strncpy(name, text.c_str(), static_cast<std::size_t>(size) - 1);
        name[size - 1] = 0;
    });
}
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
    return api("hipDeviceGetUuid", [&] {
        require(uuid != nullptr, hipErrorInvalidValue, "null result pointer");
        *uuid = device_properties(Process::get().device(device)).uuid;
    });
}
hipError_t hipDeviceGetPCIBusId(char* text, int size, int device) {
    return api("hipDeviceGetPCIBusId", [&] {
        const std::string id = pci_bus_id(Process::get().device(device));
        require(text && size > static_cast<int>(id.size()), hipErrorInvalidValue, "no room for the id");
        std::memcpy(text, id.c_str(), id.size() + 1);
    });
}
hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
    return api("hipDeviceGetByPCIBusId", [&] {
        require(device && text, hipErrorInvalidValue, "null pointer");
        const int count = Process::get().device_count();
        for (int i = 0; i < count; ++i)
            if (pci_bus_id(Process::get().device(i)) == text) {
                *device = i;
                return;
            }
        fail(hipErrorInvalidValue, "no device has that id");
    });
}
hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
    return api("hipDeviceTotalMem", [&] {
        require(bytes != nullptr, hipErrorInvalidValue, "null result pointer");
        *bytes = Process::get().device(device).options().memory;
    });
}
hipError_t hipDeviceSynchronize(void) {
    return synchronize_device("hipDeviceSynchronize");
}

hipError_t hipDeviceReset(void) {
    return api("hipDeviceReset", [&] {
        Device& device = Process::get().current_device();
        forbid_in_capture();
        try {
            synchronize(device);
        } catch (const Failure&) { // that is what a reset is for
        }
        std::lock_guard lock(Process::get().scheduler.mutex);
        device.fault.reset();
    });
}

hipError_t hipSetDeviceFlags(unsigned flags) {
    return api("hipSetDeviceFlags", [&] {
        const unsigned schedule = flags & hipDeviceScheduleMask;
        require(schedule != hipDeviceScheduleMask && (schedule & (schedule - 1)) == 0, hipErrorInvalidValue,
                "flags");
        Process::get().current_device().flags = flags;
    });
}
hipError_t hipGetDeviceFlags(unsigned int* flags) {
    return api("hipGetDeviceFlags", [&] {
        require(flags != nullptr, hipErrorInvalidValue, "null result pointer");
        *flags = Process::get().current_device().flags;
    });
}
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) {
    return api("hipDeviceSetCacheConfig", [] { Process::get().current_device(); });
}
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
    return api("hipDeviceGetCacheConfig", [&] {
        require(config != nullptr, hipErrorInvalidValue, "null result pointer");
        *config = hipFuncCachePreferNone;
    });
}
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig) {
    return api("hipDeviceSetSharedMemConfig", [] { Process::get().current_device(); });
}
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
    return api("hipDeviceGetSharedMemConfig", [&] {
        require(config != nullptr, hipErrorInvalidValue, "null result pointer");
        *config = hipSharedMemBankSizeFourByte;
    });
}
hipError_t hipDeviceGetLimit(size_t* value, enum hipLimit_t limit) {
    return api("hipDeviceGetLimit", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        switch (limit) {
        case hipLimitStackSize:
            *value = Process::get().current_device().stack_size;
            break;
        case hipLimitMallocHeapSize:
            *value = 0; // device-side malloc is not supported
            break;
        default:
            fail(hipErrorUnsupportedLimit, "limit");
        }
    });
}
hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value) {
    return api("hipDeviceSetLimit", [&] {
        require(limit == hipLimitStackSize, hipErrorUnsupportedLimit, "limit");
        require(value <= 128 * 1024 - 16, hipErrorInvalidValue,
                "more than 128 KiB - 16 of stack per work-item");
        Process::get().current_device().stack_size = static_cast<std::uint32_t>(value);
    });
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return api("hipDeviceGetStreamPriorityRange", [&] {
        if (least)
            *least = 1;
        if (greatest)
            *greatest = -1;
    });
}

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
    return api("hipDeviceCanAccessPeer", [&] {
        require(can != nullptr, hipErrorInvalidValue, "null result pointer");
        *can = Process::get().device(device).ordinal != Process::get().device(peer).ordinal;
    });
}
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags) {
    return api("hipDeviceEnablePeerAccess", [&] { enable_peer(peer, flags); });
}
hipError_t hipDeviceDisablePeerAccess(int peer) {
    return api("hipDeviceDisablePeerAccess", [&] { disable_peer(peer); });
}
hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int source, int target) {
    return api("hipDeviceGetP2PAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        require(Process::get().device(source).ordinal != Process::get().device(target).ordinal,
                hipErrorInvalidDevice, "one device");
        switch (attribute) {
        case hipDevP2PAttrPerformanceRank:
        case hipDevP2PAttrAccessSupported:
        case hipDevP2PAttrNativeAtomicSupported:
            *value = 1;
            break;
        case hipDevP2PAttrHipArrayAccessSupported:
            *value = 0;
            break;
        default:
            fail(hipErrorInvalidValue, "attribute");
        }
    });
}
hipError_t hipExtGetLinkTypeAndHopCount(int first, int second, uint32_t* type, uint32_t* hops) {
    return api("hipExtGetLinkTypeAndHopCount", [&] {
        require(type && hops, hipErrorInvalidValue, "null result pointer");
        require(Process::get().device(first).ordinal != Process::get().device(second).ordinal,
                hipErrorInvalidValue, "one device");
        *type = 4; // HSA_AMD_LINK_INFO_TYPE_XGMI
        *hops = 1;
    });
}

// Contexts

hipError_t hipCtxCreate(hipCtx_t* context, unsigned int flags, hipDevice_t device) {
    return api("hipCtxCreate", [&] {
        require(context != nullptr, hipErrorInvalidValue, "null result pointer");
        Process::get().device(device).flags = flags;
        thread_state().contexts.push_back(thread_state().device);
        set_device(device);
        *context = context_of(device);
    });
}
hipError_t hipCtxDestroy(hipCtx_t context) {
    return api("hipCtxDestroy", [&] {
        const int device = device_of(context);
        auto& stack = thread_state().contexts;
        if (thread_state().device == device && !stack.empty()) {
            thread_state().device = stack.back();
            stack.pop_back();
        }
    });
}
hipError_t hipCtxPushCurrent(hipCtx_t context) {
    return api("hipCtxPushCurrent", [&] {
        const int device = device_of(context);
        thread_state().contexts.push_back(thread_state().device);
        set_device(device);
    });
}
hipError_t hipCtxPopCurrent(hipCtx_t* context) {
    return api("hipCtxPopCurrent", [&] {
        auto& stack = thread_state().contexts;
        require(!stack.empty(), hipErrorInvalidContext, "nothing was pushed");
        if (context)
            *context = context_of(thread_state().device);
        thread_state().device = stack.back();
        stack.pop_back();
    });
}
hipError_t hipCtxSetCurrent(hipCtx_t context) {
    return api("hipCtxSetCurrent", [&] {
        if (context)
            set_device(device_of(context));
    });
}
hipError_t hipCtxGetCurrent(hipCtx_t* context) {
    return api("hipCtxGetCurrent", [&] {
        require(context != nullptr, hipErrorInvalidValue, "null result pointer");
        *context = context_of(Process::get().current_device().ordinal);
    });
}
hipError_t hipCtxGetDevice(hipDevice_t* device) {
    return api("hipCtxGetDevice", [&] {
        require(device != nullptr, hipErrorInvalidValue, "null result pointer");
        *device = Process::get().current_device().ordinal;
    });
}
hipError_t hipCtxGetApiVersion(hipCtx_t, unsigned int* version) {
    return api("hipCtxGetApiVersion", [&] {
        require(version != nullptr, hipErrorInvalidValue, "null result pointer");
        *version = 4; // as AMD's library answers
    });
}
hipError_t hipCtxGetFlags(unsigned int* flags) {
    return hipGetDeviceFlags(flags);
}
hipError_t hipCtxSynchronize(void) {
    return synchronize_device("hipCtxSynchronize");
}
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config) {
    return hipDeviceSetCacheConfig(config);
}
hipError_t hipCtxGetCacheConfig(hipFuncCache_t* config) {
    return hipDeviceGetCacheConfig(config);
}
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config) {
    return hipDeviceSetSharedMemConfig(config);
}
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig* config) {
    return hipDeviceGetSharedMemConfig(config);
}
hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned int flags) {
    return api("hipCtxEnablePeerAccess", [&] { enable_peer(device_of(peer), flags); });
}
hipError_t hipCtxDisablePeerAccess(hipCtx_t peer) {
    return api("hipCtxDisablePeerAccess", [&] { disable_peer(device_of(peer)); });
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned int* flags, int* active) {
    return api("hipDevicePrimaryCtxGetState", [&] {
        Device& owner = Process::get().device(device);
        if (flags)
            *flags = owner.flags;
        if (active)
            *active = thread_state().device == device;
    });
}
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
    return api("hipDevicePrimaryCtxRetain", [&] {
        require(context != nullptr, hipErrorInvalidValue, "null result pointer");
        *context = context_of(Process::get().device(device).ordinal);
    });
}
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
    return api("hipDevicePrimaryCtxRelease", [&] { Process::get().device(device); });
}
hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
    return api("hipDevicePrimaryCtxReset", [&] { Process::get().device(device); });
}
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned int) {
    return api("hipDevicePrimaryCtxSetFlags", [&] {
        Process::get().device(device);
        fail(hipErrorContextAlreadyInUse, "the primary context is always active");
    });
}

hipError_t hipProfilerStart() {
    return hipSuccess;
}
hipError_t hipProfilerStop() {
    return hipSuccess;
}
