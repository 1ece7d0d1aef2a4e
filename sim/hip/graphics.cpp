// SPDX-License-Identifier: Apache-2.0
// OpenGL interoperation where no context of OpenGL is on the device: an accelerator without display, and no
// driver of OpenGL that knows the simulated one. Answers as HIP's then (clr 6.3, hip_gl.cpp; the strings of
// libamdhip64 7.2 name the same checks). No resource can be registered, so that every handle is a wrong one.
#include "sim/hip/process.hpp"

#pragma GCC visibility push(default)
#include <hip/hip_gl_interop.h>
#pragma GCC visibility pop

using namespace zyfa::sim::hip;

namespace {
constexpr const char* no_context = "no context of OpenGL is on the device";
}

hipError_t hipGLGetDevices(unsigned int* count, int* devices, unsigned int capacity, hipGLDeviceList list) {
    return api("hipGLGetDevices", [&] {
        require(list != hipGLDeviceListNextFrame, hipErrorNotSupported, "devices of the next frame");
        require(count && devices && capacity, hipErrorInvalidValue, "null pointer, or no room");
        *count = 0;
        require(list == hipGLDeviceListAll || list == hipGLDeviceListCurrentFrame, hipErrorInvalidValue,
                "list");
        fail(hipErrorNoDevice, no_context);
    });
}

hipError_t hipGraphicsGLRegisterBuffer(hipGraphicsResource** resource, GLuint, unsigned int flags) {
    return api("hipGraphicsGLRegisterBuffer", [&] {
        constexpr unsigned known = hipGraphicsRegisterFlagsReadOnly | hipGraphicsRegisterFlagsWriteDiscard;
        require(flags == hipGraphicsRegisterFlagsNone || (flags & known), hipErrorInvalidValue, "flags");
        require(resource != nullptr, hipErrorInvalidValue, "null result pointer");
        fail(hipErrorInvalidValue, no_context);
    });
}

hipError_t hipGraphicsMapResources(int, hipGraphicsResource_t*, hipStream_t) {
    return api("hipGraphicsMapResources", [] { fail(hipErrorUnknown, no_context); });
}

hipError_t hipGraphicsResourceGetMappedPointer(void**, size_t*, hipGraphicsResource_t) {
    return api("hipGraphicsResourceGetMappedPointer", [] { fail(hipErrorUnknown, no_context); });
}

hipError_t hipGraphicsUnmapResources(int count, hipGraphicsResource_t* resources, hipStream_t handle) {
    return api("hipGraphicsUnmapResources", [&] {
        synchronize(resolve_stream(handle));
        require((count == 0) == (resources == nullptr), hipErrorUnknown,
                "a list without count, or the reverse");
        require(count == 0, hipErrorInvalidHandle, "no such resource");
    });
}

hipError_t hipGraphicsUnregisterResource(hipGraphicsResource_t resource) {
    return api("hipGraphicsUnregisterResource", [&] {
        require(resource != nullptr, hipErrorInvalidValue, "null resource");
        fail(hipErrorInvalidHandle, "no such resource");
    });
}
