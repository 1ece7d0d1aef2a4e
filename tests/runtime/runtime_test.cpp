// SPDX-License-Identifier: Apache-2.0
// The run time on the simulator, and what it says where there is nothing to run on.
#include "runtime/runtime.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include <hip/hip_runtime_api.h>

#include "jit/assembler.hpp"
#include "runtime/hip_api.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The error that opening throws.
template <class Body>
Error error_of(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    FAIL("nothing was thrown");
    std::abort();
}

bool any_note(const HipReport& report, const std::string& part) {
    for (const std::string& note : report.notes)
        if (contains(note, part))
            return true;
    return false;
}

#ifdef ZYFA_SIM_HIP
std::shared_ptr<Runtime> simulator() {
    static const auto runtime = [] {
        setenv("ZYFA_SIM_DEVICES", "2", 0);
        return Runtime::open("sim", ZYFA_SIM_HIP);
    }();
    return runtime;
}

/// add(unsigned* data, unsigned value): data[i] += value for one workgroup of 64.
std::vector<std::byte> kernel() {
    const char* const text = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl add
.p2align 8
.type add,@function
add:
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dword s6, s[0:1], 0x8
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32 v2, s6, v2
global_store_dword v1, v2, s[4:5]
s_endpgm
.Lend:
.size add, .Lend-add
.rodata
.p2align 6
.amdhsa_kernel add
.amdhsa_kernarg_size 16
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_user_sgpr_count 2
.amdhsa_next_free_vgpr 8
.amdhsa_next_free_sgpr 16
.amdhsa_accum_offset 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: add
    .symbol: add.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 4
        .value_kind: by_value
...
.end_amdgpu_metadata
)";
    return jit::make_assembler("none")->assemble(text, "gfx950", "add").elf;
}

struct Arguments {
    void* data;
    std::uint32_t value, unused;
};

void launch_add(const Runtime& runtime, void* function, void* data, std::uint32_t value, void* stream) {
    Arguments arguments{data, value, 0};
    launch(runtime, function, {1, 1, 1}, {64, 1, 1}, 0, stream,
           std::as_writable_bytes(std::span(&arguments, 1)));
}

std::vector<std::uint32_t> numbers(const DeviceBuffer& buffer) {
    std::vector<std::uint32_t> result(buffer.size() / 4);
    buffer.download(std::as_writable_bytes(std::span(result)));
    return result;
}
#endif

} // namespace

TEST_CASE("no library: the error lists what was looked for and how to run on the simulator") {
    const Error error = error_of([] { Runtime::open("auto", "/nonexistent/libamdhip64.so.7"); });
    CHECK_EQ(error.code(), ErrorCode::no_device);
    CHECK(contains(error.what(), "/nonexistent/libamdhip64.so.7"));
    CHECK(contains(error.what(), "ZYFA_DEVICE=sim"));
    const HipReport report = Runtime::probe("auto", "/nonexistent/libamdhip64.so.7");
    CHECK(report.library.empty());
    CHECK_EQ(report.device_status, "no HIP library");
    CHECK_EQ(report.notes.size(), 1);
}

TEST_CASE("a library that is not HIP is turned down by the function it lacks") {
    const HipReport report = Runtime::probe("auto", ZYFA_NOT_HIP);
    CHECK(report.library.empty());
    CHECK(any_note(report, "lacks hip"));
    const Error error = error_of([] { Runtime::open("sim", ZYFA_NOT_HIP); });
    CHECK_EQ(error.code(), ErrorCode::no_device);
    CHECK(contains(error.what(), "is not zyfa's simulator"));
}

TEST_CASE("a device is named auto, sim, or by number") {
    for (const char* device : {"gpu", "-1", "1x"}) {
        const Error error = error_of([&] { Runtime::open(device, ""); });
        CHECK_EQ(error.code(), ErrorCode::invalid_argument);
        CHECK(contains(error.what(), device));
    }
}

#ifdef ZYFA_AMD_HIP
TEST_CASE("AMD's own library without a GPU: its version, and no device") {
    const HipReport report = Runtime::probe("auto", ZYFA_AMD_HIP);
    if (report.library.empty()) { // it needs a newer C library than this executable was started with
        MESSAGE("not loadable here: " << report.notes.front());
        return;
    }
    CHECK(contains(report.library, "libamdhip64.so"));
    CHECK(contains(report.version, "."));
    if (report.device_status != "no device (hipErrorNoDevice)") {
        MESSAGE("there is a GPU: " << report.device_status);
        return;
    }
    const Error error = error_of([] { Runtime::open("auto", ZYFA_AMD_HIP); });
    CHECK_EQ(error.code(), ErrorCode::no_device);
    CHECK(contains(error.what(), report.version));
    CHECK(contains(error.what(), "hipErrorNoDevice"));
    CHECK(contains(error.what(), "ZYFA_DEVICE=sim"));
}
#endif

