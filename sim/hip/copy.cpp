// SPDX-License-Identifier: Apache-2.0
// The memcpy family. A copy that touches pageable host memory is waited for, as on real devices, where the
// run time stages it; the others are asynchronous in the asynchronous calls.
#include "sim/hip/copy.hpp"

#include "sim/hip/module.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

std::uint64_t extent(std::uint64_t row, const CopyOperation& c, std::uint64_t pitch, std::uint64_t slice) {
    return (c.depth - 1) * slice + (c.height - 1) * pitch + row;
}

void check_direction(const Located& dst, const Located& src, hipMemcpyKind kind) {
    switch (kind) {
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
        return;
    case hipMemcpyHostToDevice:
        return require(!dst.pageable(), hipErrorInvalidValue, "the destination is not known to the device");
    case hipMemcpyDeviceToHost:
        return require(!src.pageable(), hipErrorInvalidValue, "the source is not known to the device");
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU:
        return require(!dst.pageable() && !src.pageable(), hipErrorInvalidValue,
                       "source or destination is not known to the device");
    default:
        fail(hipErrorInvalidMemcpyDirection, "kind");
    }
}

} // namespace

bool check_copy(const CopyOperation& copy, hipMemcpyKind kind) {
    require(copy.dst && copy.src, hipErrorInvalidValue, "null pointer");
    require(copy.height == 1 || (copy.dst_pitch >= copy.width && copy.src_pitch >= copy.width),
            hipErrorInvalidPitchValue, "pitch below width");
    const Located dst = locate(copy.dst, extent(copy.width, copy, copy.dst_pitch, copy.dst_slice));
    const Located src = locate(copy.src, extent(copy.width, copy, copy.src_pitch, copy.src_slice));
    check_direction(dst, src, kind);
    return dst.pageable() || src.pageable();
}

bool empty(const CopyOperation& copy) {
    return copy.width == 0 || copy.height == 0 || copy.depth == 0;
}

void submit_copy(const CopyOperation& copy, hipMemcpyKind kind, hipStream_t handle, Wait wait) {
    const StreamPtr stream = resolve_stream(handle);
    require(kind <= hipMemcpyDefault || kind == hipMemcpyDeviceToDeviceNoCU, hipErrorInvalidMemcpyDirection,
            "kind");
    if (empty(copy)) {
        if (wait == Wait::yes)
            synchronize(stream);
        return;
    }
    const bool pageable = check_copy(copy, kind);
    const CompletionPtr completion = submit(stream, copy, wait);
    if (pageable && completion && wait == Wait::no)
        synchronize(completion, stream->device);
}

CopyOperation linear_copy(void* dst, const void* src, std::size_t bytes) {
    CopyOperation copy;
    copy.dst = address_of(dst);
    copy.src = address_of(src);
    copy.width = bytes;
    return copy;
}

CopyOperation pitched_copy(void* dst, std::size_t dst_pitch, const void* src, std::size_t src_pitch,
                           std::size_t width, std::size_t height) {
    CopyOperation copy = linear_copy(dst, src, width);
    copy.height = height;
    copy.dst_pitch = dst_pitch;
    copy.src_pitch = src_pitch;
    require(width <= dst_pitch && width <= src_pitch, hipErrorInvalidPitchValue, "pitch below width");
    return copy;
}

CopyOperation box_copy(const hipMemcpy3DParms& p) {
    require(!p.srcArray && !p.dstArray, hipErrorNotSupported, "arrays are not supported by the simulator");
    require(p.srcPtr.ptr && p.dstPtr.ptr, hipErrorInvalidValue, "null pointer");
    CopyOperation copy;
    copy.width = p.extent.width;
    copy.height = p.extent.height;
    copy.depth = p.extent.depth;
    copy.src_pitch = p.srcPtr.pitch;
    copy.src_slice = p.srcPtr.pitch * p.srcPtr.ysize;
    copy.dst_pitch = p.dstPtr.pitch;
    copy.dst_slice = p.dstPtr.pitch * p.dstPtr.ysize;
    copy.src =
        address_of(p.srcPtr.ptr) + p.srcPos.z * copy.src_slice + p.srcPos.y * copy.src_pitch + p.srcPos.x;
    copy.dst =
        address_of(p.dstPtr.ptr) + p.dstPos.z * copy.dst_slice + p.dstPos.y * copy.dst_pitch + p.dstPos.x;
    return copy;
}

