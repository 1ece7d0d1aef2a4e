// SPDX-License-Identifier: Apache-2.0
#include "sim/cost_model.hpp"

#include <algorithm>
#include <queue>

namespace zyfa::sim {

namespace {

/// Vector-pipe cycles per wave instruction (paper Section III-A, measured on MI355X).
std::uint8_t vector_cycles(ValuClass pipe) {
    switch (pipe) {
    case ValuClass::two_cycle:
        return 2;
    case ValuClass::four_cycle:
    case ValuClass::packed_fp32:
        return 4;
    case ValuClass::eight_cycle:
        return 8;
    case ValuClass::sixteen_cycle:
        return 16;
    }
    return 4;
}

/// LDS data cycles per wave instruction without conflicts: lanes per clock by width (AMD rocRoller
/// LDSBankModel for gfx950: reads 16 lanes of 4 or 8 bytes, 4 of 12, 8 of 16; writes 16 of 4, 8 of 8, 4 of 12
/// and 16), writes with 4 cycles of issue per dword beyond the first four.
std::uint8_t lds_cycles(const Instruction& i) {
    const unsigned bytes = std::max<unsigned>(i.bytes, 4);
    if ((i.flags & (flag::store | flag::atomic)) != 0)
        return bytes <= 4 ? 8 : bytes <= 8 ? 12 : bytes <= 12 ? 16 : 20;
    return bytes <= 8 ? 4 : bytes <= 12 ? 16 : 8;
}

/// Bytes per cycle and compute unit between L1 and L2 (64 B per clock on CDNA3 and CDNA4).
constexpr unsigned memory_bytes_per_cycle = 64;
/// An instruction issues at most every 4 cycles from one wave (paper Section III-A).
constexpr unsigned issue_cycles = 4;
/// First instruction of a wave after its start, cold (thread traces of gfx950 in tinygrad: 540 to 720).
constexpr double start_cycles = 700;
/// First operands from memory, cold: scalar arguments and the first vector load (same traces: 724 to 768 and
/// 1816 to 1892).
constexpr double first_load_cycles = 740 + 1850;

} // namespace

void assign_cost(Instruction& i) {
    switch (i.kind) {
    case InstructionClass::valu:
    case InstructionClass::transcendental:
        i.pipe = Pipe::vector;
        i.cycles = i.valu != nullptr ? vector_cycles(i.valu->pipe) : 4;
        break;
    case InstructionClass::packed_fp32:
        i.pipe = Pipe::packed;
        i.cycles = 4;
        break;
    case InstructionClass::matrix:
        i.pipe = Pipe::matrix;
        i.cycles = static_cast<std::uint8_t>(
            std::min(255u, 4 * mfma_passes(*i.mfma, i.control & 0xff, i.control >> 16 & 0xff)));
        break;
    case InstructionClass::lds:
        i.pipe = Pipe::lds;
        i.cycles = lds_cycles(i);
        break;
    case InstructionClass::vmem:
    case InstructionClass::flat:
        i.pipe = i.bytes != 0 ? Pipe::memory : Pipe::none;
        i.cycles = static_cast<std::uint8_t>(64 * i.bytes / memory_bytes_per_cycle);
        break;
    case InstructionClass::salu:
    case InstructionClass::smem:
        i.pipe = Pipe::scalar;
        i.cycles = 4;
        break;
    default:
        i.pipe = Pipe::none;
        i.cycles = 0;
        break;
    }
}

const double workgroup_start_cycles = start_cycles + first_load_cycles;

double workgroup_cycles(const Workgroup& group, unsigned simds) {
    // Wave w runs on SIMD w mod 4 (paper Figure 6). The waves of a SIMD share its pipes; LDS and the path to
    // memory are the compute unit's. The busiest resource bounds the time.
    const std::vector<Wave>& waves = group.waves;
    const auto at = [](const Wave& wave, Pipe pipe) {
        return static_cast<double>(wave.cycles[static_cast<unsigned>(pipe)]);
    };
    double slowest = 0, lds = 0, memory = 0;
    for (unsigned simd = 0; simd < simds; ++simd) {
        double matrix = 0, vector = 0, issue = 0;
        for (std::size_t wave = simd; wave < waves.size(); wave += simds) {
            const Wave& w = waves[wave];
            // Packed FP32 waits for the matrix pipe and holds both (paper Section III-A).
            matrix += at(w, Pipe::matrix) + at(w, Pipe::packed);
            vector += at(w, Pipe::vector) + at(w, Pipe::packed);
            issue = std::max(issue, static_cast<double>(w.instructions * issue_cycles));
            lds += at(w, Pipe::lds);
            memory += at(w, Pipe::memory);
        }
        slowest = std::max({slowest, matrix, vector, issue});
    }
    return workgroup_start_cycles + std::max({slowest, lds, memory});
}

double launch_cycles(std::span<const double> workgroups, const DeviceConfig& device, unsigned per_unit) {
    // Linear workgroup i runs on XCD i mod 8 (paper; HipKittens); inside an XCD the next free unit takes it.
    const unsigned xcds = std::max(1u, device.xcds);
    const unsigned slots = std::max(1u, device.compute_units / xcds * std::max(1u, per_unit));
    double last = 0;
    for (unsigned xcd = 0; xcd < xcds; ++xcd) {
        std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
        for (std::size_t i = xcd; i < workgroups.size(); i += xcds) {
            double start = 0;
            if (free_at.size() >= slots) {
                start = free_at.top();
                free_at.pop();
            }
            // model_launch has stretched the time of workgroups that share a unit.
            const double end = start + workgroups[i];
            free_at.push(end);
            last = std::max(last, end);
        }
    }
    return last;
}

} // namespace zyfa::sim
