// SPDX-License-Identifier: Apache-2.0
// Device memory in several processes. The first handle of an allocation moves its bytes into an anonymous
// file, mapped in their place; the handle names the file by process and descriptor, and another process maps
// it too. Events are not shared: every process has its own virtual time.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <string>

#include "sim/hip/graph.hpp"
#include "sim/hip/mapped_file.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

constexpr char magic[8] = {'z', 'y', 'f', 'a', 'i', 'p', 'c', '1'};

/// What hipIpcMemHandle_t holds.
struct MemoryHandle {
    char magic[8];
    std::uint64_t device, inode; ///< of the file, as fstat says: the descriptor may be another's by now
    std::uint64_t size, offset;  ///< of the allocation; of the pointer in it
    std::int32_t process, descriptor;
};
static_assert(sizeof(MemoryHandle) <= sizeof(hipIpcMemHandle_t));

std::mutex& sharing() {
    static auto* mutex = new std::mutex;
    return *mutex;
}

std::uint64_t whole_pages(std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

/// Moves an allocation's bytes into a file. Its pages hold nothing else: blocks lie apart (sim/memory.cpp).
std::shared_ptr<const File> share(const Allocation& allocation) {
    const int fd = memfd_create("zyfa-sim-ipc", MFD_CLOEXEC);
    require(fd >= 0, hipErrorOutOfMemory, "memfd_create");
    auto file = std::make_shared<const File>(fd);
    const std::uint64_t bytes = whole_pages(allocation.size);
    require(ftruncate(fd, static_cast<off_t>(bytes)) == 0, hipErrorOutOfMemory, "ftruncate");
    void* const place = reinterpret_cast<void*>(allocation.address);
    {
        const auto copy = map_file(file, 0, bytes);
        std::memcpy(reinterpret_cast<void*>(copy->address), place, bytes);
    }
    require(mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED,
            hipErrorOutOfMemory, "mmap");
    return file;
}

} // namespace

void unshare(std::uint64_t address, std::uint64_t bytes) {
    static_cast<void>(mmap(reinterpret_cast<void*>(address), whole_pages(bytes), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* pointer) {
    return api("hipIpcGetMemHandle", [&] {
        require(handle && pointer, hipErrorInvalidValue, "null pointer");
        const auto allocation = Process::get().memory.find(address_of(pointer));
        require(allocation && allocation->kind == zyfa::sim::AllocationKind::device, hipErrorInvalidValue,
                "not device memory");
        PointerNotes notes = notes_of(allocation->address);
        require(!notes.pool && !notes.variable && !notes.mapping, hipErrorInvalidValue,
                "only memory of hipMalloc can be shared");
        synchronize(Process::get().device(allocation->device)); // no kernel may write it meanwhile
        const std::scoped_lock lock(sharing());
        notes = notes_of(allocation->address);
        if (!notes.shared) {
            notes.shared = share(*allocation);
            note(allocation->address, notes);
        }
        struct stat status{};
        require(fstat(notes.shared->fd, &status) == 0, hipErrorInvalidValue, "fstat");
        MemoryHandle content{};
        std::memcpy(content.magic, magic, sizeof magic);
        content.device = status.st_dev;
        content.inode = status.st_ino;
        content.size = allocation->size;
        content.offset = address_of(pointer) - allocation->address;
        content.process = getpid();
        content.descriptor = notes.shared->fd;
        std::memset(handle, 0, sizeof *handle);
        std::memcpy(handle, &content, sizeof content);
    });
}

hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned int flags) {
    return api("hipIpcOpenMemHandle", [&] {
        require(pointer && flags == hipIpcMemLazyEnablePeerAccess, hipErrorInvalidValue,
                "null result pointer, or flags");
        MemoryHandle content;
        std::memcpy(&content, &handle, sizeof content);
        require(std::memcmp(content.magic, magic, sizeof magic) == 0 && content.size != 0,
                hipErrorInvalidValue, "not a handle of hipIpcGetMemHandle");
        require(content.process != getpid(), hipErrorInvalidContext, "memory of this process");
        const std::string path =
            "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.descriptor);
        const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        require(fd >= 0, hipErrorInvalidDevicePointer, "the memory is no more, or its process");
        const auto file = std::make_shared<const File>(fd);
        struct stat status{};
        require(fstat(fd, &status) == 0 && status.st_dev == content.device &&
                    status.st_ino == content.inode && content.size <= file->size() &&
                    content.offset < content.size,
                hipErrorInvalidDevicePointer, "the memory is no more");
        void* const base = adopt_mapping(map_file(file, 0, content.size), true);
        *pointer = static_cast<char*>(base) + content.offset;
    });
}

hipError_t hipIpcCloseMemHandle(void* pointer) {
    return api("hipIpcCloseMemHandle", [&] {
        require(pointer != nullptr, hipErrorInvalidValue, "null pointer");
        const auto allocation = Process::get().memory.find(address_of(pointer));
        require(allocation && notes_of(allocation->address).of_other_process, hipErrorInvalidValue,
                "not from hipIpcOpenMemHandle");
        const std::uint64_t address = allocation->address;
        synchronize(Process::get().device(allocation->device));
        release_now(address);
    });
}

namespace {
hipError_t refuse(const char* function) {
    return api(function, [] { fail(hipErrorNotSupported, "every process has its own virtual time"); });
}
} // namespace

hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t*, hipEvent_t) {
    return refuse("hipIpcGetEventHandle");
}
hipError_t hipIpcOpenEventHandle(hipEvent_t*, hipIpcEventHandle_t) {
    return refuse("hipIpcOpenEventHandle");
}
