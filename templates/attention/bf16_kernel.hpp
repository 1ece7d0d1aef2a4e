// SPDX-License-Identifier: Apache-2.0
// The BF16 forward kernel at head dimension 128 as an assembler file.
#pragma once

#include <string>

#include "templates/asm/kernel_file.hpp"
#include "templates/attention/options.hpp"

namespace zyfa::templates::attention {

isa::KernelFile make_bf16_kernel(const std::string& name, const ForwardOptions& options,
                                 std::vector<std::string> heading);

} // namespace zyfa::templates::attention
