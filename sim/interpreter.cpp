// SPDX-License-Identifier: Apache-2.0
#include "sim/interpreter.hpp"

#include "sim/fault.hpp"
#include "sim/operations.hpp"

namespace zyfa::sim {

namespace {

void check_registers(Wave& wave, const Instruction& i) {
    const auto refuse = [](const char* file, unsigned highest, unsigned limit) {
        fault("register out of range", std::string(file) + std::to_string(highest) +
                                           " is named, the kernel allocates " + std::to_string(limit));
    };
    if (i.v_end > wave.v_limit)
        refuse("v", i.v_end - 1u, wave.v_limit);
    if (i.a_end > wave.a_limit)
        refuse("a", i.a_end - 1u, wave.a_limit);
    wave.high_vgprs = wave.high_vgprs || i.v_end > wave.accumulators_from;
    wave.accumulators = wave.accumulators || i.a_end > 0;
    if (wave.high_vgprs && wave.accumulators) // kept apart here, one register on the device
        fault("not simulated", "the kernel names AGPRs and VGPRs from its accum_offset, " +
                                   std::to_string(wave.accumulators_from) + ", on");
}

/// The instruction with its vector registers moved by M0 (s_set_gpr_idx_on). M0[7:0]: offset; M0[15:12]:
/// which of source 0, 1, 2 and destination it applies to.
void index_registers(const Wave& wave, const Instruction& i, Instruction& moved) {
    moved = i;
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
}

} // namespace

const Instruction* examine(Wave& wave, const Instruction& i, Instruction& moved) {
    if (wave.skipping && (i.flags & flag::vector) != 0)
        return nullptr;
    const bool vector_alu = i.valu != nullptr || i.kind == InstructionClass::valu;
    const Instruction* chosen = &i;
    if (wave.indexed && vector_alu && wave.m0() >> 12 != 0) {
        index_registers(wave, i, moved);
        chosen = &moved;
    }
    check_registers(wave, *chosen);
    return chosen;
}

void settle_barrier(Workgroup& group) {
    // A wave that has ended counts as arrived (LLVM AMDGPUUsage, s_barrier).
    if (group.at_barrier == 0 || group.at_barrier + group.ended != group.waves.size())
        return;
    for (Wave& waiting : group.waves)
        if (waiting.state == WaveState::barrier)
            waiting.state = WaveState::running;
    group.at_barrier = 0;
}

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
