// SPDX-License-Identifier: Apache-2.0
#include "sim/interpreter.hpp"

#include "sim/fault.hpp"
#include "sim/operations.hpp"

namespace zyfa::sim {

namespace {

/// Instructions of one wave before the next gets its turn: long enough to keep its registers in the host's
/// cache, short enough for waves that wait for each other through LDS.
constexpr std::uint64_t wave_quantum = 4096;

template <class Hooks>
void step(Wave& wave, const Instruction& i, Hooks& hooks) {
    hooks.before(wave, i);
    if constexpr (Hooks::observes_memory)
        i.execute_observed(wave, i);
    else
        i.execute(wave, i);
    wave.cycles[static_cast<unsigned>(i.pipe)] += i.cycles;
    hooks.after(wave, i);
}

void check_registers(const Wave& wave, const Instruction& i) {
    const auto refuse = [](const char* file, unsigned highest, unsigned limit) {
        fault("register out of range", std::string(file) + std::to_string(highest) +
                                           " is named, the kernel allocates " + std::to_string(limit));
    };
    if (i.v_end > wave.v_limit)
        refuse("v", i.v_end - 1u, wave.v_limit);
    if (i.a_end > wave.a_limit)
        refuse("a", i.a_end - 1u, wave.a_limit);
}

/// The instruction with its vector registers moved by M0 (s_set_gpr_idx_on). M0[7:0]: offset; M0[15:12]:
/// which of source 0, 1, 2 and destination it applies to.
Instruction indexed_copy(const Wave& wave, const Instruction& i) {
    Instruction moved = i;
    const std::uint32_t offset = wave.m0() & 0xff, which = wave.m0() >> 12 & 15;
    const auto move = [&](Operand& o) {
        if (o.kind != OperandKind::vgpr)
            return;
        if (o.index + offset + o.words > 256)
            fault("register out of range", "indexed register v" + std::to_string(o.index + offset));
        o.index = static_cast<std::uint16_t>(o.index + offset);
        o.value = o.index * lanes;
        moved.v_end = std::max<std::uint16_t>(moved.v_end, static_cast<std::uint16_t>(o.index + o.words));
    };
    for (unsigned n = 0; n < 3; ++n)
        if ((which >> n & 1) != 0)
            move(moved.src[n]);
    if ((which >> 3 & 1) != 0)
        move(moved.dst);
    return moved;
}

/// For kernels or phases that need a look at each instruction first.
template <class Hooks>
void run_carefully(Wave& wave, std::uint64_t budget, Hooks& hooks) {
    for (; budget != 0 && wave.state == WaveState::running; --budget) {
        const Instruction& i = *wave.next++;
        ++wave.instructions;
        if (wave.skipping && (i.flags & flag::vector) != 0)
            continue;
        const bool vector_alu = i.valu != nullptr || i.kind == InstructionClass::valu;
        if (wave.indexed && vector_alu && wave.m0() >> 12 != 0) {
            const Instruction moved = indexed_copy(wave, i);
            check_registers(wave, moved);
            step(wave, moved, hooks);
        } else {
            check_registers(wave, i);
            step(wave, i, hooks);
        }
    }
}

} // namespace

template <class Hooks>
void run_wave(Wave& wave, std::uint64_t budget, Hooks& hooks) {
    const bool registers_fit = wave.code->v_end() <= wave.v_limit && wave.code->a_end() <= wave.a_limit;
    std::uint64_t left = budget;
    while (left != 0 && wave.state == WaveState::running) {
        const std::uint64_t before = wave.instructions;
        if (!registers_fit || wave.indexed || wave.skipping) {
            run_carefully(wave, std::min<std::uint64_t>(left, 64), hooks);
        } else {
            for (std::uint64_t n = left; n != 0 && wave.state == WaveState::running; --n) {
                const Instruction& i = *wave.next++;
                ++wave.instructions;
                step(wave, i, hooks);
                if (wave.indexed || wave.skipping) [[unlikely]]
                    break;
            }
        }
        left -= wave.instructions - before;
    }
}

template <class Hooks>
void run_workgroup(Workgroup& group, ThreadContext& thread, std::uint64_t budget, Hooks& hooks) {
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
                run_wave(wave, wave_quantum, hooks);
                done += wave.instructions - before;
                progressed |= wave.state != WaveState::sleeping;
                if (wave.state == WaveState::barrier)
                    ++group.at_barrier;
                else if (wave.state == WaveState::ended)
                    ++group.ended;
                // A wave that has ended counts as arrived.
                if (group.at_barrier != 0 && group.at_barrier + group.ended == count) {
                    for (Wave& waiting : group.waves)
                        if (waiting.state == WaveState::barrier)
                            waiting.state = WaveState::running;
                    group.at_barrier = 0;
                }
            }
            group.next_wave = (group.next_wave + 1) % count;
        }
        if (!progressed)
            return; // asleep: another workgroup may be what it waits for
    }
}

template void run_wave(Wave&, std::uint64_t, NoHooks&);
template void run_workgroup(Workgroup&, ThreadContext&, std::uint64_t, NoHooks&);

void execute_unknown(Wave&, const Instruction& i) {
    if (i.mnemonic == nullptr)
        fault("unknown instruction", "these bits are no gfx950 instruction");
    fault("unknown instruction", std::string(i.mnemonic) + " in this form is not modelled");
}

std::uint32_t read_special(const Wave& wave, unsigned code, bool high) {
    const auto half = [high](std::uint64_t value) {
        return static_cast<std::uint32_t>(high ? value >> 32 : value);
    };
    switch (code) {
    // As 64 bits the aperture's address; as 32 bits its upper half, which is what the program needs.
    case scalar_code::shared_base:
        return half(shared_aperture);
    case scalar_code::shared_limit:
        return half(shared_aperture + 0xffffffffull);
    case scalar_code::private_base:
        return half(private_aperture);
    case scalar_code::private_limit:
        return half(private_aperture + 0xffffffffull);
    case scalar_code::vccz:
        return high ? 0 : wave.vcc() == 0;
    case scalar_code::execz:
        return high ? 0 : wave.exec() == 0;
    case scalar_code::scc:
        return high ? 0 : wave.scc;
    default:
        return 0;
    }
}

} // namespace zyfa::sim
