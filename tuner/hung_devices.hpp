// SPDX-License-Identifier: Apache-2.0
// Devices of this process on which a candidate hangs that nothing can end: no wait for them comes back.
#pragma once

#include <memory>
#include <string>

namespace zyfa::tuner {

/// Why the device at the PCI address is not to be tuned on in this process any more; empty where it may be.
std::string why_hung(const std::string& pci);

/// `held`: tensors, modules and streams of the tuning, which stay until the process ends. Freeing them would
/// wait for the kernel (hipFree and hipModuleUnload synchronise).
void keep_hung(const std::string& pci, std::string why, std::shared_ptr<void> held);

} // namespace zyfa::tuner
