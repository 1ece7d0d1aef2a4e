// SPDX-License-Identifier: Apache-2.0
// Launching: checks, the kernel-argument block with its hidden arguments, and all of HIP's launch calls.
#include "sim/hip/launch.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <hip/hip_ext.h>

#include "sim/hip/limits.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

bool hidden(const KernelArgument& argument) {
    return argument.value_kind.starts_with("hidden_");
}

/// Value of a hidden argument (LLVM: AMDGPUUsage, "AMDHSA Code Object V5 Kernel Argument Metadata").
/// Everything that needs a service of the host (printf, device malloc, device enqueue) is 0.
std::uint64_t hidden_value(const std::string& kind, const KernelOperation& launch) {
    for (unsigned i = 0; i < 3; ++i) {
        const char axis = static_cast<char>('x' + i);
        const auto is = [&](const char* name) { return kind == std::string(name) + axis; };
        if (is("hidden_block_count_"))
            return launch.grid[i];
        if (is("hidden_group_size_"))
            return launch.block[i];
    }
    if (kind == "hidden_grid_dims")
        return launch.grid[2] * launch.block[2] > 1 ? 3 : launch.grid[1] * launch.block[1] > 1 ? 2 : 1;
    if (kind == "hidden_dynamic_lds_size")
        return launch.dynamic_lds;
    return 0; // global offsets and remainders are 0: a launch has whole workgroups and begins at 0
}

void write(std::vector<std::byte>& block, std::uint32_t offset, std::uint32_t size, const void* value) {
    require(static_cast<std::size_t>(offset) + size <= block.size(), hipErrorInvalidImage,
            "metadata names an argument beyond the kernel-argument block");
    std::memcpy(block.data() + offset, value, size);
}

void pack_parameters(KernelOperation& launch, void** parameters) {
    const auto arguments = explicit_arguments(*launch.function->kernel);
    require(arguments.empty() || parameters, hipErrorInvalidValue,
            "the kernel has arguments, none were given");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        require(parameters[i] != nullptr, hipErrorInvalidValue, "null parameter pointer");
        write(launch.kernarg, arguments[i]->offset, arguments[i]->size, parameters[i]);
    }
}

void pack_extra(KernelOperation& launch, void** extra) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (void** entry = extra; *entry != HIP_LAUNCH_PARAM_END; entry += 2) {
        if (*entry == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = entry[1];
        else if (*entry == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *static_cast<const std::size_t*>(entry[1]);
        else
            fail(hipErrorInvalidValue, "unknown entry in extra");
    }
    require(buffer || bytes == 0, hipErrorInvalidValue, "extra has no buffer");
    std::size_t needed = 0;
    for (const KernelArgument* argument : explicit_arguments(*launch.function->kernel))
        needed = std::max<std::size_t>(needed, argument->offset + argument->size);
    require(bytes >= needed, hipErrorInvalidValue,
            "the argument buffer is smaller than the kernel's arguments");
    if (bytes > launch.kernarg.size())
        launch.kernarg.resize(bytes); // AITER's descriptors leave kernarg_size 0
    std::memcpy(launch.kernarg.data(), buffer, bytes);
}

void check_shape(const Kernel& kernel, const LaunchShape& shape) {
    std::uint64_t threads = 1;
    for (unsigned i = 0; i < 3; ++i) {
        require(shape.grid[i] > 0 && shape.block[i] > 0, hipErrorInvalidConfiguration, "an extent is 0");
        require(shape.block[i] <= limits::workgroup_size, hipErrorInvalidConfiguration, "block too large");
        require(shape.grid[i] * shape.block[i] <= std::numeric_limits<std::uint32_t>::max(),
                hipErrorInvalidConfiguration, "more than 2^32 - 1 work-items in one dimension");
        threads *= shape.block[i];
    }
    require(threads <= limits::workgroup_size, hipErrorInvalidConfiguration,
            "more than 1024 work-items per block");
    require(threads <= kernel.max_workgroup_size, hipErrorLaunchFailure,
            "more work-items per block than the kernel was built for");
    require(kernel.static_lds + shape.dynamic_lds <= limits::lds_bytes, hipErrorInvalidValue,
            "more than 160 KiB of LDS");
}

} // namespace

