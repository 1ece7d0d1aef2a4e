// SPDX-License-Identifier: Apache-2.0
// A list that is never destroyed: at the end of the process the kernels still hang.
#include "tuner/hung_devices.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace zyfa::tuner {

namespace {

struct HungDevice {
    std::string pci, why;
    std::shared_ptr<void> held;
};

struct HungDevices {
    std::mutex lock;
    std::vector<HungDevice> all;
};

HungDevices& hung_devices() {
    static auto* const devices = new HungDevices;
    return *devices;
}

} // namespace

std::string why_hung(const std::string& pci) {
    HungDevices& hung = hung_devices();
    const std::lock_guard lock(hung.lock);
    for (const HungDevice& one : hung.all)
        if (one.pci == pci)
            return one.why;
    return {};
}

void keep_hung(const std::string& pci, std::string why, std::shared_ptr<void> held) {
    HungDevices& hung = hung_devices();
    const std::lock_guard lock(hung.lock);
    hung.all.push_back({pci, std::move(why), std::move(held)});
}

} // namespace zyfa::tuner
