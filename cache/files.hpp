// SPDX-License-Identifier: Apache-2.0
// What the cache asks of the file system: whom a path belongs to, whether it is on a network, and locks that
// the kernel releases when their holder dies.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zyfa::cache {

/// Makes `path` and its missing parents, the last one with mode 0700. Returns why the folder cannot be used
/// as a user layer, or an empty string: it must be a folder of the effective user that neither group nor
/// others may write to (reading is their business: integrity is what counts).
std::string make_private_folder(const std::string& path);

/// Why a file or folder is not to be trusted as a site layer, or an empty string: it must belong to root or
/// to the effective user, and neither group nor others may write to it (to a folder they may if it is
/// sticky).
std::string distrust(const std::string& path);

/// Whether a file system of this statfs(2) type is reached over a network (or through FUSE, which may be).
/// SQLite's WAL needs memory shared between all processes that use the file (sqlite.org/wal.html).
bool is_network_type(std::uint64_t type) noexcept;
bool is_on_network(const std::string& path) noexcept;
bool is_read_only_file_system(const std::string& path) noexcept;

/// Identity of a file, to notice that it was replaced.
struct FileIdentity {
    std::uint64_t device = 0, inode = 0;
    bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identify(const std::string& path) noexcept;

bool is_folder(const std::string& path) noexcept;
bool exists(const std::string& path) noexcept;
bool is_empty_or_absent(const std::string& path) noexcept;
std::string parent_of(const std::string& path);

/// fsync of a folder, so that a name made in it survives a power cut. Errors are ignored: some file systems
/// cannot.
void sync_folder(const std::string& path) noexcept;

/// Reads a whole file of at most `limit` bytes. Throws Error{io_error}.
std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit);

/// Writes a file so that it is there as a whole or not at all (temporary name, fsync, rename). Throws
/// Error{io_error}.
void write_file(const std::string& path, const std::vector<std::byte>& content, unsigned mode);

/// An open file with one byte of it locked (an open file description lock: between processes and between
/// threads; the kernel frees it when the last copy of the descriptor is closed).
class ByteLock {
  public:
    enum class Outcome { acquired, timed_out, impossible };

    /// Tries for at most `timeout`. `impossible`: the file cannot be opened or locked at all.
    static ByteLock acquire(const std::string& path, std::uint64_t byte,
                            std::chrono::duration<double> timeout);

    ByteLock() = default;
    ~ByteLock();
    ByteLock(ByteLock&& other) noexcept;
    ByteLock& operator=(ByteLock&& other) noexcept;

    Outcome outcome() const noexcept { return outcome_; }
    bool waited() const noexcept { return waited_; }

  private:
    int file_ = -1;
    Outcome outcome_ = Outcome::impossible;
    bool waited_ = false;
};

} // namespace zyfa::cache
