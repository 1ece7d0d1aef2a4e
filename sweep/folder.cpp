// SPDX-License-Identifier: Apache-2.0
// The shared folder.
//
// LAYOUT
//   sweep.json      as it was planned
//   plan.jsonl      the tasks (plan.cpp)
//   inputs/         captured layers, copied, so that every node has them
//   claims/         who works or worked on what (board.cpp)
//   workers/        each worker's own files (journal.cpp)
// Only workers/ID.* are ever written twice, and only by their own worker.
#include "sweep/folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/random.hpp"
#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

constexpr const char* plan_name = "plan.jsonl";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw Error(ErrorCode::io_error, path, path + ": " + what);
}

[[noreturn]] void fail_with_errno(const std::string& path, const char* what) {
    fail(path, std::string("cannot ") + what + ": " + std::strerror(errno));
}

class File {
  public:
    File(const std::string& path, int flags) : file_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
    ~File() {
        if (file_ >= 0)
            ::close(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const noexcept { return file_; }

  private:
    int file_;
};

void write_whole(const std::string& path, std::string_view content) {
    const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.get() < 0)
        fail_with_errno(path, "write");
    for (std::size_t written = 0; written < content.size();) {
        const ssize_t count = ::write(file.get(), content.data() + written, content.size() - written);
        if (count < 0)
            fail_with_errno(path, "write");
        written += static_cast<std::size_t>(count);
    }
    if (::fsync(file.get()) != 0)
        fail_with_errno(path, "sync");
}

/// statfs(2) types of file systems that a cluster shares, and the usual local ones.
struct FileSystem {
    std::uint64_t type;
    const char* name;
    bool shared;
};
constexpr std::array file_systems{
    FileSystem{0x6969, "nfs", true},          FileSystem{0x0bd00bd0, "lustre", true},
    FileSystem{0x47504653, "gpfs", true},     FileSystem{0x19830326, "beegfs", true},
    FileSystem{0x00c36400, "ceph", true},     FileSystem{0xff534d42, "cifs", true},
    FileSystem{0xfe534d42, "smb2", true},     FileSystem{0x01161970, "gfs2", true},
    FileSystem{0x65735546, "fuse", true},     FileSystem{0x61636673, "acfs", true},
    FileSystem{0x5346414f, "afs", true},      FileSystem{0x01021997, "9p", true},
    FileSystem{0xaad7aaea, "panfs", true},    FileSystem{0x7461636f, "ocfs2", true},
    FileSystem{0x0000ef53, "ext4", false},    FileSystem{0x58465342, "xfs", false},
    FileSystem{0x9123683e, "btrfs", false},   FileSystem{0x01021994, "tmpfs", false},
    FileSystem{0x794c7630, "overlay", false}, FileSystem{0x2fc12fc1, "zfs", false}};

} // namespace

bool read_small_file(const std::string& path, std::string& content) {
    const File file(path, O_RDONLY);
    if (file.get() < 0)
        return false;
    content.clear();
    std::array<char, 16384> piece;
    for (;;) {
        const ssize_t count = ::read(file.get(), piece.data(), piece.size());
        if (count < 0)
            fail_with_errno(path, "read");
        if (count == 0)
            return true;
        content.append(piece.data(), static_cast<std::size_t>(count));
    }
}

