// SPDX-License-Identifier: Apache-2.0
// Runs waves. What watches them (a sanitizer, a cycle model) is a template parameter, so that a functional
// run pays nothing for it.
#pragma once

#include "sim/code_object.hpp"
#include "sim/wave.hpp"

namespace zyfa::sim {

/// Watches nothing.
struct NoHooks {
    static constexpr bool observes_memory = false;
    void before(Wave&, const Instruction&) noexcept {}
    void after(Wave&, const Instruction&) noexcept {}
};

/// Executes until the wave stops running or `budget` instructions are done. FaultError leaves wave.next one
/// past the instruction at fault.
template <class Hooks>
void run_wave(Wave& wave, std::uint64_t budget, Hooks& hooks);

/// Runs the workgroup's waves in turn until all have ended, all sleep, or about `budget` instructions are
/// done.
template <class Hooks>
void run_workgroup(Workgroup& group, ThreadContext& thread, std::uint64_t budget, Hooks& hooks);

} // namespace zyfa::sim
