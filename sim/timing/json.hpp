// SPDX-License-Identifier: Apache-2.0
// Timing reports as JSON, as an annotated listing, and as a trace for Perfetto.
#pragma once

#include <functional>
#include <string>

#include "sim/timing/report.hpp"

namespace zyfa::sim::timing {

/// Text of the instruction at a PC (bytes from the code object's base).
using Disassembly = std::function<std::string(std::uint32_t pc)>;

/// {"workgroup", "cycles", "matrix_busy": {"steady", "whole_loop"}, "phase_cycles", "phases",
///  "idle_beside_softmax", "activity": {"matrix", "toggles", "vector", "lds", "clock_ghz"},
///  "pipes": {"matrix", "vector", "packed", "lds", "issue", "scalar", "memory"}, "stalls": {...},
///  "instructions": [{"pc", "text", "count", "busy", "stalled", "stalls": {...}}]}
/// Pipe cycles are SIMD 0's; LDS and memory are the compute unit's. Instructions only if `disassembly` is
/// given.
std::string to_json(const TimingReport& report, const Disassembly& disassembly = {});

/// One line per executed instruction: count, cycles waited, by which reason most, disassembly.
std::string to_listing(const TimingReport& report, const Disassembly& disassembly);

/// Trace events in the JSON form that Perfetto and Chrome read: per wave a track of instructions and one of
/// waits, per SIMD the matrix and the vector pipe, LDS ports. One microsecond of the trace is one shader
/// cycle. Needs events; those in [begin, end) are written.
std::string to_perfetto(const TimingReport& report, const Disassembly& disassembly, Cycle begin = 0,
                        Cycle end = ~Cycle{0});

} // namespace zyfa::sim::timing
