// SPDX-License-Identifier: Apache-2.0
// One tuner per GPU at a time, over all processes and users of the host.
#pragma once

#include <functional>
#include <string>

namespace zyfa::tuner {

/// The lock's file: /tmp/zyfa-tuner-<PCI address>.lock, in $ZYFA_TUNER_LOCKS instead of /tmp where that is
/// set. It stays when the lock is given back; what counts is the kernel's lock on it (flock(2)), which ends
/// with its holder.
std::string device_lock_path(const std::string& pci);

class DeviceLock {
  public:
    DeviceLock() = default;
    /// Waits until no other process holds the lock. `waiting` is called once if it has to; `go_on` is asked
    /// ten times a second, and when it says no the lock is not held. Throws Error{io_error} naming the file.
    explicit DeviceLock(const std::string& pci, const std::function<void()>& waiting = {},
                        const std::function<bool()>& go_on = {});
    ~DeviceLock();
    DeviceLock(DeviceLock&& other) noexcept;
    DeviceLock& operator=(DeviceLock&& other) noexcept;
    bool held() const noexcept { return file_ >= 0; }

  private:
    int file_ = -1;
};

} // namespace zyfa::tuner
