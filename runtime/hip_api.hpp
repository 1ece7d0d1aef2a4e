// SPDX-License-Identifier: Apache-2.0
// The HIP functions that zyfa calls, as pointers filled by dlsym. Types come from the real headers. Include
// it in .cpp files only.
#pragma once

#include <string>

#include <hip/hip_runtime_api.h>

namespace zyfa::runtime {

// Functions that must be there, and those without which zyfa still runs.
#define ZYFA_HIP_REQUIRED(X)                                                                                 \
    X(hipGetErrorName)                                                                                       \
    X(hipGetErrorString)                                                                                     \
    X(hipGetLastError)                                                                                       \
    X(hipInit)                                                                                               \
    X(hipGetDeviceCount)                                                                                     \
    X(hipGetDevice)                                                                                          \
    X(hipSetDevice)                                                                                          \
    X(hipGetDevicePropertiesR0600)                                                                           \
    X(hipDeviceGetAttribute)                                                                                 \
    X(hipDeviceGetPCIBusId)                                                                                  \
    X(hipDeviceSynchronize)                                                                                  \
    X(hipModuleLoadData)                                                                                     \
    X(hipModuleUnload)                                                                                       \
    X(hipModuleGetFunction)                                                                                  \
    X(hipModuleLaunchKernel)                                                                                 \
    X(hipStreamCreateWithFlags)                                                                              \
    X(hipStreamDestroy)                                                                                      \
    X(hipStreamSynchronize)                                                                                  \
    X(hipStreamIsCapturing)                                                                                  \
    X(hipEventCreate)                                                                                        \
    X(hipEventDestroy)                                                                                       \
    X(hipEventRecord)                                                                                        \
    X(hipEventSynchronize)                                                                                   \
    X(hipEventElapsedTime)                                                                                   \
    X(hipFree)                                                                                               \
    X(hipMemcpy)                                                                                             \
    X(hipMemset)                                                                                             \
    X(hipMemGetAddressRange)                                                                                 \
    X(hipPointerGetAttributes)

#define ZYFA_HIP_OPTIONAL(X)                                                                                 \
    X(hipEventQuery)                                                                                         \
    X(hipFreeAsync)                                                                                          \
    X(hipMemcpyAsync)                                                                                        \
    X(hipMemsetAsync)                                                                                        \
    X(hipRuntimeGetVersion)                                                                                  \
    X(hipDriverGetVersion)                                                                                   \
    X(hipThreadExchangeStreamCaptureMode)                                                                    \
    X(hipStreamGetDevice)

struct HipApi {
#define ZYFA_HIP_MEMBER(name) decltype(&::name) name = nullptr;
    ZYFA_HIP_REQUIRED(ZYFA_HIP_MEMBER)
    ZYFA_HIP_OPTIONAL(ZYFA_HIP_MEMBER)
#undef ZYFA_HIP_MEMBER

    hipError_t (*hipMalloc)(void** pointer, std::size_t bytes) = nullptr; ///< overloaded in the headers
    /// Optional; overloaded in the headers.
    hipError_t (*hipMallocAsync)(void** pointer, std::size_t bytes, hipStream_t stream) = nullptr;
    /// Optional; not in the headers before HIP 7.1.
    hipError_t (*hipStreamGetId)(hipStream_t stream, unsigned long long* id) = nullptr;

    // Of the simulator (sim/hip/zyfa_sim.h); null on a real GPU.
    const char* (*zyfaSimVersion)() = nullptr;
    const char* (*zyfaSimLastFault)() = nullptr;
    int (*zyfaSimClearFault)(int device) = nullptr;
    int (*zyfaSimStopKernels)(int device) = nullptr;

    /// Fills the table from a handle of dlopen. Returns the name of the first required function that is
    /// missing, or nothing.
    std::string load(void* handle);
};

/// Throws Error{device_error} unless status is hipSuccess: "function(details): hipErrorX (text)", with the
/// simulator's report of the fault where there is one.
void check(const HipApi& hip, hipError_t status, const char* function, const std::string& details = {});

} // namespace zyfa::runtime
