// SPDX-License-Identifier: Apache-2.0
// The cost model: pipe occupancy per instruction, the busiest pipe bounds a workgroup, workgroups are dealt
// to compute units. It times launches without timed workgroups, and sim/timing scales its estimates by what
// the cycle model measures.
#pragma once

#include "sim/engine.hpp"
#include "sim/instruction.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim {

/// Sets an instruction's pipe and its occupancy in shader cycles.
void assign_cost(Instruction& instruction);

/// Cycles before a workgroup's first operands have come: wave start, arguments, first vector load, cold.
extern const double workgroup_start_cycles;

/// Modelled cycles of one workgroup alone on a compute unit, from what its waves have counted so far.
double workgroup_cycles(const Workgroup& group, unsigned simds);

/// Modelled cycles of a launch from those of its workgroups in linear order; `per_unit` workgroups share a
/// compute unit.
double launch_cycles(std::span<const double> workgroups, const DeviceConfig& device, unsigned per_unit);

} // namespace zyfa::sim
