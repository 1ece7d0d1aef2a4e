// SPDX-License-Identifier: Apache-2.0
// Reads amdgpu's and amdkfd's files.
#include "runtime/topology.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace zyfa::runtime {

std::string compute_partition(const std::string& pci, const std::string& sysfs) {
    std::ifstream file(sysfs + "/bus/pci/devices/" + pci + "/current_compute_partition");
    std::string mode;
    file >> mode;
    return mode;
}

std::uint32_t xcd_count(const std::string& pci, const std::string& sysfs) {
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (std::sscanf(pci.c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
        return 0;
    // location_id as amdkfd makes it: PCI bus, device and function; partitions count up in the function.
    const std::uint64_t location = (bus << 8 | slot << 3) & ~7u;
    std::error_code error;
    for (const auto& node :
         std::filesystem::directory_iterator(sysfs + "/class/kfd/kfd/topology/nodes", error)) {
        std::ifstream file(node.path() / "properties");
        std::uint64_t node_location = ~0ull, node_domain = 0, xccs = 0, value = 0;
        for (std::string name; file >> name >> value;) {
            if (name == "location_id")
                node_location = value & ~7ull;
            else if (name == "domain")
                node_domain = value;
            else if (name == "num_xcc")
                xccs = value;
        }
        if (node_location == location && node_domain == domain && xccs > 0)
            return static_cast<std::uint32_t>(xccs);
    }
    return 0;
}

} // namespace zyfa::runtime
