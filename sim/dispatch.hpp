// SPDX-License-Identifier: Apache-2.0
// One launch under way: how its workgroups start (the registers that the ABI defines), and what they share.
#pragma once

#include "sim/code_object.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim {

/// Everything that is the same for all workgroups of a launch.
struct Dispatch {
    const CodeObjectImpl* code = nullptr;
    const Kernel* kernel = nullptr;
    const Instruction* entry = nullptr;
    std::array<std::uint32_t, 3> grid{}, block{};
    std::uint32_t lds_bytes = 0, scratch_bytes = 0;
    std::uint32_t work_items = 0, waves = 0;          ///< per workgroup
    std::uint64_t kernarg = 0, packet = 0, queue = 0; ///< simulated addresses
    DeviceConfig device;
};

/// Puts a workgroup in its initial state, its storage reused if there is one.
void start_workgroup(const Dispatch& dispatch, std::uint64_t linear_id, Workgroup& group);

} // namespace zyfa::sim
