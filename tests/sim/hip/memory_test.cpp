// SPDX-License-Identifier: Apache-2.0
// Allocation, copies, fills, pointer queries.
#include "tests/sim/hip/fixture.hpp"

#include <numeric>

using namespace zyfa::sim::hip::test;

TEST_CASE("bytes go to the device and come back") {
    const auto values = ramp(1000);
    Buffer<float> buffer(values), other(1000);
    CHECK(buffer.read() == values);
    HIP_CHECK(hipMemcpy(other.data, buffer.data, buffer.bytes(), hipMemcpyDeviceToDevice));
    CHECK(other.read() == values);
}

TEST_CASE("allocation: zero bytes, too much, double free, foreign pointers") {
    void* pointer = &pointer;
    HIP_CHECK(hipMalloc(&pointer, 0));
    CHECK_EQ(pointer, nullptr);
    HIP_CHECK(hipFree(nullptr));
    HIP_EXPECT(hipMalloc(&pointer, 300ull << 30), hipErrorOutOfMemory);
    HIP_EXPECT(hipMalloc(static_cast<void**>(nullptr), 16), hipErrorInvalidValue);
    HIP_CHECK(hipMalloc(&pointer, 64));
    HIP_EXPECT(hipFree(static_cast<char*>(pointer) + 8), hipErrorInvalidValue);
    HIP_CHECK(hipFree(pointer));
    HIP_EXPECT(hipFree(pointer), hipErrorInvalidValue);
    int local = 0;
    HIP_EXPECT(hipFree(&local), hipErrorInvalidValue);
}

TEST_CASE("nominal memory is counted") {
    std::size_t before = 0, total = 0, after = 0;
    HIP_CHECK(hipMemGetInfo(&before, &total));
    CHECK_EQ(total, 288ull << 30);
    void* pointer = nullptr;
    HIP_CHECK(hipMalloc(&pointer, 200ull << 30)); // backed on demand
    HIP_CHECK(hipMemGetInfo(&after, &total));
    CHECK_EQ(before - after, 200ull << 30);
    HIP_CHECK(hipFree(pointer));
}

