// SPDX-License-Identifier: Apache-2.0
// Lanes: workers whose measurements may be compared. Devices of another kind, another HIP, driver or firmware
// make another lane, which runs the sweep for itself.
#pragma once

#include <string>

#include "core/keys.hpp"
#include "runtime/runtime.hpp"

namespace zyfa::sweep {

/// What a node runs; recorded for each worker.
struct Versions {
    std::string zyfa, hip;
    std::string driver;    ///< of amdgpu
    std::string firmware;  ///< of the device: MEC, SMC, VBIOS
    std::string toolchain; ///< assembles the kernels; recorded, makes no lane
    bool operator==(const Versions&) const = default;
};

/// Reads the driver's and the device's versions below `sysfs`.
Versions versions_of(const runtime::Runtime& runtime, const runtime::DeviceInfo& device,
                     const std::string& toolchain, const std::string& sysfs = "/sys");

struct Lane {
    DeviceIdentity device;
    Versions versions;

    std::string versions_id() const; ///< 8 hexadecimal digits; packs are made per versions
    std::string id() const;          ///< 8 hexadecimal digits of device and versions
    std::string text() const;        ///< one line for people
    /// Of the versions alone: "HIP 7.2.53211, driver ..., firmware ..., zyfa 0.1.0".
    std::string versions_text() const;
};

} // namespace zyfa::sweep