namespace {

/// hip_Memcpy2D and HIP_MEMCPY3D name their pointer by memory type.
std::uint64_t driver_pointer(hipMemoryType type, const void* host, const void* device) {
    switch (type) {
    case hipMemoryTypeHost:
        return address_of(host);
    case hipMemoryTypeDevice:
    case hipMemoryTypeUnified:
    case hipMemoryTypeManaged:
        return address_of(device);
    case hipMemoryTypeArray:
        fail(hipErrorNotSupported, "arrays are not supported by the simulator");
    default:
        fail(hipErrorInvalidValue, "memory type");
    }
}

} // namespace

CopyOperation driver_copy(const hip_Memcpy2D& p) {
    CopyOperation copy;
    copy.width = p.WidthInBytes;
    copy.height = p.Height;
    copy.src_pitch = p.srcPitch ? p.srcPitch : p.WidthInBytes + p.srcXInBytes;
    copy.dst_pitch = p.dstPitch ? p.dstPitch : p.WidthInBytes + p.dstXInBytes;
    copy.src =
        driver_pointer(p.srcMemoryType, p.srcHost, p.srcDevice) + p.srcY * copy.src_pitch + p.srcXInBytes;
    copy.dst =
        driver_pointer(p.dstMemoryType, p.dstHost, p.dstDevice) + p.dstY * copy.dst_pitch + p.dstXInBytes;
    return copy;
}

CopyOperation driver_copy(const HIP_MEMCPY3D& p) {
    CopyOperation copy;
    copy.width = p.WidthInBytes;
    copy.height = p.Height;
    copy.depth = p.Depth;
    copy.src_pitch = p.srcPitch ? p.srcPitch : p.WidthInBytes + p.srcXInBytes;
    copy.dst_pitch = p.dstPitch ? p.dstPitch : p.WidthInBytes + p.dstXInBytes;
    copy.src_slice = copy.src_pitch * (p.srcHeight ? p.srcHeight : p.Height + p.srcY);
    copy.dst_slice = copy.dst_pitch * (p.dstHeight ? p.dstHeight : p.Height + p.dstY);
    copy.src = driver_pointer(p.srcMemoryType, p.srcHost, p.srcDevice) + p.srcZ * copy.src_slice +
               p.srcY * copy.src_pitch + p.srcXInBytes;
    copy.dst = driver_pointer(p.dstMemoryType, p.dstHost, p.dstDevice) + p.dstZ * copy.dst_slice +
               p.dstY * copy.dst_pitch + p.dstXInBytes;
    return copy;
}

namespace {

hipError_t linear(const char* function, void* dst, const void* src, std::size_t bytes, hipMemcpyKind kind,
                  hipStream_t stream, Wait wait) {
    return api(function, [&] { submit_copy(linear_copy(dst, src, bytes), kind, stream, wait); });
}

hipError_t pitched(const char* function, void* dst, std::size_t dst_pitch, const void* src,
                   std::size_t src_pitch, std::size_t width, std::size_t height, hipMemcpyKind kind,
                   hipStream_t stream, Wait wait) {
    return api(function, [&] {
        submit_copy(pitched_copy(dst, dst_pitch, src, src_pitch, width, height), kind, stream, wait);
    });
}

hipError_t box(const char* function, const hipMemcpy3DParms* p, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        require(p != nullptr, hipErrorInvalidValue, "null parameters");
        submit_copy(box_copy(*p), p->kind, stream, wait);
    });
}