#ifdef ZYFA_SIM_HIP
TEST_CASE("the simulator's devices") {
    const auto runtime = simulator();
    CHECK(runtime->simulated());
    CHECK(contains(runtime->report().version, "zyfa-sim"));
    CHECK_EQ(runtime->report().device_status, "2 devices");
    REQUIRE_EQ(runtime->devices().size(), 2);
    const DeviceInfo& device = runtime->devices()[1];
    CHECK_EQ(device.ordinal, 1);
    CHECK_EQ(device.target, "gfx950:sramecc+:xnack-");
    CHECK_EQ(device.compute_units, 256);
    CHECK_EQ(device.xcds, 8);
    CHECK_EQ(device.lds_bytes, 160 * 1024);
    CHECK(device.simulated);
    CHECK(runtime->extension("zyfaSimSetDevice") != nullptr);
    CHECK(runtime->extension("zyfaSimNoSuchThing") == nullptr);
}

// Run by itself, with ZYFA_SIM_DEVICES=0: the number is fixed with the first use.
TEST_CASE("a simulator without devices is like a machine without" * doctest::skip()) {
    const Error error = error_of([] { Runtime::open("sim", ZYFA_SIM_HIP); });
    CHECK_EQ(error.code(), ErrorCode::no_device);
    CHECK(contains(error.what(), "hipErrorNoDevice"));
    CHECK_EQ(Runtime::probe("sim", ZYFA_SIM_HIP).device_status, "no device (hipErrorNoDevice)");
}

TEST_CASE("the simulator is found without being named, and an ordinal selects one device") {
    simulator();
    CHECK_EQ(Runtime::open("sim", "")->devices().size(), 2);
    // An explicit library may be the simulator for an ordinal too.
    const auto second = Runtime::open("1", ZYFA_SIM_HIP);
    REQUIRE_EQ(second->devices().size(), 1);
    CHECK_EQ(second->devices()[0].ordinal, 1);
    const Error error = error_of([] { Runtime::open("5", ZYFA_SIM_HIP); });
    CHECK_EQ(error.code(), ErrorCode::no_device);
    CHECK(contains(error.what(), "ordinal 5"));
}

TEST_CASE("auto never takes the simulator, even where it is loaded already") {
    simulator();
    const HipReport report = Runtime::probe("auto", "");
    CHECK_FALSE(contains(report.version, "zyfa-sim"));
}

TEST_CASE("module, launch, stream, event, buffer on both devices") {
    const auto runtime = simulator();
    for (int device : {1, 0}) {
        const Module module(runtime, device, kernel());
        const Stream stream(runtime, device);
        Event start(runtime, device), stop(runtime, device);
        std::vector<std::uint32_t> host(64);
        std::iota(host.begin(), host.end(), 0u);
        DeviceBuffer buffer(runtime, device, 256);
        buffer.upload(std::as_bytes(std::span(host)));
        start.record(stream.handle());
        launch_add(*runtime, module.function("add"), buffer.data(), 100, stream.handle());
        launch_add(*runtime, module.function("add"), buffer.data(), 1, stream.handle());
        stop.record(stream.handle());
        stop.synchronize();
        CHECK_GT(Event::elapsed_ms(start, stop), 0.0);
        const auto values = numbers(buffer);
        for (std::size_t i = 0; i < 64; ++i)
            CHECK_EQ(values[i], i + 101);
        CHECK_EQ(stream_device(*runtime, stream.handle(), -1), device);
        CHECK_EQ(stream_device(*runtime, nullptr, device), device);
        const PointerInfo info = pointer_info(*runtime, static_cast<std::byte*>(buffer.data()) + 56);
        CHECK_EQ(info.device, device);
        CHECK_EQ(info.bytes_to_end, 200);
        int current = -1;
        REQUIRE_EQ(runtime->hip().hipGetDevice(&current), hipSuccess);
        CHECK_EQ(current, 0); // everything above left the thread's device alone
    }
    int local = 0;
    CHECK_EQ(pointer_info(*runtime, &local).device, -1);
    CHECK_EQ(pointer_info(*runtime, nullptr).device, -1);
    CHECK_EQ(runtime->hip().hipGetLastError(), hipSuccess); // asking leaves no error behind
}

