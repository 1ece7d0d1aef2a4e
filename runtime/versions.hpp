// SPDX-License-Identifier: Apache-2.0
// Versions of what lies between a kernel and its time: HIP, the kernel driver, the chip's firmware.
#pragma once

#include <string>

#include "runtime/runtime.hpp"

namespace zyfa::runtime {

/// Empty: not known.
struct Versions {
    std::string hip;      ///< of the HIP library, "7.2.53211"
    std::string driver;   ///< of amdgpu
    std::string firmware; ///< of the parts that set clocks and start waves, "mec 0x..., smc 0x..., vbios ..."
    bool operator==(const Versions&) const = default;
};

/// On a real GPU from the driver's files: /sys/module/amdgpu/version (a driver that is part of the kernel has
/// none: then the kernel's release), and in the device's PCI folder fw_version/mec_fw_version,
/// fw_version/smc_fw_version and vbios_version (Linux, drivers/gpu/drm/amd/amdgpu/amdgpu_ucode.c,
/// amdgpu_atombios.c). On the simulator, what its device options say.
Versions versions(const Runtime& runtime, int device, const std::string& sysfs = "/sys");

} // namespace zyfa::runtime
