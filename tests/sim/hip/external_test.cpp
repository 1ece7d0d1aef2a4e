// SPDX-License-Identifier: Apache-2.0
// Memory by file descriptor, and memory of another process.
#include "tests/sim/hip/fixture.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace zyfa::sim::hip::test;

namespace {

hipExternalMemoryHandleDesc descriptor_of(int fd, std::size_t size) {
    hipExternalMemoryHandleDesc desc{};
    desc.type = hipExternalMemoryHandleTypeOpaqueFd;
    desc.handle.fd = fd;
    desc.size = size;
    return desc;
}

float* mapped(hipExternalMemory_t memory, std::size_t offset, std::size_t bytes) {
    hipExternalMemoryBufferDesc desc{};
    desc.offset = offset;
    desc.size = bytes;
    void* pointer = nullptr;
    HIP_CHECK(hipExternalMemoryGetMappedBuffer(&pointer, memory, &desc));
    return static_cast<float*>(pointer);
}

constexpr const char* handle_variable = "ZYFA_TEST_IPC_HANDLE";
constexpr std::size_t shared_count = 256, shared_first = 16;

std::string hex(const hipIpcMemHandle_t& handle) {
    std::string text;
    for (const char c : handle.reserved) {
        text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text;
}

/// Runs the test case of that name of this program, also where it is skipped otherwise; its exit status.
int run_in_another_process(const std::string& test_case, bool quiet = false) {
    const std::string filter = "--test-case=" + test_case;
    std::array<std::string, 3> arguments{"zyfa_sim_hip_tests", filter, "--no-skip=true"};
    char* pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
    posix_spawn_file_actions_t actions;
    REQUIRE_EQ(posix_spawn_file_actions_init(&actions), 0);
    if (quiet)
        REQUIRE_EQ(posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0), 0);
    pid_t child = 0;
    REQUIRE_EQ(posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("a file becomes device memory, and a kernel's results stand in it") {
    constexpr std::size_t count = 3000, bytes = count * sizeof(float);
    const int fd = memfd_create("external", MFD_CLOEXEC);
    REQUIRE_GE(fd, 0);
    REQUIRE_EQ(ftruncate(fd, 1 << 16), 0);
    const std::vector<float> input = ramp(count);
    REQUIRE_EQ(pwrite(fd, input.data(), bytes, 128), static_cast<ssize_t>(bytes));

    hipExternalMemory_t memory = nullptr;
    const hipExternalMemoryHandleDesc desc = descriptor_of(fd, 1 << 16);
    HIP_CHECK(hipImportExternalMemory(&memory, &desc));
    float* const in = mapped(memory, 128, bytes);
    float* const out = mapped(memory, 128 + bytes, bytes); // no page begins there
    HIP_CHECK(hipDestroyExternalMemory(memory));           // the buffers stay
    HIP_EXPECT(hipDestroyExternalMemory(memory), hipErrorInvalidValue);

    hipPointerAttribute_t attributes{};
    HIP_CHECK(hipPointerGetAttributes(&attributes, out));
    CHECK_EQ(attributes.type, hipMemoryTypeDevice);
    const Kernels kernels;
    HIP_CHECK(kernels.scale(in, out, count, 3.0f));
    HIP_CHECK(hipDeviceSynchronize());
    std::vector<float> result(count);
    REQUIRE_EQ(pread(fd, result.data(), bytes, static_cast<off_t>(128 + bytes)), static_cast<ssize_t>(bytes));
    for (std::size_t n = 0; n < count; ++n)
        REQUIRE_EQ(result[n], 3.0f * input[n]);
    CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC); // still the caller's
    HIP_CHECK(hipFree(out));
    HIP_CHECK(hipFree(in));
    HIP_EXPECT(hipFree(in), hipErrorInvalidValue);
    close(fd);
}

TEST_CASE("memory of hipMemCreate goes out and comes in as external memory") {
    hipMemAllocationProp property{};
    property.type = hipMemAllocationTypePinned;
    property.location = {hipMemLocationTypeDevice, 0};
    hipMemGenericAllocationHandle_t physical = nullptr;
    const std::size_t size = 2 << 20;
    HIP_CHECK(hipMemCreate(&physical, size, &property, 0));
    int fd = -1;
    HIP_CHECK(hipMemExportToShareableHandle(&fd, physical, hipMemHandleTypePosixFileDescriptor, 0));
    hipExternalMemory_t memory = nullptr;
    const hipExternalMemoryHandleDesc desc = descriptor_of(fd, size);
    HIP_CHECK(hipImportExternalMemory(&memory, &desc));
    close(fd);
    float* const buffer = mapped(memory, 0, size);

    void* address = nullptr;
    HIP_CHECK(hipMemAddressReserve(&address, size, 0, nullptr, 0));
    HIP_CHECK(hipMemMap(address, size, 0, physical, 0));
    const hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
    HIP_CHECK(hipMemSetAccess(address, size, &access, 1));
    HIP_CHECK(hipMemset(address, 0x3f, size));
    float value = 0;
    HIP_CHECK(hipMemcpy(&value, buffer + 1000, sizeof value, hipMemcpyDeviceToHost));
    CHECK_EQ(value, 0x1.7e7e7ep-1f); // the bytes that were set through the other address
    HIP_CHECK(hipFree(buffer));
    HIP_CHECK(hipDestroyExternalMemory(memory));
    HIP_CHECK(hipMemUnmap(address, size));
    HIP_CHECK(hipMemAddressFree(address, size));
    HIP_CHECK(hipMemRelease(physical));
}

TEST_CASE("what is no external memory") {
    const int fd = memfd_create("external", MFD_CLOEXEC);
    REQUIRE_GE(fd, 0);
    REQUIRE_EQ(ftruncate(fd, 4096), 0);
    hipExternalMemory_t memory = nullptr;
    hipExternalMemoryHandleDesc desc = descriptor_of(fd, 4096);
    HIP_EXPECT(hipImportExternalMemory(nullptr, &desc), hipErrorInvalidValue);
    HIP_EXPECT(hipImportExternalMemory(&memory, nullptr), hipErrorInvalidValue);
    desc.flags = 2;
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorInvalidValue);
    desc = descriptor_of(fd, 0);
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorInvalidValue);
    desc = descriptor_of(fd, 4096);
    desc.type = hipExternalMemoryHandleTypeNvSciBuf;
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorInvalidValue);
    desc = descriptor_of(fd, 4097);
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorOutOfMemory);
    desc = descriptor_of(-1, 4096);
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorOutOfMemory);
    int pipes[2];
    REQUIRE_EQ(pipe(pipes), 0);
    desc = descriptor_of(pipes[0], 4096);
    HIP_EXPECT(hipImportExternalMemory(&memory, &desc), hipErrorOutOfMemory);
    close(pipes[0]);
    close(pipes[1]);

    desc = descriptor_of(fd, 4096);
    HIP_CHECK(hipImportExternalMemory(&memory, &desc));
    void* pointer = nullptr;
    hipExternalMemoryBufferDesc part{};
    part.size = 4096;
    HIP_EXPECT(hipExternalMemoryGetMappedBuffer(nullptr, memory, &part), hipErrorInvalidValue);
    HIP_EXPECT(hipExternalMemoryGetMappedBuffer(&pointer, nullptr, &part), hipErrorInvalidValue);
    HIP_EXPECT(hipExternalMemoryGetMappedBuffer(&pointer, memory, nullptr), hipErrorInvalidValue);
    part.offset = 1;
    HIP_EXPECT(hipExternalMemoryGetMappedBuffer(&pointer, memory, &part), hipErrorInvalidValue);
    part.offset = ~0ull - 4;
    part.size = 8;
    HIP_EXPECT(hipExternalMemoryGetMappedBuffer(&pointer, memory, &part), hipErrorInvalidValue);
    CHECK_EQ(pointer, nullptr);
    HIP_CHECK(hipDestroyExternalMemory(memory));
    HIP_EXPECT(hipDestroyExternalMemory(nullptr), hipErrorInvalidValue);
    close(fd);
}

