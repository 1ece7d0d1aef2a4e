// SPDX-License-Identifier: Apache-2.0
// The memset family.
#include "sim/hip/fill.hpp"

#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {

void check_fill(const FillOperation& fill) {
    require(fill.dst != 0, hipErrorInvalidValue, "null pointer");
    require(fill.element == 1 || fill.element == 2 || fill.element == 4, hipErrorInvalidValue,
            "element size");
    require(fill.dst % fill.element == 0 && fill.pitch % fill.element == 0, hipErrorInvalidValue,
            "pointer or pitch is not a multiple of the element size");
    const std::uint64_t row = fill.width * fill.element;
    require(fill.height <= 1 || fill.pitch >= row, hipErrorInvalidValue, "pitch below width");
    if (fill.width && fill.height && fill.depth)
        require(!locate(fill.dst, (fill.depth - 1) * fill.slice + (fill.height - 1) * fill.pitch + row)
                     .pageable(),
                hipErrorInvalidValue, "the memory is not known to the device");
}

namespace {

FillOperation linear_fill(void* dst, std::uint32_t value, std::size_t count, std::uint32_t element) {
    FillOperation fill;
    fill.dst = address_of(dst);
    fill.value = value;
    fill.width = count;
    fill.element = element;
    return fill;
}

FillOperation pitched_fill(void* dst, std::size_t pitch, std::uint32_t value, std::size_t width,
                           std::size_t height, std::uint32_t element) {
    FillOperation fill = linear_fill(dst, value, width, element);
    fill.height = height;
    fill.pitch = pitch;
    return fill;
}

FillOperation box_fill(const hipPitchedPtr& pitched, int value, const hipExtent& extent) {
    FillOperation fill = pitched_fill(pitched.ptr, pitched.pitch, static_cast<std::uint32_t>(value),
                                      extent.width, extent.height, 1);
    fill.depth = extent.depth;
    fill.slice = pitched.pitch * pitched.ysize;
    return fill;
}

hipError_t fill(const char* function, const FillOperation& operation, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        const StreamPtr target = resolve_stream(stream);
        check_fill(operation);
        submit(target, operation, wait);
    });
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

namespace {
std::uint32_t bits(int value) {
    return static_cast<std::uint32_t>(value);
}
} // namespace

hipError_t hipMemset(void* dst, int value, size_t bytes) {
    return fill("hipMemset", linear_fill(dst, bits(value), bytes, 1), nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemset_spt(void* dst, int value, size_t bytes) {
    return fill("hipMemset_spt", linear_fill(dst, bits(value), bytes, 1), hipStreamPerThread, Wait::yes);
}
hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream) {
    return fill("hipMemsetAsync", linear_fill(dst, bits(value), bytes, 1), stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemsetAsync_spt(void* dst, int value, size_t bytes, hipStream_t stream) {
    return fill("hipMemsetAsync_spt", linear_fill(dst, bits(value), bytes, 1), per_thread(stream), Wait::no);
}
hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count) {
    return fill("hipMemsetD8", linear_fill(dst, value, count, 1), nullptr, Wait::yes);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t stream) {
    return fill("hipMemsetD8Async", linear_fill(dst, value, count, 1), stream, Wait::no);
}
hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count) {
    return fill("hipMemsetD16", linear_fill(dst, value, count, 2), nullptr, Wait::yes);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t stream) {
    return fill("hipMemsetD16Async", linear_fill(dst, value, count, 2), stream, Wait::no);
}
hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count) {
    return fill("hipMemsetD32", linear_fill(dst, bits(value), count, 4), nullptr, Wait::yes);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream) {
    return fill("hipMemsetD32Async", linear_fill(dst, bits(value), count, 4), stream, Wait::no);
}
hipError_t hipMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
    return fill("hipMemset2D", pitched_fill(dst, pitch, bits(value), width, height, 1), nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemset2D_spt(void* dst, size_t pitch, int value, size_t width, size_t height) {
    return fill("hipMemset2D_spt", pitched_fill(dst, pitch, bits(value), width, height, 1),
                hipStreamPerThread, Wait::yes);
}
hipError_t hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
    return fill("hipMemset2DAsync", pitched_fill(dst, pitch, bits(value), width, height, 1), stream,
                Wait::no);
}
ZYFA_HIP_API hipError_t hipMemset2DAsync_spt(void* dst, size_t pitch, int value, size_t width, size_t height,
                                             hipStream_t stream) {
    return fill("hipMemset2DAsync_spt", pitched_fill(dst, pitch, bits(value), width, height, 1),
                per_thread(stream), Wait::no);
}
hipError_t hipMemset3D(hipPitchedPtr pitched, int value, hipExtent extent) {
    return fill("hipMemset3D", box_fill(pitched, value, extent), nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemset3D_spt(hipPitchedPtr pitched, int value, hipExtent extent) {
    return fill("hipMemset3D_spt", box_fill(pitched, value, extent), hipStreamPerThread, Wait::yes);
}
hipError_t hipMemset3DAsync(hipPitchedPtr pitched, int value, hipExtent extent, hipStream_t stream) {
    return fill("hipMemset3DAsync", box_fill(pitched, value, extent), stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemset3DAsync_spt(hipPitchedPtr pitched, int value, hipExtent extent,
                                             hipStream_t stream) {
    return fill("hipMemset3DAsync_spt", box_fill(pitched, value, extent), per_thread(stream), Wait::no);
}
hipError_t hipMemsetD2D8(hipDeviceptr_t dst, size_t pitch, unsigned char value, size_t width, size_t height) {
    return fill("hipMemsetD2D8", pitched_fill(dst, pitch, value, width, height, 1), nullptr, Wait::yes);
}
hipError_t hipMemsetD2D8Async(hipDeviceptr_t dst, size_t pitch, unsigned char value, size_t width,
                              size_t height, hipStream_t stream) {
    return fill("hipMemsetD2D8Async", pitched_fill(dst, pitch, value, width, height, 1), stream, Wait::no);
}
hipError_t hipMemsetD2D16(hipDeviceptr_t dst, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
    return fill("hipMemsetD2D16", pitched_fill(dst, pitch, value, width, height, 2), nullptr, Wait::yes);
}
hipError_t hipMemsetD2D16Async(hipDeviceptr_t dst, size_t pitch, unsigned short value, size_t width,
                               size_t height, hipStream_t stream) {
    return fill("hipMemsetD2D16Async", pitched_fill(dst, pitch, value, width, height, 2), stream, Wait::no);
}
hipError_t hipMemsetD2D32(hipDeviceptr_t dst, size_t pitch, unsigned int value, size_t width, size_t height) {
    return fill("hipMemsetD2D32", pitched_fill(dst, pitch, value, width, height, 4), nullptr, Wait::yes);
}
hipError_t hipMemsetD2D32Async(hipDeviceptr_t dst, size_t pitch, unsigned int value, size_t width,
                               size_t height, hipStream_t stream) {
    return fill("hipMemsetD2D32Async", pitched_fill(dst, pitch, value, width, height, 4), stream, Wait::no);
}