std::vector<const KernelArgument*> explicit_arguments(const Kernel& kernel) {
    std::vector<const KernelArgument*> arguments;
    for (const auto& argument : kernel.arguments)
        if (!hidden(argument))
            arguments.push_back(&argument);
    return arguments;
}

unsigned resident_workgroups(const Kernel& kernel, unsigned block_size, std::size_t dynamic_lds) {
    if (block_size == 0 || block_size > kernel.max_workgroup_size || block_size > limits::workgroup_size)
        return 0;
    const unsigned waves = (block_size + limits::wave_size - 1) / limits::wave_size;
    // COMPUTE_PGM_RSRC1[5:0]: granules of the unified file minus 1 (LLVM: AMDGPUUsage).
    const unsigned registers = ((kernel.rsrc1 & 0x3f) + 1) * limits::vgpr_granule;
    const unsigned waves_per_simd = std::min(limits::waves_per_simd, limits::vgprs_per_simd / registers);
    unsigned groups =
        std::min(waves_per_simd * limits::simds / waves, limits::work_items_per_cu / block_size);
    const std::size_t lds = (kernel.static_lds + dynamic_lds + limits::lds_granule - 1) /
                            limits::lds_granule * limits::lds_granule;
    if (lds > 0)
        groups = static_cast<unsigned>(std::min<std::size_t>(groups, limits::lds_bytes / lds));
    return groups;
}

std::shared_ptr<Function> function_from_any(const void* handle) {
    require(handle != nullptr, hipErrorInvalidDeviceFunction, "null function");
    if (auto function = find_registered_function(handle))
        return function;
    auto function = Process::get().functions.find(handle);
    require(function != nullptr, hipErrorInvalidDeviceFunction,
            "no kernel is registered for that host function");
    return function;
}

KernelOperation make_kernel(std::shared_ptr<Function> function, const LaunchShape& shape, void** parameters,
                            void** extra) {
    const Kernel& kernel = *function->kernel;
    check_shape(kernel, shape);
    require(!parameters || !extra, hipErrorInvalidValue, "both kernelParams and extra");
    if (shape.cooperative) {
        const auto block = static_cast<unsigned>(shape.block[0] * shape.block[1] * shape.block[2]);
        const std::uint64_t resident =
            static_cast<std::uint64_t>(resident_workgroups(kernel, block, shape.dynamic_lds)) *
            Process::get().device(function->device).options().compute_units;
        require(shape.grid[0] * shape.grid[1] * shape.grid[2] <= resident, hipErrorCooperativeLaunchTooLarge,
                "the grid does not fit the device at once");
    }
    KernelOperation launch;
    launch.function = std::move(function);
    for (unsigned i = 0; i < 3; ++i) {
        launch.grid[i] = static_cast<std::uint32_t>(shape.grid[i]);
        launch.block[i] = static_cast<std::uint32_t>(shape.block[i]);
    }
    launch.dynamic_lds = static_cast<std::uint32_t>(shape.dynamic_lds);
    launch.cooperative = shape.cooperative;
    launch.kernarg.resize(kernel.kernarg_size);
    if (extra)
        pack_extra(launch, extra);
    else
        pack_parameters(launch, parameters);
    for (const auto& argument : kernel.arguments)
        if (hidden(argument)) {
            const std::uint64_t value = hidden_value(argument.value_kind, launch);
            write(launch.kernarg, argument.offset, std::min<std::uint32_t>(argument.size, 8), &value);
        }
    return launch;
}

