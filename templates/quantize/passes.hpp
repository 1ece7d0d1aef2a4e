// SPDX-License-Identifier: Apache-2.0
// The kernels of a quantization, each as its part of the assembler file.
#pragma once

#include "templates/asm/kernel_file.hpp"
#include "templates/quantize/kernel.hpp"

namespace zyfa::templates::quantize {

/// Registers and code are there; waits and wait states are not yet.
struct Pass {
    explicit Pass(std::string kernel_name) { file.name = std::move(kernel_name); }
    isa::KernelFile file;
    isa::SAllocator scalars{102};
    isa::VAllocator vectors{256};
};

void emit_cast(Pass& pass, const Kind& kind);
void emit_largest(Pass& pass, const Kind& kind);
void emit_sum(Pass& pass, const Kind& kind);
void emit_mean(Pass& pass, const Kind& kind);
void emit_lse(Pass& pass, const Kind& kind);

} // namespace zyfa::templates::quantize
