// SPDX-License-Identifier: Apache-2.0
// Device properties and attributes. Sizes and clocks: AMD Instinct MI355X data sheet, CDNA4 white paper,
// paper Table I; limits: as HIP reports them for gfx94x and gfx950.
#include "sim/hip/properties.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <hip/hip_deprecated.h>

#include "sim/hip/limits.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

constexpr int memory_clock_khz = 2'000'000; ///< HBM3E at 8 Gb/s per pin: 8 TB/s over 8192 bits
constexpr int memory_bus_bits = 8192;
constexpr int wall_clock_khz = 100'000; ///< s_memrealtime: 100 MHz on gfx94x and gfx950
constexpr int l2_bytes = 4 << 20;       ///< per XCD
constexpr int pci_chip_id = 0x75a3;     ///< Linux amdgpu device id of MI355X
constexpr int largest = 2147483647;

int clock_khz(const DeviceOptions& options) {
    return static_cast<int>(peak_clock_ghz * options.clock_factor * 1e6 + 0.5);
}

int pci_bus(const Device& device) {
    return 0x05 + 0x10 * device.ordinal;
}

void copy_text(char* target, std::size_t size, const std::string& text) {
    std::memset(target, 0, size);
    std::memcpy(target, text.data(), std::min(size - 1, text.size()));
}

hipDeviceArch_t architecture() {
    hipDeviceArch_t arch{};
    arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = 1;
    arch.hasSharedFloatAtomicExch = arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = 1;
    arch.hasSharedInt64Atomics = arch.hasDoubles = arch.hasWarpVote = arch.hasWarpBallot = 1;
    arch.hasWarpShuffle = arch.hasThreadFenceSystem = arch.hasSyncThreadsExt = arch.has3dGrid = 1;
    return arch;
}

} // namespace

int hip_version() {
    static const int version = [] {
        const char* text = std::getenv("ZYFA_SIM_HIP_VERSION");
        const int given = text ? std::atoi(text) : 0;
        return given > 0 ? given : HIP_VERSION;
    }();
    return version;
}

std::string pci_bus_id(const Device& device) {
    char text[32];
    std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(pci_bus(device)));
    return text;
}

hipDeviceProp_t device_properties(const Device& device) {
    const DeviceOptions options = device.options();
    hipDeviceProp_t p{};
    copy_text(p.name, sizeof p.name, options.name);
    std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "zyfasim%08d", device.ordinal);
    p.totalGlobalMem = options.memory;
    p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = limits::lds_bytes;
    p.maxSharedMemoryPerMultiProcessor = limits::lds_bytes;
    p.regsPerBlock = p.regsPerMultiprocessor = limits::vgprs_per_simd * limits::simds * limits::wave_size / 2;
    p.warpSize = limits::wave_size;
    p.memPitch = largest;
    p.maxThreadsPerBlock = limits::workgroup_size;
    std::fill_n(p.maxThreadsDim, 3, static_cast<int>(limits::workgroup_size));
    p.maxGridSize[0] = largest;
    p.maxGridSize[1] = p.maxGridSize[2] = 65536;
    p.clockRate = clock_khz(options);
    p.totalConstMem = largest;
    p.major = 9;
    p.minor = 5;
    p.textureAlignment = p.texturePitchAlignment = p.surfaceAlignment = 256;
    p.multiProcessorCount = static_cast<int>(options.compute_units);
    p.canMapHostMemory = 1;
    p.computeMode = hipComputeModeDefault;
    p.concurrentKernels = 1;
    p.ECCEnabled = 1;
    p.pciBusID = pci_bus(device);
    p.asyncEngineCount = 1;
    p.unifiedAddressing = 1;
    p.memoryClockRate = memory_clock_khz;
    p.memoryBusWidth = memory_bus_bits;
    p.l2CacheSize = l2_bytes;
    p.maxThreadsPerMultiProcessor = limits::work_items_per_cu;
    p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = p.localL1CacheSupported = 1;
    p.managedMemory = p.concurrentManagedAccess = 1;
    p.hostNativeAtomicSupported = 1;
    p.canUseHostPointerForRegisteredMem = 1;
    p.cooperativeLaunch = 1;
    p.maxBlocksPerMultiProcessor = limits::waves_per_simd * limits::simds;
    p.hostRegisterSupported = 1;
    p.memoryPoolsSupported = 1;
    copy_text(p.gcnArchName, sizeof p.gcnArchName, target_name);
    p.clockInstructionRate = wall_clock_khz;
    p.arch = architecture();
    p.isLargeBar = 1;
    return p;
}

