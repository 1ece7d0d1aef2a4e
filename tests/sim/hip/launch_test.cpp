// SPDX-License-Identifier: Apache-2.0
// Modules, launches in all their forms, faults.
#include "tests/sim/hip/fixture.hpp"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <hip/hip_ext.h>

#include "sim/hip/zyfa_sim.h"

using namespace zyfa::sim::hip::test;

namespace {

void append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
}

/// clang's offload bundle around code objects with their ids.
std::vector<std::byte> bundle(const std::vector<std::pair<std::string, std::vector<std::byte>>>& entries) {
    std::vector<std::byte> bytes;
    append(bytes, "__CLANG_OFFLOAD_BUNDLE__", 24);
    const std::uint64_t count = entries.size();
    append(bytes, &count, 8);
    std::uint64_t header = 32;
    for (const auto& [id, elf] : entries)
        header += 24 + id.size();
    std::uint64_t offset = (header + 4095) / 4096 * 4096;
    for (const auto& [id, elf] : entries) {
        const std::uint64_t size = elf.size(), id_size = id.size();
        append(bytes, &offset, 8);
        append(bytes, &size, 8);
        append(bytes, &id_size, 8);
        append(bytes, id.data(), id.size());
        offset = (offset + size + 4095) / 4096 * 4096;
    }
    for (const auto& [id, elf] : entries) {
        bytes.resize((bytes.size() + 4095) / 4096 * 4096);
        append(bytes, elf.data(), elf.size());
    }
    return bytes;
}

std::vector<std::byte> compressed(const std::vector<std::byte>& raw, std::uint16_t version,
                                  std::uint16_t method) {
    std::vector<std::byte> packed;
    if (method == 1) {
        packed.resize(ZSTD_compressBound(raw.size()));
        packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
    } else {
        uLongf size = compressBound(raw.size());
        packed.resize(size);
        REQUIRE_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                            reinterpret_cast<const Bytef*>(raw.data()), raw.size()),
                   Z_OK);
        packed.resize(size);
    }
    std::vector<std::byte> bytes;
    append(bytes, "CCOB", 4);
    append(bytes, &version, 2);
    append(bytes, &method, 2);
    const std::uint64_t size = raw.size(), hash = 0;
    const std::uint64_t total = packed.size() + (version == 3 ? 32u : version == 2 ? 24u : 20u);
    const std::size_t width = version == 3 ? 8 : 4;
    if (version >= 2)
        append(bytes, &total, width);
    append(bytes, &size, width);
    append(bytes, &hash, 8);
    append(bytes, packed.data(), packed.size());
    return bytes;
}

void check_loads(const std::vector<std::byte>& image) {
    hipModule_t module = nullptr;
    HIP_CHECK(hipModuleLoadData(&module, image.data()));
    hipFunction_t function = nullptr;
    HIP_CHECK(hipModuleGetFunction(&function, module, "scale"));
    HIP_CHECK(hipModuleUnload(module));
}

const char* const here = "hipv4-amdgcn-amd-amdhsa--gfx950";

} // namespace

TEST_CASE("a kernel runs, its arguments packed from metadata") {
    Kernels kernels;
    const auto values = ramp(1000);
    Buffer<float> in(values), out(1000);
    HIP_CHECK(kernels.scale(in.data, out.data, 1000, 3.0f));
    const auto result = out.read();
    for (std::size_t i = 0; i < result.size(); ++i)
        CHECK_EQ(result[i], 3.0f * values[i]);
}

