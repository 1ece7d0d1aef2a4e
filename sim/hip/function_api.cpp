// SPDX-License-Identifier: Apache-2.0
// Attributes of functions, and occupancy.
#include <algorithm>

#include "sim/hip/launch.hpp"
#include "sim/hip/limits.hpp"
#include "sim/hip/process.hpp"

using namespace zyfa::sim::hip;
using zyfa::sim::Kernel;

namespace {

/// COMPUTE_PGM_RSRC1[5:0]: granules of the unified register file minus 1 (LLVM: AMDGPUUsage).
int registers(const Kernel& kernel) {
    return static_cast<int>(((kernel.rsrc1 & 0x3f) + 1) * limits::vgpr_granule);
}

int max_block(const Kernel& kernel) {
    return static_cast<int>(std::min(kernel.max_workgroup_size, limits::workgroup_size));
}

void active_blocks(int* blocks, const Kernel& kernel, int block_size, std::size_t dynamic_lds) {
    require(blocks && block_size > 0, hipErrorInvalidValue, "null result pointer or block size");
    *blocks = static_cast<int>(resident_workgroups(kernel, static_cast<unsigned>(block_size), dynamic_lds));
}

/// The largest block of the highest occupancy in work-items, and the grid that fills the device with it.
void potential_block(int* grid, int* block, const Function& function, std::size_t dynamic_lds, int limit) {
    require(grid && block, hipErrorInvalidValue, "null result pointer");
    const int largest =
        limit > 0 ? std::min(limit, max_block(*function.kernel)) : max_block(*function.kernel);
    unsigned best = 0, groups = 0;
    *block = 0;
    for (int size = largest; size > 0;
         size = size % static_cast<int>(limits::wave_size)
                    ? size / static_cast<int>(limits::wave_size) * static_cast<int>(limits::wave_size)
                    : size - static_cast<int>(limits::wave_size)) {
        const unsigned here = resident_workgroups(*function.kernel, static_cast<unsigned>(size), dynamic_lds);
        if (here * static_cast<unsigned>(size) > best) {
            best = here * static_cast<unsigned>(size);
            groups = here;
            *block = size;
        }
    }
    *grid = static_cast<int>(groups * Process::get().device(function.device).options().compute_units);
}

} // namespace

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* handle) {
    return api("hipFuncGetAttributes", [&] {
        require(attributes != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto function = function_from_any(handle);
        const Kernel& kernel = *function->kernel;
        *attributes = {};
        attributes->binaryVersion = attributes->ptxVersion = 95; // major * 10 + minor
        attributes->localSizeBytes = kernel.scratch;
        attributes->sharedSizeBytes = kernel.static_lds;
        attributes->maxDynamicSharedSizeBytes =
            static_cast<int>(limits::lds_bytes - std::min<std::size_t>(kernel.static_lds, limits::lds_bytes));
        attributes->maxThreadsPerBlock = max_block(kernel);
        attributes->numRegs = registers(kernel);
    });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
    return api("hipFuncGetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto function = resolve_function(handle);
        const Kernel& kernel = *function->kernel;
        switch (attribute) {
        case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value = static_cast<int>(kernel.static_lds);
            break;
        case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = max_block(kernel);
            break;
        case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = 0;
            break;
        case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            *value = static_cast<int>(kernel.scratch);
            break;
        case HIP_FUNC_ATTRIBUTE_NUM_REGS:
            *value = registers(kernel);
            break;
        case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
        case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = 95;
            break;
        case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = static_cast<int>(limits::lds_bytes -
                                      std::min<std::size_t>(kernel.static_lds, limits::lds_bytes));
            break;
        default:
            fail(hipErrorInvalidValue, "attribute");
        }
    });
}

// All of LDS can be asked for at launch; nothing has to be set before.
hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) {
    return api("hipFuncSetAttribute", [&] {
        function_from_any(function);
        switch (attribute) {
        case hipFuncAttributeMaxDynamicSharedMemorySize:
            return require(value >= 0 && static_cast<std::size_t>(value) <= limits::lds_bytes,
                           hipErrorInvalidValue, "more than 160 KiB of LDS");
        case hipFuncAttributePreferredSharedMemoryCarveout:
            return require(value >= -1 && value <= 100, hipErrorInvalidValue, "percentage");
        default:
            fail(hipErrorInvalidValue, "attribute");
        }
    });
}
hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t) {
    return api("hipFuncSetCacheConfig", [&] { function_from_any(function); });
}
hipError_t hipFuncSetSharedMemConfig(const void* function, hipSharedMemConfig) {
    return api("hipFuncSetSharedMemConfig", [&] { function_from_any(function); });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                              int block_size, size_t dynamic_lds) {
    return api("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
               [&] { active_blocks(blocks, *resolve_function(function)->kernel, block_size, dynamic_lds); });
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, hipFunction_t function,
                                                                       int block_size, size_t dynamic_lds,
                                                                       unsigned int) {
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_lds);
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                        size_t dynamic_lds) {
    return api("hipOccupancyMaxActiveBlocksPerMultiprocessor",
               [&] { active_blocks(blocks, *function_from_any(function)->kernel, block_size, dynamic_lds); });
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                 int block_size, size_t dynamic_lds,
                                                                 unsigned int) {
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_lds);
}
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function,
                                                   size_t dynamic_lds, int limit) {
    return api("hipModuleOccupancyMaxPotentialBlockSize",
               [&] { potential_block(grid, block, *resolve_function(function), dynamic_lds, limit); });
}
hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t function,
                                                            size_t dynamic_lds, int limit, unsigned int) {
    return hipModuleOccupancyMaxPotentialBlockSize(grid, block, function, dynamic_lds, limit);
}
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t dynamic_lds,
                                             int limit) {
    return api("hipOccupancyMaxPotentialBlockSize",
               [&] { potential_block(grid, block, *function_from_any(function), dynamic_lds, limit); });
}
hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* handle, int blocks,
                                                    int block_size) {
    return api("hipOccupancyAvailableDynamicSMemPerBlock", [&] {
        require(bytes && blocks > 0 && block_size > 0, hipErrorInvalidValue, "arguments");
        const auto function = function_from_any(handle);
        const std::size_t share =
            limits::lds_bytes / static_cast<std::size_t>(blocks) / limits::lds_granule * limits::lds_granule;
        *bytes = share - std::min<std::size_t>(share, function->kernel->static_lds);
    });
}