TEST_CASE("copies that leave an allocation, or touch freed memory, are refused") {
    Buffer<char> buffer(100);
    char host[200] = {};
    HIP_EXPECT(hipMemcpy(buffer.data, host, 101, hipMemcpyHostToDevice), hipErrorInvalidValue);
    HIP_EXPECT(hipMemcpy(host, buffer.data + 50, 51, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    HIP_EXPECT(hipMemcpy(buffer.data, nullptr, 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
    HIP_EXPECT(hipMemcpy(buffer.data, host, 1, static_cast<hipMemcpyKind>(9)),
               hipErrorInvalidMemcpyDirection);
    HIP_EXPECT(hipMemcpy(host, host + 100, 1, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    HIP_CHECK(hipMemcpy(host, host + 100, 100, hipMemcpyDefault));
    void* freed = nullptr;
    HIP_CHECK(hipMalloc(&freed, 64));
    HIP_CHECK(hipFree(freed));
    HIP_EXPECT(hipMemcpy(freed, host, 16, hipMemcpyDefault), hipErrorInvalidValue);
}

TEST_CASE("fills of bytes, halves, words; pitched and boxed") {
    Buffer<unsigned char> bytes(16);
    HIP_CHECK(hipMemset(bytes.data, 0x1ab, 16)); // the low byte counts
    CHECK_EQ(bytes.read()[15], 0xab);
    Buffer<unsigned short> halves(8);
    HIP_CHECK(hipMemsetD16(halves.data, 0x1234, 8));
    CHECK_EQ(halves.read()[7], 0x1234);
    Buffer<int> words(8);
    HIP_CHECK(hipMemset(words.data, 0, 32));
    HIP_CHECK(hipMemsetD32(words.data + 2, -5, 4));
    CHECK(words.read() == std::vector<int>{0, 0, -5, -5, -5, -5, 0, 0});
    HIP_EXPECT(hipMemset(words.data, 0, 33), hipErrorInvalidValue);
    HIP_EXPECT(hipMemsetD32(reinterpret_cast<char*>(words.data) + 2, 0, 1), hipErrorInvalidValue);

    void* pitched = nullptr;
    std::size_t pitch = 0;
    HIP_CHECK(hipMallocPitch(&pitched, &pitch, 100, 3));
    CHECK_GE(pitch, 100);
    HIP_CHECK(hipMemset(pitched, 1, pitch * 3));
    HIP_CHECK(hipMemset2D(pitched, pitch, 7, 100, 2));
    std::vector<unsigned char> host(pitch * 3);
    HIP_CHECK(hipMemcpy(host.data(), pitched, host.size(), hipMemcpyDeviceToHost));
    CHECK_EQ(host[99], 7);
    CHECK_EQ(host[100], 1);
    CHECK_EQ(host[pitch + 99], 7);
    CHECK_EQ(host[2 * pitch], 1);
    HIP_CHECK(hipFree(pitched));
}

TEST_CASE("two- and three-dimensional copies") {
    std::vector<int> host(6 * 4);
    std::iota(host.begin(), host.end(), 0);
    Buffer<int> device(3 * 4);
    // The middle three columns of four rows.
    HIP_CHECK(hipMemcpy2D(device.data, 12, host.data() + 1, 24, 12, 4, hipMemcpyHostToDevice));
    CHECK(device.read() == std::vector<int>{1, 2, 3, 7, 8, 9, 13, 14, 15, 19, 20, 21});
    HIP_EXPECT(hipMemcpy2D(device.data, 8, host.data(), 24, 12, 4, hipMemcpyHostToDevice),
               hipErrorInvalidPitchValue);

    hipMemcpy3DParms p{};
    p.srcPtr = {device.data, 12, 12, 2}; // as two slices of two rows
    p.srcPos = {4, 1, 0};
    std::vector<int> out(4, -1);
    p.dstPtr = {out.data(), 8, 8, 1};
    p.extent = {8, 1, 2};
    p.kind = hipMemcpyDeviceToHost;
    HIP_CHECK(hipMemcpy3D(&p));
    CHECK(out == std::vector<int>{8, 9, 20, 21});
}

TEST_CASE("pointers know their allocation") {
    Buffer<char> buffer(100);
    hipPointerAttribute_t attributes{};
    HIP_CHECK(hipPointerGetAttributes(&attributes, buffer.data + 10));
    CHECK_EQ(attributes.type, hipMemoryTypeDevice);
    CHECK_EQ(attributes.device, 0);
    CHECK_EQ(attributes.devicePointer, buffer.data + 10);
    void* base = nullptr;
    std::size_t size = 0;
    HIP_CHECK(hipMemGetAddressRange(&base, &size, buffer.data + 99));
    CHECK_EQ(base, buffer.data);
    CHECK_EQ(size, 100);
    int ordinal = -1;
    HIP_CHECK(hipPointerGetAttribute(&ordinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, buffer.data));
    CHECK_EQ(ordinal, 0);
    int local = 0;
    HIP_EXPECT(hipPointerGetAttributes(&attributes, &local), hipErrorInvalidValue);
    CHECK_EQ(attributes.type, hipMemoryTypeUnregistered);
    HIP_EXPECT(hipMemGetAddressRange(&base, &size, buffer.data + 100), hipErrorNotFound);
}

TEST_CASE("pinned, managed and registered host memory") {
    int* pinned = nullptr;
    HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 64, hipHostMallocMapped));
    pinned[0] = 5;
    unsigned flags = 0;
    HIP_CHECK(hipHostGetFlags(&flags, pinned));
    CHECK_EQ(flags, hipHostMallocMapped);
    void* device_pointer = nullptr;
    HIP_CHECK(hipHostGetDevicePointer(&device_pointer, pinned, 0));
    CHECK_EQ(device_pointer, pinned);
    hipPointerAttribute_t attributes{};
    HIP_CHECK(hipPointerGetAttributes(&attributes, pinned));
    CHECK_EQ(attributes.type, hipMemoryTypeHost);
    HIP_CHECK(hipHostFree(pinned));

    int* managed = nullptr;
    HIP_CHECK(hipMallocManaged(reinterpret_cast<void**>(&managed), 64, hipMemAttachGlobal));
    managed[3] = 9;
    HIP_CHECK(hipPointerGetAttributes(&attributes, managed));
    CHECK_EQ(attributes.type, hipMemoryTypeManaged);
    CHECK(attributes.isManaged);
    HIP_CHECK(hipMemPrefetchAsync(managed, 64, 0, nullptr));
    HIP_CHECK(hipFree(managed));

    std::vector<int> host(100);
    HIP_CHECK(hipHostRegister(host.data(), 400, hipHostRegisterDefault));
    HIP_EXPECT(hipHostRegister(host.data() + 50, 100, hipHostRegisterDefault),
               hipErrorHostMemoryAlreadyRegistered);
    HIP_EXPECT(hipFree(host.data()), hipErrorInvalidValue);
    HIP_CHECK(hipHostUnregister(host.data()));
    HIP_EXPECT(hipHostUnregister(host.data()), hipErrorHostMemoryNotRegistered);
}

TEST_CASE("memory of another device") {
    Buffer<int> here(std::vector<int>{1, 2, 3});
    HIP_CHECK(hipSetDevice(1));
    {
        Buffer<int> there(3);
        HIP_CHECK(hipMemcpyPeer(there.data, 1, here.data, 0, 12));
        CHECK(there.read() == std::vector<int>{1, 2, 3});
        hipPointerAttribute_t attributes{};
        HIP_CHECK(hipPointerGetAttributes(&attributes, there.data));
        CHECK_EQ(attributes.device, 1);
    }
    HIP_CHECK(hipSetDevice(0));
}
