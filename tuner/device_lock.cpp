// SPDX-License-Identifier: Apache-2.0
// flock(2) on a file per PCI address.
#include "tuner/device_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// Opens the file, whoever made it. A file of another user in a folder with the sticky bit cannot be opened
/// with O_CREAT (fs.protected_regular, proc(5)), so that is tried first without.
int open_lock(const std::string& path) {
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
    int file = open(path.c_str(), flags);
    if (file < 0 && errno == ENOENT) {
        file = open(path.c_str(), flags | O_CREAT | O_EXCL, 0644);
        if (file < 0 && errno == EEXIST)
            file = open(path.c_str(), flags);
    }
    if (file < 0)
        throw Error(ErrorCode::io_error, "device",
                    "the GPU's tuning lock " + path + " cannot be opened: " + std::strerror(errno));
    return file;
}

} // namespace

std::string device_lock_path(const std::string& pci) {
    const char* folder = std::getenv("ZYFA_TUNER_LOCKS");
    std::string name = pci.empty() ? "unknown" : pci;
    for (char& c : name)
        if (c == ':' || c == '/')
            c = '-';
    return std::string(folder && *folder ? folder : "/tmp") + "/zyfa-tuner-" + name + ".lock";
}

DeviceLock::DeviceLock(const std::string& pci, const std::function<void()>& waiting,
                       const std::function<bool()>& go_on) {
    const int file = open_lock(device_lock_path(pci));
    bool told = false;
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            const int error = errno;
            close(file);
            throw Error(ErrorCode::io_error, "device",
                        device_lock_path(pci) + " cannot be locked: " + std::strerror(error));
        }
        if (waiting && !std::exchange(told, true))
            waiting();
        if (go_on && !go_on()) {
            close(file);
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    file_ = file;
}

DeviceLock::~DeviceLock() {
    if (file_ >= 0)
        close(file_);
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DeviceLock& DeviceLock::operator=(DeviceLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

} // namespace zyfa::tuner
