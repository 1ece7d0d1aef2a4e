// SPDX-License-Identifier: Apache-2.0
// The launch, and what is asked of streams and pointers around it.
#include "runtime/hip_api.hpp"
#include "runtime/runtime.hpp"
#include "zyfa/error.hpp"

namespace zyfa::runtime {

void launch(const Runtime& runtime, void* function, const std::array<std::uint32_t, 3>& grid,
            const std::array<std::uint32_t, 3>& block, std::uint32_t dynamic_lds, void* stream,
            std::span<std::byte> kernarg) {
    const HipApi& hip = runtime.hip();
    std::size_t bytes = kernarg.size();
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, kernarg.data(), HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    const hipError_t status = hip.hipModuleLaunchKernel(
        static_cast<hipFunction_t>(function), grid[0], grid[1], grid[2], block[0], block[1], block[2],
        dynamic_lds, static_cast<hipStream_t>(stream), nullptr, extra);
    if (status != hipSuccess) [[unlikely]] {
        const auto dims = [](const std::array<std::uint32_t, 3>& d) {
            return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
        };
        check(hip, status, "hipModuleLaunchKernel",
              "grid " + dims(grid) + ", block " + dims(block) + ", " + std::to_string(dynamic_lds) +
                  " bytes of dynamic LDS, " + std::to_string(bytes) + " bytes of arguments");
    }
}

OrderedBuffer::OrderedBuffer(const Runtime& runtime, std::size_t bytes, void* stream)
    : runtime_(runtime), stream_(stream) {
    const HipApi& hip = runtime.hip();
    if (!hip.hipMallocAsync || !hip.hipFreeAsync)
        throw Error(ErrorCode::device_error, "",
                    "the HIP library has no hipMallocAsync and hipFreeAsync, which this call needs for its "
                    "workspace of " +
                        std::to_string(bytes) + " bytes");
    check(hip, hip.hipMallocAsync(&data_, bytes, static_cast<hipStream_t>(stream)), "hipMallocAsync",
          std::to_string(bytes) + " bytes");
}

OrderedBuffer::~OrderedBuffer() {
    if (data_)
        (void)runtime_.hip().hipFreeAsync(data_, static_cast<hipStream_t>(stream_));
}

void free_ordered(const Runtime& runtime, void* data, int device) noexcept {
    try {
        const DeviceGuard guard(runtime, device);
        (void)runtime.hip().hipFree(data);
    } catch (const Error&) { // the device is gone, and its memory with it
    }
}

std::optional<std::uint64_t> stream_id(const Runtime& runtime, void* stream) noexcept {
    const HipApi& hip = runtime.hip();
    unsigned long long id = 0;
    if (!hip.hipStreamGetId)
        return std::nullopt;
    if (hip.hipStreamGetId(static_cast<hipStream_t>(stream), &id) == hipSuccess)
        return id;
    (void)hip.hipGetLastError();
    return std::nullopt;
}

void fill_ordered(const Runtime& runtime, void* to, int byte, std::size_t bytes, void* stream) {
    const HipApi& hip = runtime.hip();
    if (!hip.hipMemsetAsync)
        throw Error(ErrorCode::device_error, "", "the HIP library has no hipMemsetAsync");
    check(hip, hip.hipMemsetAsync(to, byte, bytes, static_cast<hipStream_t>(stream)), "hipMemsetAsync",
          std::to_string(bytes) + " bytes");
}

void fetch_ordered(const Runtime& runtime, void* to, const void* from, std::size_t bytes, void* stream) {
    const HipApi& hip = runtime.hip();
    if (!hip.hipMemcpyAsync)
        throw Error(ErrorCode::device_error, "", "the HIP library has no hipMemcpyAsync");
    const auto on = static_cast<hipStream_t>(stream);
    check(hip, hip.hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, on), "hipMemcpyAsync",
          std::to_string(bytes) + " bytes");
    check(hip, hip.hipStreamSynchronize(on), "hipStreamSynchronize");
}

bool is_capturing(const Runtime& runtime, void* stream) {
    const HipApi& hip = runtime.hip();
    hipStreamCaptureStatus capture = hipStreamCaptureStatusNone;
    const hipError_t status = hip.hipStreamIsCapturing(static_cast<hipStream_t>(stream), &capture);
    if (status == hipErrorStreamCaptureImplicit) { // the default stream, while a blocking stream captures
        (void)hip.hipGetLastError();
        return true;
    }
    check(hip, status, "hipStreamIsCapturing");
    return capture != hipStreamCaptureStatusNone;
}

void stand_apart_from_captures(const Runtime& runtime) noexcept {
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    if (runtime.hip().hipThreadExchangeStreamCaptureMode)
        (void)runtime.hip().hipThreadExchangeStreamCaptureMode(&mode);
}

int stream_device(const Runtime& runtime, void* stream, int fallback) {
    const HipApi& hip = runtime.hip();
    if (!stream || !hip.hipStreamGetDevice)
        return fallback;
    hipDevice_t device = fallback;
    check(hip, hip.hipStreamGetDevice(static_cast<hipStream_t>(stream), &device), "hipStreamGetDevice");
    return device;
}

PointerInfo pointer_info(const Runtime& runtime, const void* pointer) {
    const HipApi& hip = runtime.hip();
    PointerInfo info;
    hipPointerAttribute_t attributes{};
    void* base = nullptr;
    std::size_t size = 0;
    if (!pointer || hip.hipPointerGetAttributes(&attributes, pointer) != hipSuccess ||
        attributes.type == hipMemoryTypeUnregistered ||
        hip.hipMemGetAddressRange(&base, &size, const_cast<void*>(pointer)) != hipSuccess) {
        (void)hip.hipGetLastError();
        return info;
    }
    info.device = attributes.device;
    info.bytes_to_end = size - static_cast<std::size_t>(static_cast<const std::byte*>(pointer) -
                                                        static_cast<const std::byte*>(base));
    return info;
}

void synchronize(const Runtime& runtime, int device) {
    const DeviceGuard guard(runtime, device);
    const HipApi& hip = runtime.hip();
    check(hip, hip.hipDeviceSynchronize(), "hipDeviceSynchronize", "device " + std::to_string(device));
}

bool clear_fault(const Runtime& runtime, int device) {
    const HipApi& hip = runtime.hip();
    return hip.zyfaSimClearFault && hip.zyfaSimClearFault(device) == 0;
}

bool stop_kernels(const Runtime& runtime, int device) {
    const HipApi& hip = runtime.hip();
    return hip.zyfaSimStopKernels && hip.zyfaSimStopKernels(device) == 0;
}

} // namespace zyfa::runtime
