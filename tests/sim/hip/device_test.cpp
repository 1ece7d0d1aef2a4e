// SPDX-License-Identifier: Apache-2.0
// What the devices say of themselves; peers, contexts, versions.
#include "tests/sim/hip/fixture.hpp"

#include <dlfcn.h>

#include <string>

#include <hip/hip_deprecated.h>

#include "sim/hip/zyfa_sim.h"

TEST_CASE("a device is an MI355X") {
    int count = 0;
    HIP_CHECK(hipGetDeviceCount(&count));
    REQUIRE_EQ(count, 2);
    hipDeviceProp_t p;
    std::memset(&p, 0xab, sizeof p);
    HIP_CHECK(hipGetDeviceProperties(&p, 0));
    CHECK_EQ(std::string(p.gcnArchName), "gfx950:sramecc+:xnack-");
    CHECK_EQ(std::string(p.name), "AMD Instinct MI355X");
    CHECK_EQ(p.multiProcessorCount, 256);
    CHECK_EQ(p.warpSize, 64);
    CHECK_EQ(p.sharedMemPerBlock, 160 * 1024);
    CHECK_EQ(p.totalGlobalMem, 288ull << 30);
    CHECK_EQ(p.clockRate, 2'400'000);
    CHECK_EQ(p.major, 9);
    CHECK_EQ(p.minor, 5);

    int value = 0;
    HIP_CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeNumberOfXccs, 0));
    CHECK_EQ(value, 8);
    HIP_CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 1));
    CHECK_EQ(value, 256);
    HIP_EXPECT(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(5000), 0),
               hipErrorInvalidValue);
    HIP_EXPECT(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 2), hipErrorInvalidDevice);
}

TEST_CASE("devices differ in PCI address and UUID") {
    char first[16], second[16];
    HIP_CHECK(hipDeviceGetPCIBusId(first, sizeof first, 0));
    HIP_CHECK(hipDeviceGetPCIBusId(second, sizeof second, 1));
    CHECK_NE(std::string(first), std::string(second));
    int device = -1;
    HIP_CHECK(hipDeviceGetByPCIBusId(&device, second));
    CHECK_EQ(device, 1);
    hipUUID a, b;
    HIP_CHECK(hipDeviceGetUuid(&a, 0));
    HIP_CHECK(hipDeviceGetUuid(&b, 1));
    CHECK_NE(std::memcmp(&a, &b, sizeof a), 0);
    HIP_EXPECT(hipDeviceGetPCIBusId(first, 3, 0), hipErrorInvalidValue);
}

TEST_CASE("the unversioned name has the old layout, and writes no byte past it") {
    using Old = hipError_t (*)(hipDeviceProp_tR0000*, int);
    const auto old = reinterpret_cast<Old>(dlvsym(RTLD_DEFAULT, "hipGetDeviceProperties", "hip_4.2"));
    REQUIRE(static_cast<bool>(old));
    struct Guarded {
        hipDeviceProp_tR0000 properties;
        unsigned char guard[64];
    } guarded;
    std::memset(&guarded, 0x5a, sizeof guarded);
    HIP_CHECK(old(&guarded.properties, 0));
    CHECK_EQ(std::string(guarded.properties.gcnArchName), "gfx950:sramecc+:xnack-");
    CHECK_EQ(guarded.properties.totalGlobalMem, 288ull << 30);
    CHECK_EQ(guarded.properties.multiProcessorCount, 256);
    for (const unsigned char byte : guarded.guard)
        CHECK_EQ(byte, 0x5a);
}

TEST_CASE("versions") {
    int version = 0;
    HIP_CHECK(hipRuntimeGetVersion(&version));
    CHECK_EQ(version, HIP_VERSION);
    HIP_CHECK(hipDriverGetVersion(&version));
    CHECK_EQ(version, HIP_VERSION);
    CHECK(std::string(zyfaSimVersion()).starts_with("zyfa-sim "));
}

TEST_CASE("the current device is the thread's, contexts stack up") {
    HIP_CHECK(hipSetDevice(1));
    hipCtx_t context = nullptr;
    HIP_CHECK(hipDevicePrimaryCtxRetain(&context, 0));
    HIP_CHECK(hipCtxPushCurrent(context));
    int device = -1;
    HIP_CHECK(hipGetDevice(&device));
    CHECK_EQ(device, 0);
    HIP_CHECK(hipCtxPopCurrent(nullptr));
    HIP_CHECK(hipGetDevice(&device));
    CHECK_EQ(device, 1);
    HIP_EXPECT(hipCtxPopCurrent(nullptr), hipErrorInvalidContext);
    HIP_CHECK(hipSetDevice(0));
}

TEST_CASE("peer access is switched on and off once") {
    int can = 0;
    HIP_CHECK(hipDeviceCanAccessPeer(&can, 0, 1));
    CHECK_EQ(can, 1);
    HIP_CHECK(hipDeviceEnablePeerAccess(1, 0));
    HIP_EXPECT(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
    HIP_CHECK(hipDeviceDisablePeerAccess(1));
    HIP_EXPECT(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
    HIP_EXPECT(hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);
}

TEST_CASE("options of one device leave the other alone; what is wrong is said") {
    CHECK_EQ(zyfaSimSetDevice(1, "clock_factor", "0.5"), nullptr);
    hipDeviceProp_t p;
    HIP_CHECK(hipGetDeviceProperties(&p, 1));
    CHECK_EQ(p.clockRate, 1'200'000);
    HIP_CHECK(hipGetDeviceProperties(&p, 0));
    CHECK_EQ(p.clockRate, 2'400'000);
    CHECK_EQ(zyfaSimSetDevice(1, "clock_factor", "1"), nullptr);

    const char* wrong = zyfaSimSetDevice(0, "clock_factor", "-1");
    REQUIRE(wrong != nullptr);
    CHECK(std::string(wrong).find("-1") != std::string::npos);
    CHECK(zyfaSimSetDevice(0, "colour", "red") != nullptr);
    CHECK(zyfaSimSetDevice(7, "seed", "1") != nullptr);
    CHECK_NE(zyfaSimSetDeviceCount(4), 0); // too late: the devices are in use
}