TEST_CASE("buffers: parts, fill, moves, bounds") {
    const auto runtime = simulator();
    DeviceBuffer buffer(runtime, 0, 16);
    buffer.fill(0xff);
    const std::uint32_t value = 5;
    buffer.upload(std::as_bytes(std::span(&value, 1)), 8);
    CHECK(numbers(buffer) == std::vector<std::uint32_t>{~0u, ~0u, 5, ~0u});
    DeviceBuffer other = std::move(buffer);
    CHECK_EQ(buffer.data(), nullptr);
    CHECK_EQ(other.size(), 16);
    buffer = std::move(other);
    CHECK_EQ(numbers(buffer)[2], 5);
    const Error error = error_of([&] { buffer.upload(std::as_bytes(std::span(&value, 1)), 13); });
    CHECK_EQ(error.code(), ErrorCode::invalid_argument);
    DeviceBuffer empty(runtime, 0, 0);
    empty.upload({});
    empty.fill(0);
    CHECK_EQ(empty.data(), nullptr);
}

TEST_CASE("errors name function, code, and arguments") {
    const auto runtime = simulator();
    const Error damaged = error_of([&] { Module(runtime, 0, std::vector<std::byte>(64)); });
    CHECK_EQ(damaged.code(), ErrorCode::device_error);
    CHECK(contains(damaged.what(), "hipModuleLoadData(64 bytes, device 0): hipErrorInvalidImage"));
    const Module module(runtime, 0, kernel());
    const Error missing = error_of([&] { module.function("subtract"); });
    CHECK(contains(missing.what(), "hipModuleGetFunction(subtract): hipErrorNotFound"));
    const Error shape = error_of([&] {
        std::byte arguments[16] = {};
        launch(*runtime, module.function("add"), {1, 1, 1}, {2048, 1, 1}, 0, nullptr, arguments);
    });
    CHECK(contains(shape.what(), "block 2048x1x1"));
    CHECK_EQ(runtime->hip().hipGetLastError(), hipSuccess);
}

TEST_CASE("a kernel's fault comes with the simulator's report, and can be cleared") {
    const auto runtime = simulator();
    const Module module(runtime, 0, kernel());
    const Stream stream(runtime, 0);
    DeviceBuffer buffer(runtime, 0, 128); // half of what the kernel touches
    buffer.fill(0);
    const Error fault = error_of([&] {
        launch_add(*runtime, module.function("add"), buffer.data(), 1, stream.handle());
        stream.synchronize();
    });
    CHECK_EQ(fault.code(), ErrorCode::device_error);
    CHECK(contains(fault.what(), "hipErrorIllegalAddress"));
    CHECK(contains(fault.what(), "add")); // the kernel's name
    CHECK(clear_fault(*runtime, 0));
    stream.synchronize();
    DeviceBuffer large(runtime, 0, 256);
    large.fill(0);
    launch_add(*runtime, module.function("add"), large.data(), 1, stream.handle());
    stream.synchronize();
    CHECK_EQ(numbers(large)[63], 1);
}

TEST_CASE("capture is seen, on a stream and through the default stream") {
    const auto runtime = simulator();
    const HipApi& hip = runtime->hip();
    const Stream stream(runtime, 0);
    CHECK_FALSE(is_capturing(*runtime, stream.handle()));
    CHECK_FALSE(is_capturing(*runtime, nullptr));
    const auto begin = reinterpret_cast<decltype(&hipStreamBeginCapture)>(
        reinterpret_cast<void*>(runtime->extension("hipStreamBeginCapture")));
    const auto end = reinterpret_cast<decltype(&hipStreamEndCapture)>(
        reinterpret_cast<void*>(runtime->extension("hipStreamEndCapture")));
    REQUIRE(static_cast<bool>(begin));
    REQUIRE(static_cast<bool>(end));
    REQUIRE_EQ(begin(static_cast<hipStream_t>(stream.handle()), hipStreamCaptureModeGlobal), hipSuccess);
    CHECK(is_capturing(*runtime, stream.handle()));
    hipGraph_t graph = nullptr;
    REQUIRE_EQ(end(static_cast<hipStream_t>(stream.handle()), &graph), hipSuccess);
    CHECK_FALSE(is_capturing(*runtime, stream.handle()));

    // A blocking stream makes the default stream's answer an error of HIP's, which counts as capturing.
    hipStream_t blocking = nullptr;
    REQUIRE_EQ(hip.hipStreamCreateWithFlags(&blocking, hipStreamDefault), hipSuccess);
    REQUIRE_EQ(begin(blocking, hipStreamCaptureModeGlobal), hipSuccess);
    CHECK(is_capturing(*runtime, nullptr));
    REQUIRE_EQ(end(blocking, &graph), hipSuccess);
    CHECK_FALSE(is_capturing(*runtime, nullptr));
    REQUIRE_EQ(hip.hipStreamDestroy(blocking), hipSuccess);
}
#endif
