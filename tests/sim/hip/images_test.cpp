// SPDX-License-Identifier: Apache-2.0
// What HIP answers where the chip or the machine has no such thing: arrays and textures on gfx950, OpenGL
// without a context, semaphores of other drivers.
#include "tests/sim/hip/fixture.hpp"

#include <hip/hip_gl_interop.h>

using namespace zyfa::sim::hip::test;

namespace {

hipArray_t some_array() {
    static char nothing[64];
    return reinterpret_cast<hipArray_t>(nothing);
}

} // namespace

TEST_CASE("no arrays: the arguments are looked at first") {
    int images = -1;
    HIP_CHECK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
    CHECK_EQ(images, 0);

    hipArray_t array = nullptr;
    const hipChannelFormatDesc one{32, 0, 0, 0, hipChannelFormatKindFloat};
    HIP_EXPECT(hipMallocArray(&array, &one, 16, 16, hipArrayDefault), hipErrorNotSupported);
    const hipChannelFormatDesc four{8, 8, 8, 8, hipChannelFormatKindUnsigned};
    HIP_EXPECT(hipMallocArray(&array, &four, 16, 0, hipArraySurfaceLoadStore), hipErrorNotSupported);
    CHECK_EQ(array, nullptr);
    HIP_EXPECT(hipMallocArray(nullptr, &one, 16, 16, 0), hipErrorInvalidValue);
    HIP_EXPECT(hipMallocArray(&array, nullptr, 16, 16, 0), hipErrorInvalidValue);
    const hipChannelFormatDesc bad[] = {
        {0, 0, 0, 0, hipChannelFormatKindFloat},    {32, 16, 0, 0, hipChannelFormatKindSigned},
        {32, 0, 32, 0, hipChannelFormatKindSigned}, {16, 16, 16, 0, hipChannelFormatKindFloat},
        {8, 0, 0, 0, hipChannelFormatKindFloat},    {64, 0, 0, 0, hipChannelFormatKindUnsigned},
        {32, 0, 0, 0, hipChannelFormatKindNone},
    };
    for (const hipChannelFormatDesc& desc : bad)
        HIP_EXPECT(hipMallocArray(&array, &desc, 16, 16, 0), hipErrorInvalidValue);
    HIP_EXPECT(hipMallocArray(&array, &one, 16, 16, hipArrayCubemap), hipErrorInvalidValue);
    HIP_EXPECT(hipMallocArray(&array, &one, 16, 0, hipArrayTextureGather), hipErrorInvalidValue);

    HIP_EXPECT(hipFreeArray(nullptr), hipErrorInvalidValue);
    HIP_EXPECT(hipFreeArray(some_array()), hipErrorContextIsDestroyed);

    const char source[64] = {};
    HIP_EXPECT(hipMemcpy2DToArray(some_array(), 0, 0, source, 8, 8, 2, static_cast<hipMemcpyKind>(7)),
               hipErrorInvalidMemcpyDirection);
    HIP_EXPECT(hipMemcpy2DToArray(some_array(), 0, 0, nullptr, 8, 8, 2, hipMemcpyHostToDevice),
               hipErrorInvalidValue);
    HIP_EXPECT(hipMemcpy2DToArray(some_array(), 0, 0, source, 4, 8, 2, hipMemcpyHostToDevice),
               hipErrorInvalidPitchValue);
    HIP_EXPECT(hipMemcpy2DToArray(nullptr, 0, 0, source, 8, 8, 2, hipMemcpyHostToDevice),
               hipErrorInvalidHandle);

    hipStream_t stream = nullptr;
    HIP_CHECK(hipStreamCreate(&stream));
    HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    HIP_EXPECT(hipMallocArray(&array, &one, 16, 16, 0), hipErrorStreamCaptureUnsupported);
    hipGraph_t graph = nullptr;
    HIP_EXPECT(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    HIP_CHECK(hipStreamDestroy(stream));
}

TEST_CASE("no textures") {
    hipTextureObject_t texture = nullptr;
    HIP_EXPECT(hipCreateTextureObject(&texture, nullptr, nullptr, nullptr), hipErrorNotSupported);
    const hipResourceDesc resource{};
    const hipTextureDesc description{};
    HIP_EXPECT(hipCreateTextureObject(&texture, &resource, &description, nullptr), hipErrorNotSupported);
    HIP_CHECK(hipDestroyTextureObject(nullptr));
    HIP_EXPECT(hipDestroyTextureObject(reinterpret_cast<hipTextureObject_t>(some_array())),
               hipErrorNotSupported);
}

TEST_CASE("no context of OpenGL") {
    unsigned count = 7;
    int devices[4] = {-1, -1, -1, -1};
    HIP_EXPECT(hipGLGetDevices(&count, devices, 4, hipGLDeviceListAll), hipErrorNoDevice);
    CHECK_EQ(count, 0);
    CHECK_EQ(devices[0], -1);
    HIP_EXPECT(hipGLGetDevices(&count, devices, 4, hipGLDeviceListCurrentFrame), hipErrorNoDevice);
    HIP_EXPECT(hipGLGetDevices(&count, devices, 4, hipGLDeviceListNextFrame), hipErrorNotSupported);
    HIP_EXPECT(hipGLGetDevices(nullptr, devices, 4, hipGLDeviceListAll), hipErrorInvalidValue);
    HIP_EXPECT(hipGLGetDevices(&count, nullptr, 4, hipGLDeviceListAll), hipErrorInvalidValue);
    HIP_EXPECT(hipGLGetDevices(&count, devices, 0, hipGLDeviceListAll), hipErrorInvalidValue);

    hipGraphicsResource* resource = nullptr;
    HIP_EXPECT(hipGraphicsGLRegisterBuffer(&resource, 1, hipGraphicsRegisterFlagsNone), hipErrorInvalidValue);
    HIP_EXPECT(hipGraphicsGLRegisterBuffer(nullptr, 1, hipGraphicsRegisterFlagsNone), hipErrorInvalidValue);
    CHECK_EQ(resource, nullptr);
    HIP_EXPECT(hipGraphicsMapResources(1, &resource, nullptr), hipErrorUnknown);
    void* pointer = nullptr;
    std::size_t size = 0;
    HIP_EXPECT(hipGraphicsResourceGetMappedPointer(&pointer, &size, resource), hipErrorUnknown);
    HIP_CHECK(hipGraphicsUnmapResources(0, nullptr, nullptr));
    HIP_EXPECT(hipGraphicsUnmapResources(1, nullptr, nullptr), hipErrorUnknown);
    HIP_EXPECT(hipGraphicsUnmapResources(1, &resource, nullptr), hipErrorInvalidHandle);
    HIP_EXPECT(hipGraphicsUnregisterResource(nullptr), hipErrorInvalidValue);
}

TEST_CASE("semaphores of other drivers cannot be imported") {
    hipExternalSemaphore_t semaphore = nullptr;
    hipExternalSemaphoreHandleDesc desc{};
    desc.type = hipExternalSemaphoreHandleTypeOpaqueFd;
    desc.handle.fd = 1;
    HIP_EXPECT(hipImportExternalSemaphore(&semaphore, &desc), hipErrorNotSupported);
    HIP_EXPECT(hipImportExternalSemaphore(nullptr, &desc), hipErrorInvalidValue);
    HIP_EXPECT(hipImportExternalSemaphore(&semaphore, nullptr), hipErrorInvalidValue);
    desc.handle.fd = 0;
    HIP_EXPECT(hipImportExternalSemaphore(&semaphore, &desc), hipErrorInvalidValue);
    desc = {};
    desc.type = hipExternalSemaphoreHandleTypeKeyedMutex;
    desc.handle.fd = 1;
    HIP_EXPECT(hipImportExternalSemaphore(&semaphore, &desc), hipErrorInvalidValue);
    CHECK_EQ(semaphore, nullptr);

    const hipExternalSemaphoreSignalParams signal{};
    const hipExternalSemaphoreWaitParams wait{};
    HIP_EXPECT(hipSignalExternalSemaphoresAsync(&semaphore, &signal, 1, nullptr), hipErrorInvalidValue);
    HIP_EXPECT(hipWaitExternalSemaphoresAsync(&semaphore, &wait, 1, nullptr), hipErrorInvalidValue);
    HIP_EXPECT(hipWaitExternalSemaphoresAsync(nullptr, &wait, 1, nullptr), hipErrorInvalidValue);
    HIP_CHECK(hipSignalExternalSemaphoresAsync(&semaphore, &signal, 0, nullptr));
    HIP_EXPECT(hipDestroyExternalSemaphore(nullptr), hipErrorInvalidValue);
}
