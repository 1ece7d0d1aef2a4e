// SPDX-License-Identifier: Apache-2.0
// The lock over a GPU, between processes.
#include "tuner/device_lock.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

/// A PCI address that no device of this machine has, and no other run of the test uses.
std::string made_up_pci() {
    return "ffff:ff:1f." + std::to_string(getpid());
}

struct RemoveFile {
    std::string pci;
    ~RemoveFile() { unlink(device_lock_path(pci).c_str()); }
};

} // namespace

TEST_CASE("the lock's path is documented: the PCI address without colons") {
    CHECK(device_lock_path("0000:05:00.0").ends_with("/zyfa-tuner-0000-05-00.0.lock"));
}

TEST_CASE("one holder at a time; it can be given back, and waiting can be given up") {
    const RemoveFile remove{made_up_pci()};
    DeviceLock first(remove.pci);
    REQUIRE(first.held());
    bool waited = false;
    const DeviceLock second(remove.pci, [&] { waited = true; }, [] { return false; });
    CHECK_FALSE(second.held());
    CHECK(waited);
    first = DeviceLock();
    CHECK(DeviceLock(remove.pci).held());
}

TEST_CASE("a process that is killed does not keep the lock") {
    const RemoveFile remove{made_up_pci()};
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const DeviceLock lock(remove.pci);
        const char held = lock.held() ? 'y' : 'n';
        if (write(ready[1], &held, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    char held = 0;
    REQUIRE(read(ready[0], &held, 1) == 1);
    CHECK(held == 'y');
    CHECK_FALSE(DeviceLock(remove.pci, {}, [] { return false; }).held());
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(DeviceLock(remove.pci).held());
    close(ready[0]);
    close(ready[1]);
}

TEST_CASE("a lock that cannot be made names its file") {
    const std::string pci = "no/such\x01/../../folder/" + std::string(300, 'x');
    CHECK_THROWS_WITH_AS(DeviceLock{pci}, doctest::Contains(device_lock_path(pci).c_str()), Error);
}