TEST_CASE("the same through a ready argument block") {
    Kernels kernels;
    Buffer<float> in(ramp(64)), out(64);
    struct Block {
        const float* in;
        float* out;
        unsigned n;
        float factor;
    } block{in.data, out.data, 64, -1.0f};
    std::size_t size = sizeof block;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    HIP_CHECK(hipModuleLaunchKernel(kernels.get("scale"), 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
    CHECK_EQ(out.read()[63], -63.5f);
    size = 16; // shorter than the arguments
    HIP_EXPECT(hipModuleLaunchKernel(kernels.get("scale"), 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
               hipErrorInvalidValue);
}

TEST_CASE("other ways to launch") {
    Kernels kernels;
    Buffer<float> in(ramp(256)), out(256);
    const float* source = in.data;
    float* target = out.data;
    unsigned n = 256;
    float factor = 2.0f;
    void* parameters[] = {&source, &target, &n, &factor};
    hipEvent_t start = nullptr, stop = nullptr;
    HIP_CHECK(hipEventCreate(&start));
    HIP_CHECK(hipEventCreate(&stop));
    // Sizes in work-items; events of the kernel itself.
    HIP_CHECK(hipExtModuleLaunchKernel(kernels.get("scale"), 256, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                                       nullptr, start, stop, 0));
    HIP_CHECK(hipEventSynchronize(stop));
    CHECK_EQ(out.read()[255], 511.0f);
    float ms = 0;
    HIP_CHECK(hipEventElapsedTime(&ms, start, stop));
    CHECK_GT(ms, 0.0f);
    HIP_EXPECT(hipExtModuleLaunchKernel(kernels.get("scale"), 255, 1, 1, 64, 1, 1, 0, nullptr, parameters,
                                        nullptr, nullptr, nullptr, 0),
               hipErrorInvalidConfiguration);

    factor = 4.0f;
    HIP_LAUNCH_CONFIG config{};
    config.gridDimX = 4;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 64;
    hipLaunchAttribute attribute{};
    attribute.id = hipLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    HIP_CHECK(hipDrvLaunchKernelEx(&config, kernels.get("scale"), parameters, nullptr));
    CHECK_EQ(out.read()[255], 1022.0f);

    // Cooperative: all workgroups at once, or not at all.
    HIP_EXPECT(hipModuleLaunchCooperativeKernel(kernels.get("scale"), 1'000'000, 1, 1, 64, 1, 1, 0, nullptr,
                                                parameters),
               hipErrorCooperativeLaunchTooLarge);
    HIP_CHECK(hipEventDestroy(start));
    HIP_CHECK(hipEventDestroy(stop));
}

TEST_CASE("hidden arguments describe the launch") {
    Kernels kernels;
    Buffer<unsigned> out(64);
    unsigned* target = out.data;
    void* parameters[] = {&target};
    HIP_CHECK(
        hipModuleLaunchKernel(kernels.get("echo"), 2, 3, 4, 64, 2, 1, 1000, nullptr, parameters, nullptr));
    const auto block = out.read();
    CHECK_EQ(block[2], 2);
    CHECK_EQ(block[3], 3);
    CHECK_EQ(block[4], 4);
    CHECK_EQ(block[5], (2u << 16 | 64u)); // group sizes x, y
    CHECK_EQ(block[6], 1);                // z; remainder x
    CHECK_EQ(block[7], 0);                // remainders y, z
    CHECK_EQ(block[12], 0);               // global offset
    CHECK_EQ(block[18], 3);               // dimensions
    CHECK_EQ(block[32], 1000);            // dynamic LDS
}

TEST_CASE("shapes that the device or the kernel cannot run are refused before anything runs") {
    Kernels kernels;
    Buffer<unsigned> out(64);
    unsigned* target = out.data;
    void* parameters[] = {&target};
    const hipFunction_t echo = kernels.get("echo");
    const auto launch = [&](unsigned grid, unsigned block, unsigned lds) {
        return hipModuleLaunchKernel(echo, grid, 1, 1, block, 1, 1, lds, nullptr, parameters, nullptr);
    };
    HIP_EXPECT(launch(0, 64, 0), hipErrorInvalidConfiguration);
    HIP_EXPECT(launch(1, 0, 0), hipErrorInvalidConfiguration);
    HIP_EXPECT(launch(1, 1025, 0), hipErrorInvalidConfiguration);
    HIP_EXPECT(launch(1, 512, 0), hipErrorLaunchFailure); // the kernel was built for 256
    HIP_EXPECT(launch(1u << 31, 256, 0), hipErrorInvalidConfiguration);
    HIP_EXPECT(launch(1, 64, 160 * 1024), hipErrorInvalidValue); // and 512 bytes of its own
    HIP_CHECK(launch(1, 64, 160 * 1024 - 512));
    HIP_EXPECT(hipModuleLaunchKernel(echo, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr),
               hipErrorInvalidValue);
    HIP_CHECK(hipDeviceSynchronize());
}

TEST_CASE("modules: what does not load says why; handles do not outlive them") {
    hipModule_t module = nullptr;
    HIP_EXPECT(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
    HIP_EXPECT(hipModuleLoadData(&module, "nonsense, long enough to look at"), hipErrorInvalidImage);
    const auto foreign = foreign_code_object();
    HIP_EXPECT(hipModuleLoadData(&module, foreign.data()), hipErrorNoBinaryForGpu);
    HIP_EXPECT(hipModuleLoad(&module, "/nonexistent/kernel.co"), hipErrorFileNotFound);

    HIP_CHECK(hipModuleLoadData(&module, code_object().data()));
    hipFunction_t function = nullptr;
    HIP_EXPECT(hipModuleGetFunction(&function, module, "absent"), hipErrorNotFound);
    unsigned count = 0;
    HIP_CHECK(hipModuleGetFunctionCount(&count, module));
    CHECK_EQ(count, 5);
    void* address = nullptr;
    std::size_t size = 0;
    HIP_CHECK(hipModuleGetGlobal(&address, &size, module, "counter"));
    CHECK_EQ(size, 4);
    int value = 0;
    HIP_CHECK(hipMemcpy(&value, address, 4, hipMemcpyDeviceToHost));
    CHECK_EQ(value, 41);
    HIP_EXPECT(hipModuleGetGlobal(&address, &size, module, "absent"), hipErrorNotFound);

    HIP_CHECK(hipModuleGetFunction(&function, module, "broken"));
    HIP_CHECK(hipModuleUnload(module));
    HIP_EXPECT(hipModuleUnload(module), hipErrorInvalidHandle);
    HIP_EXPECT(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr),
               hipErrorInvalidHandle);
}

TEST_CASE("an ELF cut short is refused, wherever it is cut") {
    // From a file the length is known.
    const std::string path =
        (std::filesystem::temp_directory_path() / ("zyfa-" + std::to_string(getpid()) + ".co")).string();
    const auto& elf = code_object();
    for (std::size_t size = 0; size < elf.size(); size = size < 256 ? size + 16 : size + size / 3) {
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(elf.data()), static_cast<long>(size));
        hipModule_t module = nullptr;
        HIP_EXPECT(hipModuleLoad(&module, path.c_str()), hipErrorInvalidImage);
    }
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(elf.data()), static_cast<long>(elf.size()));
    hipModule_t module = nullptr;
    HIP_CHECK(hipModuleLoad(&module, path.c_str()));
    HIP_CHECK(hipModuleUnload(module));
    std::remove(path.c_str());
}

TEST_CASE("bundles, plain and compressed, give the entry that fits best") {
    const auto foreign = foreign_code_object();
    const auto plain = bundle({{"host-x86_64-unknown-linux-gnu-", {}},
                               {"hipv4-amdgcn-amd-amdhsa--gfx942", foreign},
                               {std::string(here) + ":xnack+", foreign},
                               {std::string(here) + ":sramecc+:xnack-", code_object()},
                               {here, foreign}});
    check_loads(plain);
    for (const std::uint16_t version : {1, 2, 3})
        for (const std::uint16_t method : {0, 1}) {
            CAPTURE(version);
            CAPTURE(method);
            check_loads(compressed(plain, version, method));
        }
    hipModule_t module = nullptr;
    const auto others =
        bundle({{"hipv4-amdgcn-amd-amdhsa--gfx942", foreign}, {std::string(here) + ":xnack+", foreign}});
    HIP_EXPECT(hipModuleLoadData(&module, others.data()), hipErrorNoBinaryForGpu);
    auto damaged = compressed(plain, 2, 1);
    for (std::size_t i = 24; i < 64; ++i)
        damaged[i] ^= std::byte{0xff};
    HIP_EXPECT(hipModuleLoadData(&module, damaged.data()), hipErrorInvalidImage);
}

TEST_CASE("libraries are modules under another name") {
    hipLibrary_t library = nullptr;
    HIP_CHECK(hipLibraryLoadData(&library, code_object().data(), static_cast<hipJitOption*>(nullptr), nullptr,
                                 0, static_cast<hipLibraryOption*>(nullptr), nullptr, 0));
    hipKernel_t kernel = nullptr;
    HIP_CHECK(hipLibraryGetKernel(&kernel, library, "scale"));
    const char* name = nullptr;
    HIP_CHECK(hipKernelGetName(&name, kernel));
    CHECK_EQ(std::string(name), "scale");
    hipLibrary_t owner = nullptr;
    HIP_CHECK(hipKernelGetLibrary(&owner, kernel));
    CHECK_EQ(owner, library);
    HIP_CHECK(hipLibraryUnload(library));
}

TEST_CASE("a function belongs to the device it was loaded on") {
    Kernels kernels;
    HIP_CHECK(hipSetDevice(1));
    void* parameters[] = {nullptr};
    HIP_EXPECT(
        hipModuleLaunchKernel(kernels.get("broken"), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr),
        hipErrorInvalidHandle);
    {
        Kernels there;
        Buffer<float> in(ramp(64)), out(64);
        HIP_CHECK(there.scale(in.data, out.data, 64, 2.0f));
        CHECK_EQ(out.read()[1], 3.0f);
    }
    HIP_CHECK(hipSetDevice(0));
}

TEST_CASE("a wild store is found, named, and stays until it is cleared") {
    Kernels kernels;
    Buffer<unsigned> buffer(16);
    HIP_CHECK(kernels.wild(buffer.data, 60)); // the last dword
    HIP_CHECK(hipDeviceSynchronize());
    HIP_CHECK(kernels.wild(buffer.data, 64)); // one past
    HIP_EXPECT(hipDeviceSynchronize(), hipErrorIllegalAddress);
    CHECK_NE(std::string(zyfaSimLastFault()).find("wild"), std::string::npos);
    HIP_EXPECT(hipMemset(buffer.data, 0, 4), hipErrorIllegalAddress); // sticky
    HIP_EXPECT(kernels.wild(buffer.data, 0), hipErrorIllegalAddress);
    void* other = nullptr;
    HIP_CHECK(hipMalloc(&other, 16)); // memory can still be managed
    HIP_CHECK(hipFree(other));
    CHECK_EQ(zyfaSimClearFault(0), 0);
    CHECK_EQ(buffer.read()[15], 7);
}

TEST_CASE("a fault of one device does not touch the other; a reset clears it") {
    HIP_CHECK(hipSetDevice(1));
    {
        Kernels kernels;
        HIP_CHECK(
            hipModuleLaunchKernel(kernels.get("broken"), 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
        HIP_EXPECT(hipDeviceSynchronize(), hipErrorLaunchFailure);
        HIP_CHECK(hipSetDevice(0));
        HIP_CHECK(hipDeviceSynchronize());
        HIP_CHECK(hipSetDevice(1));
        HIP_CHECK(hipDeviceReset());
        HIP_CHECK(hipDeviceSynchronize());
    }
    HIP_CHECK(hipSetDevice(0));
}

TEST_CASE("a kernel and the host see each other's writes while it runs") {
    Kernels kernels;
    unsigned* shared = nullptr;
    HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&shared), 8, 0));
    shared[0] = shared[1] = 0;
    unsigned *flag = shared, *out = shared + 1;
    void* parameters[] = {&flag, &out};
    HIP_CHECK(hipModuleLaunchKernel(kernels.get("spin"), 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK_EQ(hipStreamQuery(nullptr), hipErrorNotReady);
    std::atomic_ref(*flag).store(9);
    HIP_CHECK(hipDeviceSynchronize());
    CHECK_EQ(*out, 9);
    HIP_CHECK(hipHostFree(shared));
}

TEST_CASE("workgroups on the cycle model leave a report and a trace") {
    Kernels kernels;
    Buffer<float> in(ramp(512)), out(512);
    REQUIRE(zyfaSimSetDevice(0, "timed_workgroups", "0") == nullptr);
    HIP_CHECK(kernels.scale(in.data, out.data, 512, 2.0f));
    HIP_CHECK(hipDeviceSynchronize());
    CHECK(zyfaSimLastTiming(0, 0) == nullptr);
    REQUIRE(zyfaSimSetDevice(0, "timed_workgroups", "1") == nullptr);
    REQUIRE(zyfaSimSetDevice(0, "events", "1") == nullptr);
    HIP_CHECK(kernels.scale(in.data, out.data, 512, 3.0f));
    CHECK_EQ(out.read()[511], 3.0f * 511.5f);
    const char* report = zyfaSimLastTiming(0, 1);
    REQUIRE(report != nullptr);
    CHECK_NE(std::string(report).find("\"cycles\""), std::string::npos);
    CHECK_NE(std::string(report).find("v_mul_f32"), std::string::npos);
    const char* trace = zyfaSimLastTrace(0);
    REQUIRE(trace != nullptr);
    CHECK_NE(std::string(trace).find("global_load_dword"), std::string::npos);
    REQUIRE(zyfaSimSetDevice(0, "timed_workgroups", "auto") == nullptr);
    REQUIRE(zyfaSimSetDevice(0, "events", "0") == nullptr);
}

TEST_CASE("occupancy follows registers and LDS") {
    Kernels kernels;
    int blocks = 0;
    // 32 VGPRs: eight waves per SIMD; 256 work-items are one wave on each SIMD.
    HIP_CHECK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels.get("scale"), 256, 0));
    CHECK_EQ(blocks, 8);
    HIP_CHECK(
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels.get("scale"), 64, 80 * 1024));
    CHECK_EQ(blocks, 2);
    HIP_CHECK(
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels.get("scale"), 64, 80 * 1024 + 1));
    CHECK_EQ(blocks, 1);
    int grid = 0, block = 0;
    HIP_CHECK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, kernels.get("scale"), 0, 0));
    CHECK_EQ(block, 256);
    CHECK_EQ(grid, 8 * 256);
    int value = 0;
    HIP_CHECK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, kernels.get("scale")));
    CHECK_EQ(value, 32);
    HIP_CHECK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernels.get("echo")));
    CHECK_EQ(value, 512);
    HIP_CHECK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernels.get("scale")));
    CHECK_EQ(value, 256);
    hipFuncAttributes attributes{};
    HIP_CHECK(hipFuncGetAttributes(&attributes, kernels.get("echo")));
    CHECK_EQ(attributes.maxDynamicSharedSizeBytes, 160 * 1024 - 512);
}