template <class Parameters>
hipError_t driver(const char* function, const Parameters* p, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        require(p != nullptr, hipErrorInvalidValue, "null parameters");
        submit_copy(driver_copy(*p), hipMemcpyDefault, stream, wait);
    });
}

void* inside(const void* symbol, std::size_t offset, std::size_t bytes) {
    const Variable variable = registered_variable(symbol);
    require(offset <= variable.size && bytes <= variable.size - offset, hipErrorInvalidValue,
            "beyond the symbol");
    return reinterpret_cast<void*>(variable.address + offset);
}

hipError_t to_symbol(const char* function, const void* symbol, const void* src, std::size_t bytes,
                     std::size_t offset, hipMemcpyKind kind, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        submit_copy(linear_copy(inside(symbol, offset, bytes), src, bytes), kind, stream, wait);
    });
}

hipError_t from_symbol(const char* function, void* dst, const void* symbol, std::size_t bytes,
                       std::size_t offset, hipMemcpyKind kind, hipStream_t stream, Wait wait) {
    return api(function, [&] {
        submit_copy(linear_copy(dst, inside(symbol, offset, bytes), bytes), kind, stream, wait);
    });
}

} // namespace
} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
    return linear("hipMemcpy", dst, src, bytes, kind, nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemcpy_spt(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
    return linear("hipMemcpy_spt", dst, src, bytes, kind, hipStreamPerThread, Wait::yes);
}
hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
    return linear("hipMemcpyWithStream", dst, src, bytes, kind, stream, Wait::yes);
}
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    return linear("hipMemcpyAsync", dst, src, bytes, kind, stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemcpyAsync_spt(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                           hipStream_t stream) {
    return linear("hipMemcpyAsync_spt", dst, src, bytes, kind, per_thread(stream), Wait::no);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src, size_t bytes) {
    return linear("hipMemcpyHtoD", dst, src, bytes, hipMemcpyHostToDevice, nullptr, Wait::yes);
}
hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t bytes) {
    return linear("hipMemcpyDtoH", dst, src, bytes, hipMemcpyDeviceToHost, nullptr, Wait::yes);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes) {
    return linear("hipMemcpyDtoD", dst, src, bytes, hipMemcpyDeviceToDevice, nullptr, Wait::yes);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src, size_t bytes, hipStream_t stream) {
    return linear("hipMemcpyHtoDAsync", dst, src, bytes, hipMemcpyHostToDevice, stream, Wait::no);
}
hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
    return linear("hipMemcpyDtoHAsync", dst, src, bytes, hipMemcpyDeviceToHost, stream, Wait::no);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
    return linear("hipMemcpyDtoDAsync", dst, src, bytes, hipMemcpyDeviceToDevice, stream, Wait::no);
}
hipError_t hipMemcpyPeer(void* dst, int dst_device, const void* src, int src_device, size_t bytes) {
    return api("hipMemcpyPeer", [&] {
        Process::get().device(dst_device);
        Process::get().device(src_device);
        submit_copy(linear_copy(dst, src, bytes), hipMemcpyDeviceToDevice, nullptr, Wait::yes);
    });
}
hipError_t hipMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device, size_t bytes,
                              hipStream_t stream) {
    return api("hipMemcpyPeerAsync", [&] {
        Process::get().device(dst_device);
        Process::get().device(src_device);
        submit_copy(linear_copy(dst, src, bytes), hipMemcpyDeviceToDevice, stream, Wait::no);
    });
}

