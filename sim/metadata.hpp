// SPDX-License-Identifier: Apache-2.0
// The msgpack note of a code object: names, sizes and arguments of its kernels.
#pragma once

#include "sim/engine.hpp"

namespace zyfa::sim {

struct KernelMetadata {
    std::string name, symbol; ///< symbol: "<name>.kd"
    std::uint32_t kernarg_size = 0, static_lds = 0, scratch = 0;
    std::uint32_t sgprs = 0, vgprs = 0, agprs = 0, max_workgroup_size = 1024;
    std::vector<KernelArgument> arguments;
};

/// Throws std::runtime_error if the bytes are not msgpack or not the map that AMDGPUUsage describes.
std::vector<KernelMetadata> parse_metadata(std::span<const std::byte> note);

} // namespace zyfa::sim