TEST_CASE("a launch with the code, arguments and data of an earlier one does not run again") {
    Kernels kernels;
    Buffer<float> in(ramp(512)), out(512);
    const auto repeated = [&] {
        HIP_CHECK(hipDeviceSynchronize());
        zyfaSimTelemetry telemetry{};
        REQUIRE_EQ(zyfaSimReadTelemetry(0, &telemetry), 0);
        CHECK_GT(telemetry.shader_clock_ghz, 0);
        return telemetry.repeated == 1;
    };
    HIP_CHECK(kernels.scale(in.data, out.data, 512, 2.0f));
    CHECK_FALSE(repeated());
    zyfaSimLaunch first{}, second{};
    REQUIRE_EQ(zyfaSimLastLaunch(0, &first), 0);
    HIP_CHECK(kernels.scale(in.data, out.data, 512, 2.0f));
    CHECK(repeated());
    REQUIRE_EQ(zyfaSimLastLaunch(0, &second), 0);
    CHECK_EQ(first.cycles, second.cycles);
    CHECK_EQ(first.instructions, second.instructions);

    SUBCASE("an argument changed") {
        HIP_CHECK(kernels.scale(in.data, out.data, 512, 3.0f));
        CHECK_FALSE(repeated());
        CHECK_EQ(out.read()[511], 3.0f * 511.5f);
    }
    SUBCASE("an input changed") {
        const float one = 1;
        HIP_CHECK(hipMemcpy(in.data + 511, &one, sizeof one, hipMemcpyHostToDevice));
        HIP_CHECK(kernels.scale(in.data, out.data, 512, 2.0f));
        CHECK_FALSE(repeated());
        CHECK_EQ(out.read()[511], 2.0f);
    }
    SUBCASE("the output changed") {
        HIP_CHECK(hipMemset(out.data, 0, 4));
        HIP_CHECK(kernels.scale(in.data, out.data, 512, 2.0f));
        CHECK_FALSE(repeated());
        CHECK_EQ(out.read()[0], 2.0f * ramp(512)[0]);
    }
}
