// SPDX-License-Identifier: Apache-2.0
#include "sweep/lane.hpp"

#include "core/digest.hpp"
#include "runtime/versions.hpp"

namespace zyfa::sweep {

namespace {

std::string short_digest(const std::string& text) {
    return digest(text).hex().substr(0, 8);
}

} // namespace

Versions versions_of(const runtime::Runtime& runtime, const runtime::DeviceInfo& device,
                     const std::string& toolchain, const std::string& sysfs) {
    const runtime::Versions found = runtime::versions(runtime, device.ordinal, sysfs);
    return {ZYFA_VERSION, found.hip, found.driver, found.firmware, toolchain};
}

std::string Lane::versions_text() const {
    return "HIP " + versions.hip + ", driver " + versions.driver +
           (versions.firmware.empty() ? "" : ", firmware " + versions.firmware) + ", zyfa " + versions.zyfa;
}

std::string Lane::text() const {
    return device.target + ", " + std::to_string(device.compute_units) + " CUs, " +
           std::to_string(device.xcds) + " XCDs" + (device.partition.empty() ? "" : ", " + device.partition) +
           (device.simulated ? ", simulated" : "") + "; " + versions_text();
}

std::string Lane::versions_id() const {
    return short_digest(versions_text());
}

std::string Lane::id() const {
    return short_digest(text());
}

} // namespace zyfa::sweep
