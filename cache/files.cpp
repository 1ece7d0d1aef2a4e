// SPDX-License-Identifier: Apache-2.0
#include "cache/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

std::string reason(const std::string& path, int error) {
    return path + ": " + std::generic_category().message(error);
}

std::string octal(unsigned mode) {
    char text[8];
    std::snprintf(text, sizeof text, "%04o", mode & 07777);
    return text;
}

/// A descriptor that closes itself.
class Descriptor {
  public:
    explicit Descriptor(int file) : file_(file) {}
    ~Descriptor() {
        if (file_ >= 0)
            ::close(file_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return file_; }
    int release() { return std::exchange(file_, -1); }

  private:
    int file_;
};

/// Tries to lock one byte without waiting; returns errno.
int try_lock(int file, std::uint64_t byte) {
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(byte & 0x7ffffffffffffffe);
    range.l_len = 1;
    return fcntl(file, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

[[noreturn]] void io_error(const std::string& path, const char* doing) {
    throw Error(ErrorCode::io_error, path,
                std::string(doing) + ": " + std::generic_category().message(errno));
}

void write_all(int file, const std::vector<std::byte>& content, const std::string& path) {
    for (std::size_t done = 0; done < content.size();) {
        const ssize_t written = ::write(file, content.data() + done, content.size() - done);
        if (written < 0 && errno != EINTR)
            io_error(path, "writing");
        done += written > 0 ? static_cast<std::size_t>(written) : 0;
    }
}

} // namespace

std::string make_private_folder(const std::string& path) {
    const std::string parent = parent_of(path);
    std::error_code error;
    std::filesystem::create_directories(parent, error); // its failure shows in mkdir's
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return reason(path, errno);
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
        return reason(path, errno);
    if (!S_ISDIR(status.st_mode))
        return path + " is not a folder";
    if (status.st_uid != ::geteuid())
        return path + " belongs to user " + std::to_string(status.st_uid) + ", not to user " +
               std::to_string(::geteuid());
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return path + " has mode " + octal(status.st_mode) + ": others may write to it (chmod 700 mends it)";
    return {};
}

std::string distrust(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
        return reason(path, errno);
    if (status.st_uid != 0 && status.st_uid != ::geteuid())
        return path + " belongs to user " + std::to_string(status.st_uid) + ", neither root nor user " +
               std::to_string(::geteuid());
    const bool sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX);
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) && !sticky_folder)
        return path + " has mode " + octal(status.st_mode) + ": others may write to it";
    return {};
}

bool is_network_type(std::uint64_t type) noexcept {
    // linux/magic.h and the file systems' own sources
    static constexpr std::array<std::uint64_t, 17> types{0x6969 /* NFS */,
                                                         0x517b /* SMB */,
                                                         0xff534d42 /* CIFS */,
                                                         0xfe534d42 /* SMB2 */,
                                                         0x5346414f /* AFS */,
                                                         0x6b414653 /* kAFS */,
                                                         0x73757245 /* Coda */,
                                                         0x564c /* NCP */,
                                                         0x01021997 /* 9P */,
                                                         0x00c36400 /* Ceph */,
                                                         0x0bd00bd0 /* Lustre */,
                                                         0x47504653 /* GPFS */,
                                                         0x65735546 /* FUSE */,
                                                         0x7461636f /* OCFS2 */,
                                                         0x01161970 /* GFS2 */,
                                                         0x19830326 /* BeeGFS */,
                                                         0xaad7aaea /* PanFS */};
    return std::find(types.begin(), types.end(), type & 0xffffffff) != types.end();
}

bool is_on_network(const std::string& path) noexcept {
    struct statfs status{};
    return ::statfs(path.c_str(), &status) == 0 && is_network_type(static_cast<std::uint64_t>(status.f_type));
}

bool is_read_only_file_system(const std::string& path) noexcept {
    struct statvfs status{};
    return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_RDONLY);
}

std::optional<FileIdentity> identify(const std::string& path) noexcept {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
        return std::nullopt;
    return FileIdentity{status.st_dev, status.st_ino};
}

bool is_folder(const std::string& path) noexcept {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool exists(const std::string& path) noexcept {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0;
}

bool is_empty_or_absent(const std::string& path) noexcept {
    struct stat status{};
    return ::stat(path.c_str(), &status) != 0 || status.st_size == 0;
}

std::string parent_of(const std::string& path) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

void sync_folder(const std::string& path) noexcept {
    const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0)
        ::fsync(folder.get());
}

std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
        io_error(path, "opening");
    if (!S_ISREG(status.st_mode))
        throw Error(ErrorCode::io_error, path, "is not a regular file");
    if (static_cast<std::uint64_t>(status.st_size) > limit)
        throw Error(ErrorCode::io_error, path,
                    "has " + std::to_string(status.st_size) + " bytes; accepted: at most " +
                        std::to_string(limit));
    std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t got = ::read(file.get(), content.data() + done, content.size() - done);
        if (got < 0 && errno != EINTR)
            io_error(path, "reading");
        if (got == 0)
            break; // shorter than it was: what is missing is found by whoever checks the content
        done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    content.resize(done);
    return content;
}

void write_file(const std::string& path, const std::vector<std::byte>& content, unsigned mode) {
    const std::string temporary = path + ".new-" + std::to_string(::getpid());
    ::unlink(temporary.c_str());
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() < 0)
        io_error(temporary, "creating");
    try {
        write_all(file.get(), content, temporary);
        if (::fsync(file.get()) != 0)
            io_error(temporary, "syncing");
        if (::rename(temporary.c_str(), path.c_str()) != 0)
            io_error(path, "renaming into place");
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
    sync_folder(parent_of(path));
}

ByteLock ByteLock::acquire(const std::string& path, std::uint64_t byte,
                           std::chrono::duration<double> timeout) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
    ByteLock lock;
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file.get() < 0)
        return lock;
    // There is no lock call with a time limit; a waiter asks again, soon at first, then every 20 ms.
    for (auto pause = std::chrono::milliseconds(1);;
         pause = std::min(2 * pause, std::chrono::milliseconds(20))) {
        const int error = try_lock(file.get(), byte);
        if (error == 0) {
            lock.file_ = file.release();
            lock.outcome_ = Outcome::acquired;
            return lock;
        }
        if (error != EAGAIN && error != EACCES && error != EINTR)
            return lock; // a file system without locks
        lock.waited_ = true;
        if (Clock::now() >= deadline) {
            lock.outcome_ = Outcome::timed_out;
            return lock;
        }
        std::this_thread::sleep_for(pause);
    }
}

ByteLock::~ByteLock() {
    if (file_ >= 0)
        ::close(file_);
}

ByteLock::ByteLock(ByteLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), outcome_(std::exchange(other.outcome_, Outcome::impossible)),
      waited_(other.waited_) {}

ByteLock& ByteLock::operator=(ByteLock&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(outcome_, other.outcome_);
    std::swap(waited_, other.waited_);
    return *this;
}

} // namespace zyfa::cache
