// SPDX-License-Identifier: Apache-2.0
// Files as device memory: what comes from other owners or other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace zyfa::sim::hip {

/// Owns a descriptor.
class File {
  public:
    explicit File(int descriptor) : fd(descriptor) {}
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    std::uint64_t size() const; ///< 0 where it has none
    const int fd;
};

/// Bytes of a file in this process, until the last copy goes.
class FileMapping {
  public:
    FileMapping(void* begin, std::size_t bytes, std::uint64_t first, std::uint64_t used);
    ~FileMapping();
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    const std::uint64_t address, size; ///< of what was asked for

  private:
    void* const begin_;
    const std::size_t bytes_;
};

/// Any offset. Throws Failure{hipErrorOutOfMemory}.
std::shared_ptr<const FileMapping> map_file(const std::shared_ptr<const File>& file, std::uint64_t offset,
                                            std::uint64_t size);

/// Makes it memory of the current device. hipFree ends it, or hipIpcCloseMemHandle where `from_process`.
void* adopt_mapping(std::shared_ptr<const FileMapping> mapping, bool from_process);

} // namespace zyfa::sim::hip