TEST_CASE("two processes share device memory") {
    Buffer<float> buffer(ramp(shared_count));
    hipIpcMemHandle_t handle;
    HIP_CHECK(hipIpcGetMemHandle(&handle, buffer.data + shared_first));
    CHECK(buffer.read() == ramp(shared_count)); // it has moved, and holds the same
    hipIpcMemHandle_t again;
    HIP_CHECK(hipIpcGetMemHandle(&again, buffer.data + shared_first));
    CHECK_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
    void* mine = nullptr;
    HIP_EXPECT(hipIpcOpenMemHandle(&mine, handle, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidContext);

    REQUIRE_EQ(setenv(handle_variable, hex(handle).c_str(), 1), 0);
    CHECK_EQ(run_in_another_process("the other of two processes that share device memory"), 0);
    unsetenv(handle_variable);
    std::vector<float> expected = ramp(shared_count);
    for (std::size_t n = shared_first; n < shared_first + 64; ++n)
        expected[n] *= 2;
    CHECK(buffer.read() == expected); // what the other's kernel wrote

    const Kernels kernels; // and it is memory like any other here
    HIP_CHECK(kernels.scale(buffer.data, buffer.data, shared_count, 0.0f));
    CHECK(buffer.read() == std::vector<float>(shared_count));
}

TEST_CASE("the other of two processes that share device memory" * doctest::skip()) {
    const char* const text = std::getenv(handle_variable);
    REQUIRE(text != nullptr);
    hipIpcMemHandle_t handle{};
    REQUIRE_EQ(std::strlen(text), 2 * sizeof handle.reserved);
    for (std::size_t n = 0; n < sizeof handle.reserved; ++n)
        handle.reserved[n] = static_cast<char>(std::stoi(std::string(text + 2 * n, 2), nullptr, 16));
    HIP_EXPECT(hipIpcOpenMemHandle(nullptr, handle, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidValue);
    void* pointer = nullptr;
    HIP_EXPECT(hipIpcOpenMemHandle(&pointer, handle, 0), hipErrorInvalidValue);
    HIP_CHECK(hipIpcOpenMemHandle(&pointer, handle, hipIpcMemLazyEnablePeerAccess));
    auto* const data = static_cast<float*>(pointer);
    void* base = nullptr;
    std::size_t size = 0;
    HIP_CHECK(hipMemGetAddressRange(&base, &size, data));
    CHECK_EQ(size, shared_count * sizeof(float));
    CHECK_EQ(static_cast<float*>(base) + shared_first, data);
    const Kernels kernels;
    HIP_CHECK(kernels.scale(data, data, 64, 2.0f));
    HIP_CHECK(hipDeviceSynchronize());
    HIP_EXPECT(hipFree(base), hipErrorInvalidValue);
    HIP_CHECK(hipIpcCloseMemHandle(data));
    HIP_EXPECT(hipIpcCloseMemHandle(data), hipErrorInvalidValue);
}

TEST_CASE("what another process cannot open") {
    hipIpcMemHandle_t handle;
    int local = 0;
    HIP_EXPECT(hipIpcGetMemHandle(&handle, nullptr), hipErrorInvalidValue);
    HIP_EXPECT(hipIpcGetMemHandle(&handle, &local), hipErrorInvalidValue);
    Buffer<int> buffer(std::vector<int>{1, 2, 3});
    HIP_EXPECT(hipIpcGetMemHandle(nullptr, buffer.data), hipErrorInvalidValue);
    hipIpcMemHandle_t empty{};
    void* pointer = nullptr;
    HIP_EXPECT(hipIpcOpenMemHandle(&pointer, empty, hipIpcMemLazyEnablePeerAccess), hipErrorInvalidValue);
    HIP_EXPECT(hipIpcCloseMemHandle(buffer.data), hipErrorInvalidValue);

    // Memory that is gone: its addresses are not shared with anybody any more.
    int* shared = nullptr;
    HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&shared), 12));
    HIP_CHECK(hipIpcGetMemHandle(&handle, shared));
    HIP_CHECK(hipFree(shared));
    REQUIRE_EQ(setenv(handle_variable, hex(handle).c_str(), 1), 0);
    CHECK_NE(run_in_another_process("the other of two processes that share device memory", true), 0);
    unsetenv(handle_variable);
}
