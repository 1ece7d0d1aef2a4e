// SPDX-License-Identifier: Apache-2.0
// What HIP does not tell of a device, from the kernel driver's files.
#pragma once

#include <cstdint>
#include <string>

namespace zyfa::runtime {

/// Compute partition ("SPX", "DPX", "QPX", "CPX") of the device at a PCI address ("0000:05:00.0"), from
/// /sys/bus/pci/devices/ADDRESS/current_compute_partition; empty where the driver does not say.
std::string compute_partition(const std::string& pci, const std::string& sysfs = "/sys");

/// Number of XCDs of the device at a PCI address, from the num_xcc of its node in the driver's topology
/// (/sys/class/kfd/kfd/topology/nodes/N/properties); 0 where the driver does not say. In a partitioned mode
/// several nodes share the address; they are alike.
std::uint32_t xcd_count(const std::string& pci, const std::string& sysfs = "/sys");

} // namespace zyfa::runtime
