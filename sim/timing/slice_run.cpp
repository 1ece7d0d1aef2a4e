// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/slice_run.hpp"

#include "sim/interpreter.hpp"

namespace zyfa::sim::timing {

void SliceRun::enter(Workgroup& group) const {
    for (Wave& wave : group.waves)
        wave.next = slice_.code.data() + slice_.entry;
}

void SliceRun::run_wave(Wave& wave, std::uint64_t budget) {
    const Instruction* const first = slice_.code.data();
    const std::uint64_t end = wave.instructions + budget;
    while (wave.state == WaveState::running && wave.instructions < end) {
        const Instruction& i = *wave.next++;
        const auto number = static_cast<std::size_t>(&i - first);
        const AddressSlice::Cost& cost = slice_.costs[number];
        wave.instructions += cost.instructions;
        for (unsigned pipe = 0; pipe < pipes; ++pipe)
            wave.cycles[pipe] += cost.cycles[pipe];
        if (i.kind != InstructionClass::vmem || !memo_.load(wave, i, number, observer_))
            i.execute_observed(wave, i);
    }
}

void SliceRun::run(Workgroup& group, ThreadContext& thread, std::uint64_t budget) {
    run_in_turn(group, thread, budget, [&](Wave& wave) { run_wave(wave, group.wave_quantum); });
}

} // namespace zyfa::sim::timing
