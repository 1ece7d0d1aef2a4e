// SPDX-License-Identifier: Apache-2.0
// Arrays and textures on a device without image hardware. gfx950 has no image instructions (LLVM,
// FeatureISAVersion9_5_0), ROCr therefore reports no image handles for it (amd_gpu_agent.cpp,
// isa_has_image_support), and HIP answers hipErrorNotSupported after looking at the arguments (clr 6.3:
// hip_texture.cpp, hip_memory.cpp). No array or texture can exist, so that every handle is a wrong one.
#include "sim/hip/graph.hpp"
#include "sim/hip/process.hpp"

using namespace zyfa::sim::hip;

namespace {

constexpr const char* no_images = "the device has no image hardware (hipDeviceAttributeImageSupport is 0)";

/// 1, 2 or 4 channels of one size, without gaps.
unsigned channels_of(const hipChannelFormatDesc& desc) {
    const int sizes[] = {desc.x, desc.y, desc.z, desc.w};
    unsigned channels = 0;
    for (const int size : sizes)
        channels += size != 0;
    for (unsigned n = 0; n < 4; ++n)
        require(n < channels ? sizes[n] == desc.x && desc.x != 0 : sizes[n] == 0, hipErrorInvalidValue,
                "channels of unlike sizes, or a gap between them");
    require(channels == 1 || channels == 2 || channels == 4, hipErrorInvalidValue, "1, 2 or 4 channels");
    return channels;
}

void check_format(const hipChannelFormatDesc& desc) {
    static_cast<void>(channels_of(desc));
    const bool integer = desc.f == hipChannelFormatKindSigned || desc.f == hipChannelFormatKindUnsigned;
    require((integer && desc.x == 8) ||
                ((integer || desc.f == hipChannelFormatKindFloat) && (desc.x == 16 || desc.x == 32)),
            hipErrorInvalidValue, "channel format");
}

} // namespace

hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* desc, size_t width, size_t height,
                          unsigned int flags) {
    return api("hipMallocArray", [&] {
        require(array && desc, hipErrorInvalidValue, "null pointer");
        forbid_in_capture();
        check_format(*desc);
        require((flags & ~unsigned{hipArrayLayered | hipArraySurfaceLoadStore | hipArrayTextureGather}) == 0,
                hipErrorInvalidValue, "flags");
        require(!(flags & hipArrayTextureGather) || (width && height), hipErrorInvalidValue,
                "gathering needs two dimensions");
        fail(hipErrorNotSupported, no_images);
    });
}

hipError_t hipFreeArray(hipArray_t array) {
    return api("hipFreeArray", [&] {
        forbid_in_capture();
        require(array != nullptr, hipErrorInvalidValue, "null array");
        fail(hipErrorContextIsDestroyed, "no such array");
    });
}

hipError_t hipMemcpy2DToArray(hipArray_t, size_t, size_t, const void* src, size_t pitch, size_t width, size_t,
                              hipMemcpyKind kind) {
    return api("hipMemcpy2DToArray", [&] {
        Operation nothing = EmptyOperation{};
        capture(resolve_stream(nullptr), nothing, Wait::yes); // refuses where a stream captures
        require(static_cast<unsigned>(kind) <= hipMemcpyDefault || kind == hipMemcpyDeviceToDeviceNoCU,
                hipErrorInvalidMemcpyDirection, "kind");
        require(src != nullptr, hipErrorInvalidValue, "null source");
        require(pitch != 0 && pitch >= width, hipErrorInvalidPitchValue, "pitch");
        fail(hipErrorInvalidHandle, "no such array");
    });
}

hipError_t hipCreateTextureObject(hipTextureObject_t*, const hipResourceDesc*, const hipTextureDesc*,
                                  const hipResourceViewDesc*) {
    return api("hipCreateTextureObject", [&] {
        Process::get().current_device();
        fail(hipErrorNotSupported, no_images); // before the arguments
    });
}

hipError_t hipDestroyTextureObject(hipTextureObject_t texture) {
    return api("hipDestroyTextureObject",
               [&] { require(texture == nullptr, hipErrorNotSupported, no_images); });
}