int device_attribute(const Device& device, hipDeviceAttribute_t attribute) {
    const DeviceOptions options = device.options();
    const hipDeviceProp_t p = device_properties(device);
    switch (attribute) {
    case hipDeviceAttributeEccEnabled:
        return p.ECCEnabled;
    case hipDeviceAttributeAsyncEngineCount:
        return p.asyncEngineCount;
    case hipDeviceAttributeCanMapHostMemory:
        return p.canMapHostMemory;
    case hipDeviceAttributeCanUseHostPointerForRegisteredMem:
        return p.canUseHostPointerForRegisteredMem;
    case hipDeviceAttributeClockRate:
        return p.clockRate;
    case hipDeviceAttributeComputeMode:
        return p.computeMode;
    case hipDeviceAttributeConcurrentKernels:
        return p.concurrentKernels;
    case hipDeviceAttributeConcurrentManagedAccess:
        return p.concurrentManagedAccess;
    case hipDeviceAttributeCooperativeLaunch:
        return p.cooperativeLaunch;
    case hipDeviceAttributeGlobalL1CacheSupported:
        return p.globalL1CacheSupported;
    case hipDeviceAttributeLocalL1CacheSupported:
        return p.localL1CacheSupported;
    case hipDeviceAttributeHostNativeAtomicSupported:
        return p.hostNativeAtomicSupported;
    case hipDeviceAttributeL2CacheSize:
        return p.l2CacheSize;
    case hipDeviceAttributeComputeCapabilityMajor:
        return p.major;
    case hipDeviceAttributeComputeCapabilityMinor:
        return p.minor;
    case hipDeviceAttributeManagedMemory:
        return p.managedMemory;
    case hipDeviceAttributeMaxBlocksPerMultiProcessor:
        return p.maxBlocksPerMultiProcessor;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
    case hipDeviceAttributeMaxThreadsDim:
    case hipDeviceAttributeMaxThreadsPerBlock:
        return p.maxThreadsPerBlock;
    case hipDeviceAttributeMaxGridDimX:
        return p.maxGridSize[0];
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
        return p.maxGridSize[1];
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
        return p.maxThreadsPerMultiProcessor;
    case hipDeviceAttributeMaxPitch:
        return static_cast<int>(p.memPitch);
    case hipDeviceAttributeMemoryBusWidth:
        return p.memoryBusWidth;
    case hipDeviceAttributeMemoryClockRate:
        return p.memoryClockRate;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
        return p.multiProcessorCount;
    case hipDeviceAttributePciBusId:
        return p.pciBusID;
    case hipDeviceAttributePciDeviceId:
        return p.pciDeviceID;
    case hipDeviceAttributePciDomainId:
        return p.pciDomainID;
    case hipDeviceAttributeMaxRegistersPerBlock:
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
        return p.regsPerBlock;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
        return static_cast<int>(p.sharedMemPerBlock);
    case hipDeviceAttributeStreamPrioritiesSupported:
        return p.streamPrioritiesSupported;
    case hipDeviceAttributeSurfaceAlignment:
    case hipDeviceAttributeTextureAlignment:
    case hipDeviceAttributeTexturePitchAlignment:
        return 256;
    case hipDeviceAttributeTotalConstantMemory:
        return static_cast<int>(p.totalConstMem);
    case hipDeviceAttributeTotalGlobalMem:
        return static_cast<int>(std::min<std::size_t>(p.totalGlobalMem, largest));
    case hipDeviceAttributeUnifiedAddressing:
        return p.unifiedAddressing;
    case hipDeviceAttributeWarpSize:
        return p.warpSize;
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeVirtualMemoryManagementSupported:
    case hipDeviceAttributeHostRegisterSupported:
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeFineGrainSupport:
    case hipDeviceAttributeIsLargeBar:
        return 1;
    case hipDeviceAttributeHostNumaId:
        return -1;
    case hipDeviceAttributeClockInstructionRate:
    case hipDeviceAttributeWallClockRate:
        return wall_clock_khz;
    case hipDeviceAttributeNumberOfXccs:
        return static_cast<int>(options.xcds);
    case hipDeviceAttributeMaxAvailableVgprsPerThread:
        return limits::vgprs_per_simd;
    case hipDeviceAttributePciChipId:
        return pci_chip_id;
    // What the device does not have, and limits of what the simulator does not support.
    case hipDeviceAttributeAccessPolicyMaxWindowSize:
    case hipDeviceAttributeComputePreemptionSupported:
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
    case hipDeviceAttributeDeviceOverlap:
    case hipDeviceAttributeDirectManagedMemAccessFromHost:
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeIsMultiGpuBoard:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributeMaxSurface1D:
    case hipDeviceAttributeMaxSurface1DLayered:
    case hipDeviceAttributeMaxSurface2D:
    case hipDeviceAttributeMaxSurface2DLayered:
    case hipDeviceAttributeMaxSurface3D:
    case hipDeviceAttributeMaxSurfaceCubemap:
    case hipDeviceAttributeMaxSurfaceCubemapLayered:
    case hipDeviceAttributeMaxTexture1DWidth:
    case hipDeviceAttributeMaxTexture1DLayered:
    case hipDeviceAttributeMaxTexture1DLinear:
    case hipDeviceAttributeMaxTexture1DMipmap:
    case hipDeviceAttributeMaxTexture2DWidth:
    case hipDeviceAttributeMaxTexture2DHeight:
    case hipDeviceAttributeMaxTexture2DGather:
    case hipDeviceAttributeMaxTexture2DLayered:
    case hipDeviceAttributeMaxTexture2DLinear:
    case hipDeviceAttributeMaxTexture2DMipmap:
    case hipDeviceAttributeMaxTexture3DWidth:
    case hipDeviceAttributeMaxTexture3DHeight:
    case hipDeviceAttributeMaxTexture3DDepth:
    case hipDeviceAttributeMaxTexture3DAlt:
    case hipDeviceAttributeMaxTextureCubemap:
    case hipDeviceAttributeMaxTextureCubemapLayered:
    case hipDeviceAttributeMultiGpuBoardGroupID:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables:
    case hipDeviceAttributePersistingL2CacheMaxSize:
    case hipDeviceAttributeReservedSharedMemPerBlock:
    case hipDeviceAttributeSingleToDoublePrecisionPerfRatio:
    case hipDeviceAttributeTccDriver:
    case hipDeviceAttributeMemoryPoolSupportedHandleTypes:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim:
    case hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem:
    case hipDeviceAttributeAsicRevision:
    case hipDeviceAttributeImageSupport:
        return 0;
    default:
        fail(hipErrorInvalidValue, "no such device attribute");
    }
}