hipError_t hipMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                       size_t height, hipMemcpyKind kind) {
    return pitched("hipMemcpy2D", dst, dst_pitch, src, src_pitch, width, height, kind, nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemcpy2D_spt(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                        size_t width, size_t height, hipMemcpyKind kind) {
    return pitched("hipMemcpy2D_spt", dst, dst_pitch, src, src_pitch, width, height, kind, hipStreamPerThread,
                   Wait::yes);
}
hipError_t hipMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream) {
    return pitched("hipMemcpy2DAsync", dst, dst_pitch, src, src_pitch, width, height, kind, stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemcpy2DAsync_spt(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                                             size_t width, size_t height, hipMemcpyKind kind,
                                             hipStream_t stream) {
    return pitched("hipMemcpy2DAsync_spt", dst, dst_pitch, src, src_pitch, width, height, kind,
                   per_thread(stream), Wait::no);
}

hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) {
    return box("hipMemcpy3D", p, nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) {
    return box("hipMemcpy3D_spt", p, hipStreamPerThread, Wait::yes);
}
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t stream) {
    return box("hipMemcpy3DAsync", p, stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* p, hipStream_t stream) {
    return box("hipMemcpy3DAsync_spt", p, per_thread(stream), Wait::no);
}

hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) {
    return driver("hipMemcpyParam2D", p, nullptr, Wait::yes);
}
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t stream) {
    return driver("hipMemcpyParam2DAsync", p, stream, Wait::no);
}
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) {
    return driver("hipDrvMemcpy2DUnaligned", p, nullptr, Wait::yes);
}
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* p) {
    return driver("hipDrvMemcpy3D", p, nullptr, Wait::yes);
}
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* p, hipStream_t stream) {
    return driver("hipDrvMemcpy3DAsync", p, stream, Wait::no);
}

hipError_t hipMemcpyBatchAsync(void** dsts, void** srcs, size_t* sizes, size_t count, hipMemcpyAttributes*,
                               size_t*, size_t, size_t* failed, hipStream_t stream) {
    return api("hipMemcpyBatchAsync", [&] {
        require(dsts && srcs && sizes && count, hipErrorInvalidValue, "null pointer or nothing to copy");
        for (std::size_t i = 0; i < count; ++i) {
            if (failed)
                *failed = i;
            submit_copy(linear_copy(dsts[i], srcs[i], sizes[i]), hipMemcpyDefault, stream, Wait::no);
        }
    });
}

hipError_t hipMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                             hipMemcpyKind kind) {
    return to_symbol("hipMemcpyToSymbol", symbol, src, bytes, offset, kind, nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemcpyToSymbol_spt(const void* symbol, const void* src, size_t bytes,
                                              size_t offset, hipMemcpyKind kind) {
    return to_symbol("hipMemcpyToSymbol_spt", symbol, src, bytes, offset, kind, hipStreamPerThread,
                     Wait::yes);
}
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* src, size_t bytes, size_t offset,
                                  hipMemcpyKind kind, hipStream_t stream) {
    return to_symbol("hipMemcpyToSymbolAsync", symbol, src, bytes, offset, kind, stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemcpyToSymbolAsync_spt(const void* symbol, const void* src, size_t bytes,
                                                   size_t offset, hipMemcpyKind kind, hipStream_t stream) {
    return to_symbol("hipMemcpyToSymbolAsync_spt", symbol, src, bytes, offset, kind, per_thread(stream),
                     Wait::no);
}
hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                               hipMemcpyKind kind) {
    return from_symbol("hipMemcpyFromSymbol", dst, symbol, bytes, offset, kind, nullptr, Wait::yes);
}
ZYFA_HIP_API hipError_t hipMemcpyFromSymbol_spt(void* dst, const void* symbol, size_t bytes, size_t offset,
                                                hipMemcpyKind kind) {
    return from_symbol("hipMemcpyFromSymbol_spt", dst, symbol, bytes, offset, kind, hipStreamPerThread,
                       Wait::yes);
}
hipError_t hipMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t bytes, size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream) {
    return from_symbol("hipMemcpyFromSymbolAsync", dst, symbol, bytes, offset, kind, stream, Wait::no);
}
ZYFA_HIP_API hipError_t hipMemcpyFromSymbolAsync_spt(void* dst, const void* symbol, size_t bytes,
                                                     size_t offset, hipMemcpyKind kind, hipStream_t stream) {
    return from_symbol("hipMemcpyFromSymbolAsync_spt", dst, symbol, bytes, offset, kind, per_thread(stream),
                       Wait::no);
}
