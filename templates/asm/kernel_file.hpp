// SPDX-License-Identifier: Apache-2.0
// A complete assembler file: code, kernel descriptor and metadata note (LLVM AMDGPUUsage, code object v5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "templates/asm/allocator.hpp"
#include "templates/asm/instruction.hpp"

namespace zyfa::templates::isa {

struct Argument {
    std::string name;
    std::uint32_t offset = 0, size = 0;
    bool pointer = false;
};

struct KernelFile {
    std::string name;
    std::vector<std::string> heading; ///< comment lines at the top
    std::uint32_t workgroup_size = 512, lds_bytes = 0, kernarg_bytes = 0;
    std::uint32_t vgprs = 0; ///< arch VGPRs used
    std::uint32_t agprs = 0;
    std::uint32_t sgprs = 0;
    bool workgroup_yz = false;   ///< workgroup ids y and z in the SGPRs after x
    unsigned denorm_mode_32 = 3; ///< 3 keeps FP32 denormals, 0 flushes (MODE.fp_denorm)
    std::vector<Argument> arguments;
    std::string register_maps;
    Stream code;
};

std::string to_text(const KernelFile& file);
/// Several kernels in one file, under the first one's heading. Labels must differ from kernel to kernel.
std::string to_text(std::span<const KernelFile> files);

} // namespace zyfa::templates::isa