namespace {

hipDeviceProp_tR0000 old_properties(const Device& device) {
    const hipDeviceProp_t p = device_properties(device);
    hipDeviceProp_tR0000 o{};
    std::memcpy(o.name, p.name, sizeof o.name);
    o.totalGlobalMem = p.totalGlobalMem;
    o.sharedMemPerBlock = p.sharedMemPerBlock;
    o.regsPerBlock = p.regsPerBlock;
    o.warpSize = p.warpSize;
    o.maxThreadsPerBlock = p.maxThreadsPerBlock;
    std::copy_n(p.maxThreadsDim, 3, o.maxThreadsDim);
    std::copy_n(p.maxGridSize, 3, o.maxGridSize);
    o.clockRate = p.clockRate;
    o.memoryClockRate = p.memoryClockRate;
    o.memoryBusWidth = p.memoryBusWidth;
    o.totalConstMem = p.totalConstMem;
    o.major = p.major;
    o.minor = p.minor;
    o.multiProcessorCount = p.multiProcessorCount;
    o.l2CacheSize = p.l2CacheSize;
    o.maxThreadsPerMultiProcessor = p.maxThreadsPerMultiProcessor;
    o.computeMode = p.computeMode;
    o.clockInstructionRate = p.clockInstructionRate;
    o.arch = p.arch;
    o.concurrentKernels = p.concurrentKernels;
    o.pciDomainID = p.pciDomainID;
    o.pciBusID = p.pciBusID;
    o.pciDeviceID = p.pciDeviceID;
    o.maxSharedMemoryPerMultiProcessor = p.maxSharedMemoryPerMultiProcessor;
    o.canMapHostMemory = p.canMapHostMemory;
    std::memcpy(o.gcnArchName, p.gcnArchName, sizeof o.gcnArchName);
    o.cooperativeLaunch = p.cooperativeLaunch;
    o.memPitch = p.memPitch;
    o.textureAlignment = p.textureAlignment;
    o.texturePitchAlignment = p.texturePitchAlignment;
    o.ECCEnabled = p.ECCEnabled;
    o.isLargeBar = p.isLargeBar;
    o.managedMemory = p.managedMemory;
    o.concurrentManagedAccess = p.concurrentManagedAccess;
    return o;
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

// The unversioned names in the library have the layout of ROCm 5; the headers of ROCm 6 and later map them to
// the R0600 names. Both must stay (HIP: hip_deprecated.h).
#undef hipGetDeviceProperties
#undef hipChooseDevice

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* properties, int device) {
    return api("hipGetDeviceProperties", [&] {
        require(properties != nullptr, hipErrorInvalidValue, "null result pointer");
        *properties = device_properties(Process::get().device(device));
    });
}
ZYFA_HIP_API hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device) {
    return api("hipGetDevicePropertiesR0000", [&] {
        require(properties != nullptr, hipErrorInvalidValue, "null result pointer");
        *properties = old_properties(Process::get().device(device));
    });
}
ZYFA_HIP_API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* properties, int device) {
    return hipGetDevicePropertiesR0000(properties, device);
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
    return api("hipDeviceGetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        *value = device_attribute(Process::get().device(device), attribute);
    });
}

namespace {
/// All devices are of one kind: the first is as good as any.
template <class Properties>
hipError_t choose_device(int* device, const Properties* wanted) {
    return api("hipChooseDevice", [&] {
        require(device && wanted, hipErrorInvalidValue, "null pointer");
        Process::get().device_count();
        *device = 0;
    });
}
} // namespace

hipError_t hipChooseDeviceR0600(int* device, const hipDeviceProp_t* wanted) {
    return choose_device(device, wanted);
}
ZYFA_HIP_API hipError_t hipChooseDeviceR0000(int* device, const hipDeviceProp_tR0000* wanted) {
    return choose_device(device, wanted);
}
ZYFA_HIP_API hipError_t hipChooseDevice(int* device, const hipDeviceProp_tR0000* wanted) {
    return choose_device(device, wanted);
}
