// SPDX-License-Identifier: Apache-2.0
// An FP8 forward kernel as an assembler file.
#pragma once

#include <string>

#include "templates/asm/kernel_file.hpp"
#include "templates/attention/fp8_registers.hpp"
#include "templates/attention/options.hpp"

namespace zyfa::templates::attention {

isa::KernelFile make_fp8_kernel(const std::string& name, const Fp8Geometry& geometry,
                                const ForwardOptions& options, const Fp8Probability& probability,
                                std::vector<std::string> heading);

} // namespace zyfa::templates::attention
