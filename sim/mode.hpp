// SPDX-License-Identifier: Apache-2.0
// Hardware registers that a program can read or set (CDNA4 ISA, s_getreg_b32 and s_setreg_b32).
#pragma once

#include "sim/wave.hpp"

namespace zyfa::sim {

/// MODE as a kernel descriptor's compute_pgm_rsrc1 asks for it (LLVM AMDGPUUsage).
std::uint32_t mode_from_rsrc1(std::uint32_t rsrc1);
void set_mode(Wave& wave, std::uint32_t bits);
/// Faults on an id that has no meaning here.
std::uint32_t read_hardware_register(const Wave& wave, unsigned id);
void write_hardware_register(Wave& wave, unsigned id, std::uint32_t value, std::uint32_t mask);

} // namespace zyfa::sim
