// SPDX-License-Identifier: Apache-2.0
// A BF16 forward kernel as an assembler file.
#pragma once

#include <string>
#include <vector>

#include "templates/asm/kernel_file.hpp"
#include "templates/attention/bf16_registers.hpp"
#include "templates/attention/options.hpp"

namespace zyfa::templates::attention {

isa::KernelFile make_bf16_kernel(const std::string& name, const Bf16Geometry& geometry,
                                 const ForwardOptions& options, Bf16Pipeline pipeline,
                                 std::vector<std::string> heading);

} // namespace zyfa::templates::attention
