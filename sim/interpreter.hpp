// SPDX-License-Identifier: Apache-2.0
// Runs waves. What watches them (a sanitizer, a counter) is a template parameter, so that a functional run
// pays nothing for it.
#pragma once

#include "sim/code_object.hpp"
#include "sim/wave.hpp"

#include <algorithm>

namespace zyfa::sim {

/// Watches nothing; what a set of hooks must offer.
struct NoHooks {
    /// Whether memory instructions tell thread->observer about their addresses.
    static constexpr bool observes_memory = false;
    void before(Wave&, const Instruction&) noexcept {}
    void after(Wave&, const Instruction&) noexcept {}
};

/// What the wave executes for the instruction at its PC while VGPR indexing, VSKIP or a descriptor with fewer
/// registers than the code object names call for a look: null if it is skipped, `moved` if its registers are
/// indexed. FaultError if it names registers that the kernel does not have.
const Instruction* examine(Wave& wave, const Instruction& instruction, Instruction& moved);
/// Whether every instruction of the wave's code needs examine().
inline bool needs_examination(const Wave& wave) noexcept {
    return wave.indexed || wave.skipping || wave.code->v_end() > wave.accumulators_from ||
           wave.code->a_end() > wave.a_limit;
}

template <class Hooks>
void execute(Wave& wave, const Instruction& i, Hooks& hooks) {
    hooks.before(wave, i);
    if constexpr (Hooks::observes_memory)
        i.execute_observed(wave, i);
    else
        i.execute(wave, i);
    wave.cycles[static_cast<unsigned>(i.pipe)] += i.cycles;
    hooks.after(wave, i);
}

/// Executes until the wave stops running or `budget` instructions are done. FaultError leaves wave.next one
/// past the instruction at fault.
template <class Hooks>
void run_wave(Wave& wave, std::uint64_t budget, Hooks& hooks) {
    const std::uint64_t end = wave.instructions + budget;
    while (wave.instructions != end && wave.state == WaveState::running) {
        if (needs_examination(wave)) {
            const Instruction& at = *wave.next++;
            ++wave.instructions;
            Instruction moved;
            if (const Instruction* i = examine(wave, at, moved))
                execute(wave, *i, hooks);
            continue;
        }
        while (wave.instructions != end) {
            const Instruction& i = *wave.next++;
            ++wave.instructions;
            execute(wave, i, hooks);
            // One test for everything that ends plain running.
            if (wave.state != WaveState::running || wave.indexed || wave.skipping) [[unlikely]]
                break;
        }
    }
}

/// Lets the waves at a barrier go on once every wave has arrived or ended.
void settle_barrier(Workgroup& group);

/// Has the workgroup's waves run in turn, each for about group.wave_quantum instructions by `run`, until all
/// have ended, all sleep, or about `budget` instructions are done. On FaultError group.next_wave is the wave
/// at fault.
template <class Run>
void run_in_turn(Workgroup& group, ThreadContext& thread, std::uint64_t budget, Run&& run) {
    const std::size_t count = group.waves.size();
    std::uint64_t done = 0;
    while (done < budget && !group.done()) {
        bool progressed = false;
        for (std::size_t turn = 0; turn < count; ++turn) {
            Wave& wave = group.waves[group.next_wave];
            if (wave.state == WaveState::sleeping)
                wave.state = WaveState::running;
            if (wave.state == WaveState::running) {
                wave.thread = &thread;
                const std::uint64_t before = wave.instructions;
                run(wave);
                done += wave.instructions - before;
                progressed |= wave.state != WaveState::sleeping;
                if (wave.state == WaveState::barrier)
                    ++group.at_barrier;
                else if (wave.state == WaveState::ended)
                    ++group.ended;
                settle_barrier(group);
            }
            group.next_wave = (group.next_wave + 1) % count;
        }
        if (!progressed)
            return; // asleep: another workgroup may be what it waits for
    }
}

template <class Hooks>
void run_workgroup(Workgroup& group, ThreadContext& thread, std::uint64_t budget, Hooks& hooks) {
    run_in_turn(group, thread, budget, [&](Wave& wave) { run_wave(wave, group.wave_quantum, hooks); });
}

} // namespace zyfa::sim
