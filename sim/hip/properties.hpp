// SPDX-License-Identifier: Apache-2.0
// What a simulated MI355X says of itself, in HIP's structures.
#pragma once

#include <string>

#include <hip/hip_runtime_api.h>

#include "sim/hip/device.hpp"

namespace zyfa::sim::hip {

/// Value of hipRuntimeGetVersion and hipDriverGetVersion: that of the headers, or ZYFA_SIM_HIP_VERSION.
int hip_version();

hipDeviceProp_t device_properties(const Device& device); ///< R0600
std::string pci_bus_id(const Device& device);            ///< "0000:05:00.0"

/// Throws Failure{hipErrorInvalidValue} where HIP has no such attribute.
int device_attribute(const Device& device, hipDeviceAttribute_t attribute);

} // namespace zyfa::sim::hip
