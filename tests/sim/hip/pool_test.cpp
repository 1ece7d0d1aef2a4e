// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation, pools, memory of graphs, virtual memory, user objects.
#include "tests/sim/hip/fixture.hpp"

#include <unistd.h>

using namespace zyfa::sim::hip::test;

namespace {

std::uint64_t used(hipMemPool_t pool, hipMemPoolAttr attribute = hipMemPoolAttrUsedMemCurrent) {
    std::uint64_t value = 0;
    HIP_CHECK(hipMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

hipMemAllocationProp on_device(int device) {
    hipMemAllocationProp property{};
    property.type = hipMemAllocationTypePinned;
    property.location = {hipMemLocationTypeDevice, device};
    return property;
}

} // namespace

TEST_CASE("memory is taken and given back in the order of a stream") {
    hipStream_t stream = nullptr;
    HIP_CHECK(hipStreamCreate(&stream));
    hipMemPool_t pool = nullptr;
    HIP_CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
    const std::uint64_t before = used(pool);
    int* pointer = nullptr;
    HIP_CHECK(hipMallocAsync(reinterpret_cast<void**>(&pointer), 400, stream));
    CHECK_EQ(used(pool), before + 400);
    void* owner = nullptr;
    HIP_CHECK(hipPointerGetAttribute(&owner, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
    CHECK_EQ(owner, pool);
    int result[100] = {};
    HIP_CHECK(hipMemsetD32Async(pointer, 12, 100, stream));
    HIP_CHECK(hipMemcpyAsync(result, pointer, 400, hipMemcpyDeviceToHost, stream));
    HIP_CHECK(hipFreeAsync(pointer, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    CHECK_EQ(result[99], 12);
    CHECK_EQ(used(pool), before);
    CHECK_GE(used(pool, hipMemPoolAttrUsedMemHigh), before + 400);
    HIP_EXPECT(hipFreeAsync(pointer, stream), hipErrorInvalidValue); // twice
    HIP_EXPECT(hipMemset(pointer, 0, 4), hipErrorInvalidValue);      // after the free
    HIP_CHECK(hipFreeAsync(nullptr, stream));
    HIP_CHECK(hipStreamDestroy(stream));
}

TEST_CASE("a pool of one's own: limit, attributes, current pool of a device") {
    hipMemPoolProps properties{};
    properties.allocType = hipMemAllocationTypePinned;
    properties.location = {hipMemLocationTypeDevice, 0};
    properties.maxSize = 1000;
    hipMemPool_t pool = nullptr, standard = nullptr, current = nullptr;
    HIP_CHECK(hipMemPoolCreate(&pool, &properties));
    void *first = nullptr, *second = nullptr;
    HIP_CHECK(hipMallocFromPoolAsync(&first, 600, pool, nullptr));
    HIP_EXPECT(hipMallocFromPoolAsync(&second, 600, pool, nullptr), hipErrorOutOfMemory);
    std::uint64_t threshold = 12345;
    HIP_CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
    CHECK_EQ(used(pool, hipMemPoolAttrReleaseThreshold), 12345);
    HIP_CHECK(hipDeviceGetDefaultMemPool(&standard, 0));
    HIP_CHECK(hipDeviceSetMemPool(0, pool));
    HIP_CHECK(hipDeviceGetMemPool(&current, 0));
    CHECK_EQ(current, pool);
    HIP_CHECK(hipMallocAsync(&second, 100, nullptr));
    CHECK_EQ(used(pool), 700);
    HIP_CHECK(hipFree(second)); // hipFree takes pool memory too
    CHECK_EQ(used(pool), 600);
    HIP_EXPECT(hipDeviceSetMemPool(1, pool), hipErrorInvalidDevice);
    HIP_CHECK(hipMemPoolDestroy(pool)); // its allocation lives on
    HIP_CHECK(hipDeviceGetMemPool(&current, 0));
    CHECK_EQ(current, standard);
    HIP_CHECK(hipMemset(first, 0, 600));
    HIP_CHECK(hipFree(first));
    HIP_EXPECT(hipMemPoolDestroy(standard), hipErrorInvalidValue);
    HIP_EXPECT(hipMemPoolDestroy(pool), hipErrorInvalidValue);
}

TEST_CASE("memory allocated in a capture belongs to the graph") {
    hipStream_t stream = nullptr;
    HIP_CHECK(hipStreamCreate(&stream));
    Buffer<int> out(4);
    std::uint64_t before = 0, during = 0, after = 0;
    HIP_CHECK(hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemCurrent, &before));
    HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    int* scratch = nullptr;
    HIP_CHECK(hipMallocAsync(reinterpret_cast<void**>(&scratch), 16, stream));
    HIP_CHECK(hipMemsetD32Async(scratch, 21, 4, stream));
    HIP_CHECK(hipMemcpyAsync(out.data, scratch, 16, hipMemcpyDeviceToDevice, stream));
    HIP_CHECK(hipFreeAsync(scratch, stream));
    hipGraph_t graph = nullptr;
    HIP_CHECK(hipStreamEndCapture(stream, &graph));
    hipGraphNode_t nodes[4] = {};
    std::size_t count = 4;
    HIP_CHECK(hipGraphGetNodes(graph, nodes, &count));
    REQUIRE_EQ(count, 4);
    hipGraphNodeType type{};
    HIP_CHECK(hipGraphNodeGetType(nodes[0], &type));
    CHECK_EQ(type, hipGraphNodeTypeMemAlloc);
    hipMemAllocNodeParams parameters{};
    HIP_CHECK(hipGraphMemAllocNodeGetParams(nodes[0], &parameters));
    CHECK_EQ(parameters.dptr, scratch);
    void* freed = nullptr;
    HIP_CHECK(hipGraphMemFreeNodeGetParams(nodes[3], &freed));
    CHECK_EQ(freed, scratch);
    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipGraphDestroy(graph));
    HIP_CHECK(hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemCurrent, &during));
    CHECK_EQ(during, before + 16);
    for (int i = 0; i < 2; ++i) { // its address is the same each time
        HIP_CHECK(hipMemset(out.data, 0, 16));
        HIP_CHECK(hipGraphLaunch(exec, stream));
        HIP_CHECK(hipStreamSynchronize(stream));
        CHECK_EQ(out.read()[3], 21);
    }
    HIP_CHECK(hipGraphExecDestroy(exec));
    HIP_CHECK(hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemCurrent, &after));
    CHECK_EQ(after, before);
    HIP_CHECK(hipStreamDestroy(stream));
}

TEST_CASE("virtual memory: reserve, map, grant, use across mappings, unmap") {
    const hipMemAllocationProp property = on_device(0);
    std::size_t unit = 0;
    HIP_CHECK(hipMemGetAllocationGranularity(&unit, &property, hipMemAllocationGranularityMinimum));
    void* base = nullptr;
    HIP_CHECK(hipMemAddressReserve(&base, 3 * unit, 0, nullptr, 0));
    char* const bytes = static_cast<char*>(base);
    hipMemGenericAllocationHandle_t first = nullptr, second = nullptr;
    HIP_CHECK(hipMemCreate(&first, unit, &property, 0));
    HIP_CHECK(hipMemCreate(&second, unit, &property, 0));
    HIP_EXPECT(hipMemCreate(&second, unit + 1, &property, 0), hipErrorInvalidValue);
    HIP_CHECK(hipMemMap(bytes, unit, 0, first, 0));
    HIP_CHECK(hipMemMap(bytes + unit, unit, 0, second, 0));
    HIP_EXPECT(hipMemMap(bytes + unit, unit, 0, first, 0), hipErrorInvalidValue);     // occupied
    HIP_EXPECT(hipMemMap(bytes + 3 * unit, unit, 0, first, 0), hipErrorInvalidValue); // not reserved

    const hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
    HIP_EXPECT(hipMemset(bytes, 0, 16), hipErrorInvalidValue); // not granted yet
    HIP_EXPECT(hipMemSetAccess(bytes, 3 * unit, &access, 1), hipErrorInvalidValue);
    HIP_CHECK(hipMemSetAccess(bytes, 2 * unit, &access, 1));
    unsigned long long flags = 0;
    HIP_CHECK(hipMemGetAccess(&flags, &access.location, bytes + unit));
    CHECK_EQ(flags, hipMemAccessFlagsProtReadWrite);

    // A kernel whose data lie across the two mappings.
    Kernels kernels;
    const auto values = ramp(128);
    float* across = reinterpret_cast<float*>(bytes + unit - 256);
    Buffer<float> out(128);
    HIP_CHECK(hipMemcpy(across, values.data(), 512, hipMemcpyHostToDevice));
    HIP_CHECK(kernels.scale(across, out.data, 128, 2.0f));
    CHECK_EQ(out.read()[127], 255.0f);

    // A second mapping of the same memory shows the same bytes.
    HIP_CHECK(hipMemMap(bytes + 2 * unit, unit, 0, second, 0));
    HIP_CHECK(hipMemSetAccess(bytes + 2 * unit, unit, &access, 1));
    float mirrored = 0;
    HIP_CHECK(hipMemcpy(&mirrored, bytes + 2 * unit, 4, hipMemcpyDeviceToHost));
    CHECK_EQ(mirrored, values[64]);

    HIP_EXPECT(hipFree(bytes), hipErrorInvalidValue);
    hipMemGenericAllocationHandle_t again = nullptr;
    HIP_CHECK(hipMemRetainAllocationHandle(&again, bytes + 100));
    CHECK_EQ(again, first);
    HIP_CHECK(hipMemRelease(again));
    HIP_CHECK(hipMemRelease(first));
    HIP_EXPECT(hipMemRelease(first), hipErrorInvalidValue);
    HIP_CHECK(hipMemset(bytes, 1, unit)); // the mapping keeps the memory
    HIP_EXPECT(hipMemAddressFree(base, 3 * unit), hipErrorInvalidValue);
    HIP_EXPECT(hipMemUnmap(bytes, unit / 2), hipErrorInvalidValue);
    HIP_CHECK(hipMemUnmap(bytes, 3 * unit));
    HIP_EXPECT(hipMemset(bytes, 0, 16), hipErrorInvalidValue);
    HIP_CHECK(hipMemAddressFree(base, 3 * unit));
    HIP_CHECK(hipMemRelease(second));
}

TEST_CASE("a memory handle goes through a file descriptor") {
    const hipMemAllocationProp property = on_device(0);
    const std::size_t unit = 2 << 20;
    hipMemGenericAllocationHandle_t original = nullptr, imported = nullptr;
    HIP_CHECK(hipMemCreate(&original, unit, &property, 0));
    int fd = -1;
    HIP_CHECK(hipMemExportToShareableHandle(&fd, original, hipMemHandleTypePosixFileDescriptor, 0));
    HIP_CHECK(hipMemImportFromShareableHandle(&imported,
                                              reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                              hipMemHandleTypePosixFileDescriptor));
    close(fd);
    void* base = nullptr;
    HIP_CHECK(hipMemAddressReserve(&base, 2 * unit, 0, nullptr, 0));
    char* const bytes = static_cast<char*>(base);
    HIP_CHECK(hipMemMap(bytes, unit, 0, original, 0));
    HIP_CHECK(hipMemMap(bytes + unit, unit, 0, imported, 0));
    const hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
    HIP_CHECK(hipMemSetAccess(bytes, 2 * unit, &access, 1));
    HIP_CHECK(hipMemset(bytes + 5, 0x77, 1));
    char byte = 0;
    HIP_CHECK(hipMemcpy(&byte, bytes + unit + 5, 1, hipMemcpyDeviceToHost));
    CHECK_EQ(byte, 0x77);
    HIP_CHECK(hipMemUnmap(bytes, 2 * unit));
    HIP_CHECK(hipMemAddressFree(base, 2 * unit));
    HIP_CHECK(hipMemRelease(original));
    HIP_CHECK(hipMemRelease(imported));
}

TEST_CASE("a user object goes with the last graph that holds it") {
    int destroyed = 0;
    hipUserObject_t object = nullptr;
    HIP_CHECK(hipUserObjectCreate(
        &object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1,
        hipUserObjectNoDestructorSync));
    hipGraph_t graph = nullptr;
    HIP_CHECK(hipGraphCreate(&graph, 0));
    HIP_CHECK(hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove));
    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipGraphDestroy(graph));
    CHECK_EQ(destroyed, 0);
    HIP_CHECK(hipGraphExecDestroy(exec));
    CHECK_EQ(destroyed, 1);
    HIP_EXPECT(hipUserObjectRelease(object, 1), hipErrorInvalidValue);
}