namespace {

/// `start` and `stop` stand for the begin and the end of the kernel itself (hipExtModuleLaunchKernel).
void launch(std::shared_ptr<Function> function, const LaunchShape& shape, void** parameters, void** extra,
            hipStream_t handle, hipEvent_t start = nullptr, hipEvent_t stop = nullptr) {
    const StreamPtr stream = resolve_stream(handle);
    require(function->device == stream->device.ordinal, hipErrorInvalidHandle,
            "the function was loaded on another device than the stream's");
    const EventPtr begin = start ? resolve_event(start) : nullptr, end = stop ? resolve_event(stop) : nullptr;
    if (begin || end) {
        std::lock_guard lock(Process::get().scheduler.mutex);
        stream->device.watched = true;
    }
    const CompletionPtr completion =
        submit(stream, make_kernel(std::move(function), shape, parameters, extra));
    if (!completion)
        return;
    std::lock_guard lock(Process::get().scheduler.mutex);
    if (begin) {
        begin->record = completion;
        begin->at_begin = true;
    }
    if (end) {
        end->record = completion;
        end->at_begin = false;
    }
}

LaunchShape shape_of(const dim3& grid, const dim3& block, std::size_t dynamic_lds, bool cooperative = false) {
    return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_lds, cooperative};
}

/// A grid given in work-items: hipExtModuleLaunchKernel. Partial workgroups are refused, as the engine has
/// none.
LaunchShape shape_of_work_items(std::array<std::uint64_t, 3> items, std::array<std::uint64_t, 3> block,
                                std::size_t dynamic_lds) {
    LaunchShape shape{items, block, dynamic_lds, false};
    for (unsigned i = 0; i < 3; ++i) {
        require(block[i] > 0, hipErrorInvalidConfiguration, "an extent is 0");
        require(items[i] % block[i] == 0, hipErrorInvalidConfiguration,
                "the global size is not a multiple of the block (the simulator runs whole workgroups)");
        shape.grid[i] = items[i] / block[i];
    }
    return shape;
}

std::shared_ptr<Function> registered(const void* host_function) {
    require(host_function != nullptr, hipErrorInvalidDeviceFunction, "null function");
    auto function = find_registered_function(host_function);
    require(function != nullptr, hipErrorInvalidDeviceFunction,
            "no kernel is registered for that host function");
    return function;
}

bool cooperative(const hipLaunchAttribute* attributes, unsigned count) {
    return std::any_of(attributes, attributes + count, [](const hipLaunchAttribute& attribute) {
        return attribute.id == hipLaunchAttributeCooperative && attribute.val.cooperative;
    });
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int dynamic_lds, hipStream_t stream,
                                 void** parameters, void** extra) {
    return api("hipModuleLaunchKernel", [&] {
        launch(resolve_function(function),
               {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds, false}, parameters, extra,
               stream);
    });
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                            unsigned int block_z, unsigned int dynamic_lds,
                                            hipStream_t stream, void** parameters) {
    return api("hipModuleLaunchCooperativeKernel", [&] {
        launch(resolve_function(function),
               {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds, true}, parameters,
               nullptr, stream);
    });
}

ZYFA_HIP_API hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t global_x, uint32_t global_y,
                                                 uint32_t global_z, uint32_t block_x, uint32_t block_y,
                                                 uint32_t block_z, size_t dynamic_lds, hipStream_t stream,
                                                 void** parameters, void** extra, hipEvent_t start,
                                                 hipEvent_t stop, uint32_t) {
    return api("hipExtModuleLaunchKernel", [&] {
        launch(resolve_function(function),
               shape_of_work_items({global_x, global_y, global_z}, {block_x, block_y, block_z}, dynamic_lds),
               parameters, extra, stream, start, stop);
    });
}

ZYFA_HIP_API hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t global_x, uint32_t global_y,
                                                 uint32_t global_z, uint32_t block_x, uint32_t block_y,
                                                 uint32_t block_z, size_t dynamic_lds, hipStream_t stream,
                                                 void** parameters, void** extra, hipEvent_t start,
                                                 hipEvent_t stop) {
    return hipExtModuleLaunchKernel(function, global_x, global_y, global_z, block_x, block_y, block_z,
                                    dynamic_lds, stream, parameters, extra, start, stop, 0);
}

