// SPDX-License-Identifier: Apache-2.0
// Filling the function table; errors of HIP as exceptions.
#include "runtime/hip_api.hpp"

#include <dlfcn.h>

#include "zyfa/error.hpp"

namespace zyfa::runtime {
namespace {

template <class Pointer>
bool find(void* handle, const char* name, Pointer& pointer) {
    pointer = reinterpret_cast<Pointer>(dlsym(handle, name));
    return pointer != nullptr;
}

/// Codes that a kernel's fault leaves behind.
bool from_kernel(hipError_t status) {
    return status == hipErrorIllegalAddress || status == hipErrorLaunchFailure ||
           status == hipErrorLaunchTimeOut;
}

} // namespace

std::string HipApi::load(void* handle) {
#define ZYFA_HIP_FIND(name)                                                                                  \
    if (!find(handle, #name, name))                                                                          \
        return #name;
    ZYFA_HIP_REQUIRED(ZYFA_HIP_FIND)
#undef ZYFA_HIP_FIND
    if (!find(handle, "hipMalloc", hipMalloc))
        return "hipMalloc";
#define ZYFA_HIP_FIND(name) find(handle, #name, name);
    ZYFA_HIP_OPTIONAL(ZYFA_HIP_FIND)
#undef ZYFA_HIP_FIND
    find(handle, "hipMallocAsync", hipMallocAsync);
    find(handle, "hipStreamGetId", hipStreamGetId);
    find(handle, "zyfaSimVersion", zyfaSimVersion);
    find(handle, "zyfaSimLastFault", zyfaSimLastFault);
    find(handle, "zyfaSimClearFault", zyfaSimClearFault);
    find(handle, "zyfaSimStopKernels", zyfaSimStopKernels);
    return {};
}

void check(const HipApi& hip, hipError_t status, const char* function, const std::string& details) {
    if (status == hipSuccess)
        return;
    std::string message = std::string(function) + "(" + details + "): " + hip.hipGetErrorName(status) + " (" +
                          hip.hipGetErrorString(status) + ")";
    (void)hip.hipGetLastError(); // reported here; the next caller starts clean
    if (hip.zyfaSimLastFault && from_kernel(status)) {
        const std::string fault = hip.zyfaSimLastFault();
        if (!fault.empty())
            message += ": " + fault;
    }
    throw Error(ErrorCode::device_error, "", message);
}

} // namespace zyfa::runtime
