// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {

File::~File() {
    close(fd);
}

std::uint64_t File::size() const {
    struct stat status{};
    return fstat(fd, &status) == 0 && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

FileMapping::FileMapping(void* begin, std::size_t bytes, std::uint64_t first, std::uint64_t used)
    : address(first), size(used), begin_(begin), bytes_(bytes) {}

FileMapping::~FileMapping() {
    munmap(begin_, bytes_);
}

std::shared_ptr<const FileMapping> map_file(const std::shared_ptr<const File>& file, std::uint64_t offset,
                                            std::uint64_t size) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t skipped = offset % page;
    const std::size_t bytes = size + skipped;
    void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd,
                             static_cast<off_t>(offset - skipped));
    require(begin != MAP_FAILED, hipErrorOutOfMemory, "the file cannot be mapped");
    return std::make_shared<const FileMapping>(begin, bytes, address_of(begin) + skipped, size);
}

void* adopt_mapping(std::shared_ptr<const FileMapping> mapping, bool from_process) {
    Process& process = Process::get();
    const std::uint64_t address = mapping->address;
    process.memory.adopt(address, mapping->size, AllocationKind::device, process.current_device().ordinal);
    note(address, {.mapping = std::move(mapping), .of_other_process = from_process});
    return reinterpret_cast<void*>(address);
}

} // namespace zyfa::sim::hip
