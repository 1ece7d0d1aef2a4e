// SPDX-License-Identifier: Apache-2.0
// Error codes: names, texts (as hipGetErrorString of 7.2.53211 gives them), and the thread's last error.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "sim/hip/api.hpp"
#include "sim/hip/thread_state.hpp"
#include "sim/hip/unsupported.h"

namespace zyfa::sim::hip {
namespace {

struct ErrorEntry {
    hipError_t code;
    const char* name;
    const char* text;
};

#define ENTRY(code, text)                                                                                    \
    ErrorEntry {                                                                                             \
        code, #code, text                                                                                    \
    }
constexpr ErrorEntry errors[] = {
    ENTRY(hipSuccess, "no error"),
    ENTRY(hipErrorInvalidValue, "invalid argument"),
    ENTRY(hipErrorOutOfMemory, "out of memory"),
    ENTRY(hipErrorNotInitialized, "initialization error"),
    ENTRY(hipErrorDeinitialized, "driver shutting down"),
    ENTRY(hipErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    ENTRY(hipErrorProfilerNotInitialized, "profiler is not initialized"),
    ENTRY(hipErrorProfilerAlreadyStarted, "profiler already started"),
    ENTRY(hipErrorProfilerAlreadyStopped, "profiler already stopped"),
    ENTRY(hipErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(hipErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(hipErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(hipErrorInsufficientDriver, "driver version is insufficient for runtime version"),
    ENTRY(hipErrorMissingConfiguration, "__global__ function call is not configured"),
    ENTRY(hipErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    ENTRY(hipErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ENTRY(hipErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(hipErrorInvalidImage, "device kernel image is invalid"),
    ENTRY(hipErrorInvalidContext, "invalid device context"),
    ENTRY(hipErrorContextAlreadyCurrent, "context is already current context"),
    ENTRY(hipErrorMapFailed, "mapping of buffer object failed"),
    ENTRY(hipErrorUnmapFailed, "unmapping of buffer object failed"),
    ENTRY(hipErrorArrayIsMapped, "array is mapped"),
    ENTRY(hipErrorAlreadyMapped, "resource already mapped"),
    ENTRY(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ENTRY(hipErrorAlreadyAcquired, "resource already acquired"),
    ENTRY(hipErrorNotMapped, "resource not mapped"),
    ENTRY(hipErrorNotMappedAsArray, "resource not mapped as array"),
    ENTRY(hipErrorNotMappedAsPointer, "resource not mapped as pointer"),
    ENTRY(hipErrorECCNotCorrectable, "uncorrectable ECC error encountered"),
    ENTRY(hipErrorUnsupportedLimit, "limit is not supported on this architecture"),
    ENTRY(hipErrorContextAlreadyInUse, "exclusive-thread device already in use by a different thread"),
    ENTRY(hipErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ENTRY(hipErrorInvalidKernelFile, "invalid kernel file"),
    ENTRY(hipErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    ENTRY(hipErrorInvalidSource, "device kernel image is invalid"),
    ENTRY(hipErrorFileNotFound, "file not found"),
    ENTRY(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ENTRY(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    ENTRY(hipErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ENTRY(hipErrorInvalidHandle, "invalid resource handle"),
    ENTRY(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    ENTRY(hipErrorNotFound, "named symbol not found"),
    ENTRY(hipErrorNotReady, "device not ready"),
    ENTRY(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    ENTRY(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(hipErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(hipErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    ENTRY(hipErrorContextIsDestroyed, "context is destroyed"),
    ENTRY(hipErrorAssert, "device-side assert triggered"),
    ENTRY(hipErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ENTRY(hipErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ENTRY(hipErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(hipErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(hipErrorNotSupported, "operation not supported"),
    ENTRY(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ENTRY(hipErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    ENTRY(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ENTRY(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ENTRY(hipErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    ENTRY(hipErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ENTRY(hipErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    ENTRY(hipErrorStreamCaptureWrongThread,
          "attempt to terminate a thread-local capture sequence from another thread"),
    ENTRY(hipErrorGraphExecUpdateFailure, "the graph update was not performed because it included changes "
                                          "which violated constraints specific to instantiated graph update"),
    ENTRY(hipErrorInvalidChannelDescriptor, "invalid resource description of texture passed to the api"),
    ENTRY(hipErrorInvalidTexture, "invalid texture object passed to the api"),
    ENTRY(hipErrorRuntimeMemory, "runtime memory call returned error"),
    ENTRY(hipErrorRuntimeOther, "runtime call other than memory returned error"),
    ENTRY(hipErrorTbd, "unknown error"),
};
#undef ENTRY

const ErrorEntry* find_error(int code) noexcept {
    const auto* entry = std::lower_bound(std::begin(errors), std::end(errors), code,
                                         [](const ErrorEntry& e, int c) { return e.code < c; });
    return entry != std::end(errors) && entry->code == code ? entry : nullptr;
}

/// What a caller passed, who may pass any number: reading one as the enumeration that lacks it is undefined.
int number_of(const hipError_t& code) noexcept {
    int number = 0;
    static_assert(sizeof number == sizeof code);
    std::memcpy(&number, &code, sizeof number);
    return number;
}

const char* name_of(int code) noexcept {
    const ErrorEntry* entry = find_error(code);
    return entry ? entry->name : "hipErrorUnknown";
}

const char* text_of(int code) noexcept {
    const ErrorEntry* entry = find_error(code);
    return entry ? entry->text : "unknown error";
}

bool logging() noexcept {
    static const bool on = [] {
        const char* value = std::getenv("ZYFA_SIM_LOG");
        return value && *value && *value != '0';
    }();
    return on;
}

} // namespace

void fail(hipError_t code, std::string why) {
    throw Failure{code, std::move(why)};
}

const char* error_name(hipError_t code) noexcept {
    return name_of(code);
}

const char* error_text(hipError_t code) noexcept {
    return text_of(code);
}

hipError_t finish(const char* function, hipError_t status, const std::string& why) noexcept {
    ThreadState& state = thread_state();
    state.last_call = status;
    if (status == hipSuccess || status == hipErrorNotReady)
        return status;
    state.last_error = status;
    if (logging())
        std::fprintf(stderr, "zyfa-sim: %s: %s%s%s\n", function, error_name(status), why.empty() ? "" : ": ",
                     why.c_str());
    return status;
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

int zyfa_sim_hip_unsupported(const char* function) {
    static std::mutex mutex;
    static auto* named = new std::set<std::string>; // alive until the last call of the process
    {
        std::lock_guard lock(mutex);
        if (named->insert(function).second)
            std::fprintf(stderr, "zyfa-sim: %s is not supported by the simulator\n", function);
    }
    return finish(function, hipErrorNotSupported);
}

const char* hipGetErrorName(hipError_t code) {
    return name_of(number_of(code));
}
const char* hipGetErrorString(hipError_t code) {
    return text_of(number_of(code));
}

hipError_t hipDrvGetErrorName(hipError_t code, const char** name) {
    if (!name || !find_error(number_of(code)))
        return hipErrorInvalidValue;
    *name = name_of(number_of(code));
    return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t code, const char** text) {
    if (!text || !find_error(number_of(code)))
        return hipErrorInvalidValue;
    *text = text_of(number_of(code));
    return hipSuccess;
}

hipError_t hipGetLastError(void) {
    return std::exchange(thread_state().last_error, hipSuccess);
}
hipError_t hipPeekAtLastError(void) {
    return thread_state().last_error;
}
hipError_t hipExtGetLastError() {
    return std::exchange(thread_state().last_call, hipSuccess);
}
