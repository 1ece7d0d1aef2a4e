// SPDX-License-Identifier: Apache-2.0
// First cost model: pipe occupancy per instruction, two waves to a SIMD, workgroups dealt to compute units.
// What the engine counts while it executes is turned into simulated cycles here and nowhere else.
#pragma once

#include "sim/engine.hpp"
#include "sim/instruction.hpp"

namespace zyfa::sim {

/// Sets an instruction's pipe and its occupancy in shader cycles.
void assign_cost(Instruction& instruction);

/// Cycles before a workgroup's first operands have come: wave start, arguments, first vector load, cold.
extern const double workgroup_start_cycles;

/// What one wave did.
struct WaveCost {
    std::uint64_t instructions = 0;
    std::uint64_t cycles[pipes] = {};
};

/// Modelled cycles of one workgroup alone on a compute unit; waves in order of their number.
double workgroup_cycles(std::span<const WaveCost> waves, unsigned simds);

/// Modelled cycles of a launch from those of its workgroups in linear order; `per_unit` workgroups share a
/// compute unit.
double launch_cycles(std::span<const double> workgroups, const DeviceConfig& device, unsigned per_unit);

} // namespace zyfa::sim