double modified(const std::string& path) {
    const File file(path, O_RDONLY);
    struct stat status{};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
        return -1;
    return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

std::string Folder::beside(std::string_view name) const {
    // Unique among nodes and processes: the host's name, the process, a count.
    static std::atomic<unsigned> count{0};
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::size_t slash = name.rfind('/');
    const std::string place = slash == std::string_view::npos ? "" : std::string(name.substr(0, slash + 1));
    return path(place + "." + host.data() + "-" + std::to_string(::getpid()) + "-" + std::to_string(count++) +
                ".part");
}

Folder Folder::create(const std::string& path) {
    std::error_code status;
    for (const char* part : {"", "/inputs", "/claims", "/workers"})
        if (std::filesystem::create_directories(path + part, status); status)
            fail(path + part, "cannot be made: " + status.message());
    Folder folder(std::filesystem::absolute(path).string());
    folder.check();
    return folder;
}

Folder Folder::open(const std::string& path) {
    Folder folder(std::filesystem::absolute(path).string());
    if (!folder.has_plan())
        fail(folder.path(), "holds no plan; it is made by `zyfa sweep plan`, and has to be a folder that "
                            "all nodes share");
    return folder;
}

bool Folder::create_exclusively(std::string_view name, std::string_view content) const {
    const std::string temporary = beside(name), target = path(name);
    write_whole(temporary, content);
    // Over NFS the answer to link(2) may be lost and the request repeated, which then finds its own work: the
    // link count tells (open(2), O_EXCL).
    struct stat status{};
    bool made = ::link(temporary.c_str(), target.c_str()) == 0;
    const int reason = errno;
    if (!made && ::stat(temporary.c_str(), &status) == 0 && status.st_nlink == 2)
        made = true;
    ::unlink(temporary.c_str());
    if (!made && reason != EEXIST) {
        errno = reason;
        fail_with_errno(target, "make a hard link");
    }
    return made;
}

void Folder::replace(std::string_view name, std::string_view content) const {
    const std::string temporary = beside(name), target = path(name);
    write_whole(temporary, content);
    if (::rename(temporary.c_str(), target.c_str()) != 0) {
        const int reason = errno;
        ::unlink(temporary.c_str());
        errno = reason;
        fail_with_errno(target, "rename to");
    }
}

double Folder::now() const {
    const std::string probe = beside("workers/clock");
    double seconds = -1;
    {
        const File file(probe, O_WRONLY | O_CREAT | O_TRUNC);
        if (file.get() >= 0 && ::write(file.get(), "t", 1) == 1) {
            ::fsync(file.get()); // on NFS the time is set when the data arrive
            struct stat status{};
            if (::fstat(file.get(), &status) == 0)
                seconds = static_cast<double>(status.st_mtim.tv_sec) +
                          1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
        }
    }
    ::unlink(probe.c_str());
    if (seconds >= 0)
        return seconds;
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void Folder::check() const {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string name = std::string("workers/.check-") + host.data() + "-" + std::to_string(::getpid());
    const std::string moved = name + "-moved";
    const auto require = [this](bool holds, const char* what) {
        if (!holds)
            fail(path_,
                 std::string("is not fit for a sweep: ") + what + " (file system: " + file_system() + ")");
    };
    ::unlink(path(name).c_str());
    require(create_exclusively(name, "first"), "a new file cannot be made under its name");
    const bool second = create_exclusively(name, "second");
    std::string content;
    const bool kept = read_small_file(path(name), content) && content == "first";
    replace(moved, "old");
    const bool renamed = ::rename(path(name).c_str(), path(moved).c_str()) == 0;
    const bool replaced = read_small_file(path(moved), content) && content == "first";
    const double before = modified(path(moved)), after = now();
    ::unlink(path(name).c_str());
    ::unlink(path(moved).c_str());
    require(!second && kept, "two processes can both make the same file");
    require(renamed && replaced, "renaming a file does not replace another one");
    require(before >= 0 && after >= before, "file times go backwards");
}

std::string Folder::file_system() const {
    struct statfs status{};
    if (::statfs(path_.c_str(), &status) != 0)
        return "unknown";
    for (const FileSystem& known : file_systems)
        if (known.type == static_cast<std::uint64_t>(status.f_type))
            return std::string(known.name) + (known.shared ? "" : " (local)");
    return "type " + std::to_string(static_cast<std::uint64_t>(status.f_type));
}

bool Folder::has_plan() const {
    return ::access(path(plan_name).c_str(), R_OK) == 0;
}

Plan Folder::read_plan() const {
    std::string text;
    if (!read_small_file(path(plan_name), text))
        fail_with_errno(path(plan_name), "read");
    return parse_plan(text);
}

void Folder::write_plan(const Plan& plan, bool update) const {
    const std::string text = to_text(plan);
    if (update)
        replace(plan_name, text);
    else if (!create_exclusively(plan_name, text))
        fail(path_, "holds a plan already; --update replaces it and keeps what was measured for tasks that "
                    "stay the same");
    replace("sweep.json", to_json(plan.spec));
}

} // namespace zyfa::sweep