// AMD's library has both under their C++ names too, for programs built when they had C++ linkage.
ZYFA_HIP_API hipError_t ext_module_launch_kernel_cxx(
    hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, hipStream_t, void**,
    void**, hipEvent_t, hipEvent_t, uint32_t) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_"
                                                      "tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
ZYFA_HIP_API hipError_t hcc_module_launch_kernel_cxx(
    hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, hipStream_t, void**,
    void**, hipEvent_t, hipEvent_t) __asm__("_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_"
                                            "tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_");

hipError_t ext_module_launch_kernel_cxx(hipFunction_t function, uint32_t global_x, uint32_t global_y,
                                        uint32_t global_z, uint32_t block_x, uint32_t block_y,
                                        uint32_t block_z, size_t dynamic_lds, hipStream_t stream,
                                        void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                        uint32_t flags) {
    return hipExtModuleLaunchKernel(function, global_x, global_y, global_z, block_x, block_y, block_z,
                                    dynamic_lds, stream, parameters, extra, start, stop, flags);
}

hipError_t hcc_module_launch_kernel_cxx(hipFunction_t function, uint32_t global_x, uint32_t global_y,
                                        uint32_t global_z, uint32_t block_x, uint32_t block_y,
                                        uint32_t block_z, size_t dynamic_lds, hipStream_t stream,
                                        void** parameters, void** extra, hipEvent_t start, hipEvent_t stop) {
    return hipExtModuleLaunchKernel(function, global_x, global_y, global_z, block_x, block_y, block_z,
                                    dynamic_lds, stream, parameters, extra, start, stop, 0);
}

hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** parameters,
                                void** extra) {
    return api("hipDrvLaunchKernelEx", [&] {
        require(config != nullptr, hipErrorInvalidValue, "null configuration");
        launch(resolve_function(function),
               {{config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ},
                config->sharedMemBytes,
                cooperative(config->attrs, config->numAttrs)},
               parameters, extra, config->hStream);
    });
}

hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* function, void** arguments) {
    return api("hipLaunchKernelExC", [&] {
        require(config != nullptr, hipErrorInvalidValue, "null configuration");
        launch(registered(function),
               shape_of(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                        cooperative(config->attrs, config->numAttrs)),
               arguments, nullptr, config->stream);
    });
}

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t dynamic_lds,
                           hipStream_t stream) {
    return api("hipLaunchKernel", [&] {
        launch(registered(function), shape_of(grid, block, dynamic_lds), arguments, nullptr, stream);
    });
}

ZYFA_HIP_API hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block, void** arguments,
                                            size_t dynamic_lds, hipStream_t stream) {
    return api("hipLaunchKernel_spt", [&] {
        launch(registered(function), shape_of(grid, block, dynamic_lds), arguments, nullptr,
               per_thread(stream));
    });
}

hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                              size_t dynamic_lds, hipStream_t stream, hipEvent_t start, hipEvent_t stop,
                              int) {
    return api("hipExtLaunchKernel", [&] {
        launch(registered(function), shape_of(grid, block, dynamic_lds), arguments, nullptr, stream, start,
               stop);
    });
}

hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                      unsigned int dynamic_lds, hipStream_t stream) {
    return api("hipLaunchCooperativeKernel", [&] {
        launch(registered(function), shape_of(grid, block, dynamic_lds, true), arguments, nullptr, stream);
    });
}

ZYFA_HIP_API hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block,
                                                       void** arguments, uint32_t dynamic_lds,
                                                       hipStream_t stream) {
    return api("hipLaunchCooperativeKernel_spt", [&] {
        launch(registered(function), shape_of(grid, block, dynamic_lds, true), arguments, nullptr,
               per_thread(stream));
    });
}
