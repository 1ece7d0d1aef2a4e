// SPDX-License-Identifier: Apache-2.0
#include "runtime/versions.hpp"

#include <sys/utsname.h>

#include <fstream>

namespace zyfa::runtime {

namespace {

/// First line of a file of the driver; empty where there is none.
std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string kernel_release() {
    utsname name{};
    return ::uname(&name) == 0 ? std::string("kernel ") + name.release : "";
}

std::string simulated_text(const Runtime& runtime, int device, const char* option) {
    using Text = const char* (*)(int, const char*);
    const auto text = reinterpret_cast<Text>(runtime.extension("zyfaSimDeviceText"));
    const char* found = text ? text(device, option) : nullptr;
    return found ? found : "";
}

} // namespace

Versions versions(const Runtime& runtime, int device, const std::string& sysfs) {
    Versions result;
    result.hip = runtime.report().version;
    if (runtime.simulated()) {
        result.driver = simulated_text(runtime, device, "driver");
        result.firmware = simulated_text(runtime, device, "firmware");
        return result;
    }
    result.driver = line_of(sysfs + "/module/amdgpu/version");
    if (result.driver.empty())
        result.driver = kernel_release();
    std::string folder = sysfs + "/bus/pci/devices/";
    for (const DeviceInfo& info : runtime.devices())
        if (info.ordinal == device)
            folder += info.pci;
    const auto add = [&](const char* part, const std::string& file) {
        if (const std::string version = line_of(folder + file); !version.empty())
            result.firmware += (result.firmware.empty() ? "" : ", ") + std::string(part) + " " + version;
    };
    add("mec", "/fw_version/mec_fw_version");
    add("smc", "/fw_version/smc_fw_version");
    add("vbios", "/vbios_version");
    return result;
}

} // namespace zyfa::runtime
