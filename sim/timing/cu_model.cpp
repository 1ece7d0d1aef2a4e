// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/cu_model.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "sim/timing/lds_banks.hpp"

namespace zyfa::sim::timing {

namespace {

constexpr unsigned scc_code = 253;

void raise(Readiness& r, Cycle cycle, Stall reason) {
    if (cycle > r.cycle)
        r = {cycle, reason};
}

/// s_waitcnt's fields on GFX9 (LLVM AMDGPUUsage): vmcnt [15:14],[3:0], lgkmcnt [11:8].
unsigned vm_limit(std::uint32_t imm) {
    return (imm & 15u) | (imm >> 10 & 0x30u);
}
unsigned lgkm_limit(std::uint32_t imm) {
    return imm >> 8 & 15u;
}

/// When no more than `limit` of the operations are outstanding.
Cycle completion(const std::deque<Cycle>& done, unsigned limit) {
    return done.size() > limit ? done[done.size() - limit - 1] : 0;
}

void drop_completed(std::deque<Cycle>& done, Cycle now) {
    while (!done.empty() && done.front() <= now)
        done.pop_front();
}

/// Completions are seen in order.
void push_in_order(std::deque<Cycle>& done, Cycle cycle) {
    done.push_back(done.empty() ? cycle : std::max(cycle, done.back()));
}

bool is_lds_dma(const Instruction& i) {
    return i.kind == InstructionClass::vmem && (i.flags & flag::lds);
}

/// Kinds whose issue is limited by the SIMD's port rather than by a pipe with an occupancy of its own.
bool needs_port(InstructionClass kind) {
    switch (kind) {
    case InstructionClass::salu:
    case InstructionClass::smem:
    case InstructionClass::branch:
    case InstructionClass::lds:
    case InstructionClass::vmem:
    case InstructionClass::flat:
        return true;
    default:
        return false; // vector kinds have their pipe; waits, barriers and nops need no unit
    }
}

} // namespace

const char* to_string(Stall stall) noexcept {
    static constexpr const char* names[stalls] = {
        "none", "start", "dependency", "vector_pipe", "matrix_pipe", "lds_port", "memory_pipe",
        "port", "vmcnt", "lgkmcnt",    "barrier",     "branch",      "fetch",    "sleep"};
    return names[static_cast<unsigned>(stall)];
}

CuModel::CuModel(const Parameters& parameters, unsigned waves)
    : p_(parameters), longer_{p_.infinity_cache_latency - p_.l2_latency, p_.hbm_latency - p_.l2_latency},
      scalar_cache_(p_.scalar_cache_bytes, p_.scalar_cache_line, p_.scalar_cache_ways),
      instruction_cache_(p_.instruction_cache_bytes, p_.instruction_line, p_.instruction_ways),
      waves_(waves) {
    for (unsigned w = 0; w < waves; ++w)
        start(w, p_.wave_start + w / 4 * p_.wave_start_spacing);
}

void CuModel::start(unsigned w, Cycle cycle) {
    waves_[w] = Wave{};
    waves_[w].next_issue = waves_[w].regular = cycle;
    waves_[w].next_reason = Stall::start;
}

Cycle CuModel::operands_ready(const Wave& wave, const Instruction& i) const {
    Cycle cycle = 0;
    const auto look = [&](const Operand& o) {
        if (o.kind == OperandKind::vgpr) {
            for (unsigned n = 0; n < o.words && o.index + n < wave.vgpr.size(); ++n)
                cycle = std::max(cycle, wave.vgpr[o.index + n]);
        } else if (o.kind == OperandKind::sgpr) {
            for (unsigned n = 0; n < o.words && o.index + n < wave.sgpr.size(); ++n)
                cycle = std::max(cycle, wave.sgpr[o.index + n]);
        } else if (o.kind == OperandKind::special && o.index == scc_code) {
            cycle = std::max(cycle, wave.scc);
        }
    };
    for (const Operand& o : i.src)
        look(o);
    if (i.valu && i.valu->reads_d)
        look(i.dst);
    if (i.kind == InstructionClass::branch)
        cycle = std::max({cycle, wave.scc, wave.sgpr[106], wave.sgpr[107], wave.sgpr[126], wave.sgpr[127]});
    return cycle;
}

Readiness CuModel::ready(unsigned w, const Instruction& i) const {
    const Wave& wave = waves_[w];
    const Simd& simd = simds_[w % 4];
    Readiness r{wave.next_issue, wave.next_reason};
    raise(r, operands_ready(wave, i), Stall::dependency);
    if (needs_port(i.kind))
        raise(r, simd.port_free[static_cast<unsigned>(i.kind)], Stall::port);
    switch (i.pipe) {
    case Pipe::vector:
        raise(r,
              i.cycles >= p_.slow_vector ? std::max(simd.vector_free, simd.slow_vector_free)
                                         : simd.vector_free,
              Stall::vector_pipe);
        break;
    case Pipe::matrix:
        raise(r, simd.matrix_free, Stall::matrix_pipe);
        break;
    case Pipe::packed: // waits until the matrix pipe is idle (paper III-A)
        raise(r, simd.vector_free, Stall::vector_pipe);
        raise(r, simd.matrix_free, Stall::matrix_pipe);
        break;
    default:
        break;
    }
    switch (i.kind) {
    case InstructionClass::waitcnt:
        raise(r, completion(wave.vm, vm_limit(i.imm)), Stall::vmcnt);
        raise(r, completion(wave.lgkm, lgkm_limit(i.imm)), Stall::lgkmcnt);
        break;
    case InstructionClass::vmem:
    case InstructionClass::flat:
        raise(r, completion(wave.vm, 63), Stall::memory_pipe);
        break;
    case InstructionClass::control:
        // A wave ends when its stores are done, 200 to 280 cycles after the last one (SQTT).
        if (i.mnemonic != nullptr && std::string_view(i.mnemonic) == "s_endpgm")
            raise(r, completion(wave.vm, 0), Stall::vmcnt);
        break;
    case InstructionClass::lds:
    case InstructionClass::smem:
        raise(r, completion(wave.lgkm, 15), Stall::lds_port);
        break;
    default:
        break;
    }
    return r;
}

Event CuModel::issue(unsigned w, const Instruction& i, Readiness at, const Executed& executed) {
    Wave& wave = waves_[w];
    Simd& simd = simds_[w % 4];
    const Cycle t = at.cycle;
    Event event;
    event.pc = i.pc;
    event.wave = static_cast<std::uint16_t>(w);
    event.pipe = i.pipe;
    event.kind = i.kind;
    event.issue = t;
    event.stall = at.reason;
    event.stalled = static_cast<std::uint32_t>(t - std::min(t, wave.regular));

    Cycle next = t + p_.issue_interval;
    Stall next_reason = Stall::none;
    if (needs_port(i.kind))
        simd.port_free[static_cast<unsigned>(i.kind)] = t + p_.issue_interval;

    Cycle result = t + p_.alu_latency;
    switch (i.kind) {
    case InstructionClass::valu:
    case InstructionClass::transcendental:
        simd.vector_free = t + i.cycles;
        event.busy = i.cycles;
        result = t + std::max<Cycle>(p_.alu_latency, i.cycles);
        break;
    case InstructionClass::packed_fp32:
        simd.vector_free = simd.matrix_free = t + i.cycles;
        event.busy = i.cycles;
        break;
    case InstructionClass::matrix:
        // The matrix wave is not held by vector work (at most 1.05 times slower, paper III-A); it takes its
        // cycles of the vector pipe after what is already there.
        simd.matrix_free = t + i.cycles;
        simd.slow_vector_free =
            std::max({simd.vector_free, simd.slow_vector_free, t}) + p_.mfma_vector_cycles;
        event.busy = i.cycles;
        result = t; // results are not tracked by hardware: software waits (paper III-A)
        break;
    case InstructionClass::salu:
        result = t + p_.scalar_latency;
        wave.scc = result;
        break;
    case InstructionClass::smem: {
        // A load crosses at most one line; s_memtime and the like take the way of a hit.
        bool hit = true;
        if (executed.addresses != nullptr && executed.active != 0) {
            const std::uint64_t address = executed.addresses[0];
            hit = scalar_cache_.touch(address);
            if (const std::uint64_t last = address + std::max<unsigned>(i.bytes, 1) - 1;
                last / p_.scalar_cache_line != address / p_.scalar_cache_line)
                hit &= scalar_cache_.touch(last);
        }
        push_in_order(wave.lgkm, t + (hit ? p_.scalar_hit : p_.scalar_miss));
        break;
    }
    case InstructionClass::lds: {
        drop_completed(wave.lgkm, t);
        Cycle& port = lds_free_[w % 4 / 2];
        const bool store = i.flags & flag::store;
        const unsigned cycles = executed.addresses
                                    ? lds_port_cycles(store ? LdsDirection::write : LdsDirection::read,
                                                      i.bytes, executed.addresses, executed.active)
                                    : 4u;
        const Cycle begin = std::max(port, t);
        port = begin + cycles;
        event.busy = cycles;
        push_in_order(wave.lgkm, begin + cycles + (store ? p_.lds_write_latency : p_.lds_latency));
        break;
    }
    case InstructionClass::vmem:
    case InstructionClass::flat: {
        drop_completed(wave.vm, t);
        const unsigned bytes = i.bytes * static_cast<unsigned>(std::popcount(executed.active));
        const unsigned cycles = std::max(4u, (bytes + p_.vmem_bytes_per_clock - 1) / p_.vmem_bytes_per_clock);
        const Cycle begin = std::max(memory_free_, t);
        memory_free_ = begin + cycles;
        event.busy = cycles;
        Cycle latency = (i.flags & flag::store) != 0 ? p_.store_latency : p_.l2_latency; // loads hit L2
        if (is_lds_dma(i))
            latency += p_.dma_extra;
        push_in_order(wave.vm, begin + cycles + latency);
        for (unsigned n = 0; n < farther; ++n) {
            Late& late = wave.late[n];
            drop_completed(late.vm, t + late.by);
            push_in_order(late.vm, begin + cycles + latency + late.by +
                                       ((i.flags & flag::store) != 0 ? 0 : longer_[n]));
        }
        if (i.kind == InstructionClass::flat)
            push_in_order(wave.lgkm, begin + cycles + latency);
        break;
    }
    case InstructionClass::waitcnt:
        wait_late(wave, t, vm_limit(i.imm));
        drop_completed(wave.vm, t);
        drop_completed(wave.lgkm, t);
        break;
    case InstructionClass::control:
        if (i.mnemonic && i.mnemonic[2] == 'n') { // s_nop n: n + 1 issue slots
            next = t + p_.issue_interval * ((i.imm & 15u) + 1);
            next_reason = Stall::sleep;
        } else if (i.mnemonic && i.mnemonic[2] == 's' &&
                   i.mnemonic[3] == 'l') { // s_sleep n: about 64 n cycles
            next = t + std::max<Cycle>(p_.issue_interval, 64ull * (i.imm & 127u));
            next_reason = Stall::sleep;
        } else if (i.mnemonic && i.mnemonic[2] == 's' && i.mnemonic[3] == 'e' && i.mnemonic[5] == 'p') {
            wave.priority = static_cast<std::uint8_t>(i.imm & 3u); // s_setprio
        } else if (i.mnemonic && i.mnemonic[2] == 'e') {           // s_endpgm
            wait_late(wave, t, 0);
            wave.ended = true;
        }
        break;
    case InstructionClass::branch:
        if (executed.branch_taken) {
            next = t + p_.taken_branch;
            next_reason = Stall::branch;
        }
        break;
    case InstructionClass::barrier:
        wave.at_barrier = true;
        barrier_last_ = std::max(barrier_last_, t);
        for (unsigned n = 0; n < farther; ++n)
            barrier_late_[n] = std::max(barrier_late_[n], t + wave.late[n].by);
        break;
    case InstructionClass::unknown:
        break;
    }
    // A line that was pushed out of the instruction cache comes back from L2. Only loops larger than the
    // cache meet this.
    if (const std::size_t line = i.pc / p_.instruction_line; !instruction_cache_.touch(i.pc)) {
        if (line >= fetched_.size())
            fetched_.resize(line + 1);
        if (fetched_[line]) {
            next += p_.l2_latency;
            next_reason = Stall::fetch;
        }
        fetched_[line] = true;
    }
    if (i.pc % 32 + i.size > 32 && next == t + p_.issue_interval) {
        next += p_.straddle;
        next_reason = Stall::fetch;
    }
    const bool alu = i.kind == InstructionClass::valu || i.kind == InstructionClass::transcendental ||
                     i.kind == InstructionClass::packed_fp32 || i.kind == InstructionClass::salu;
    if (alu) {
        for (const Operand* o : {&i.dst, &i.sdst}) {
            if (o->kind == OperandKind::vgpr)
                for (unsigned n = 0; n < o->words && o->index + n < wave.vgpr.size(); ++n)
                    wave.vgpr[o->index + n] = result;
            else if (o->kind == OperandKind::sgpr)
                for (unsigned n = 0; n < o->words && o->index + n < wave.sgpr.size(); ++n)
                    wave.sgpr[o->index + n] = result;
        }
    }
    wave.next_issue = next;
    wave.next_reason = next_reason;
    wave.regular = t + p_.issue_interval;
    end_ = std::max({end_, t + event.busy, t + p_.issue_interval});
    release_barrier();
    return event;
}

void CuModel::release_barrier() {
    bool waiting = false;
    for (const Wave& wave : waves_) {
        if (!wave.at_barrier && !wave.ended)
            return; // a wave that has ended counts as arrived
        waiting |= wave.at_barrier;
    }
    if (!waiting)
        return;
    const Cycle release = barrier_last_ + p_.barrier_release;
    barrier_releases_.push_back(release);
    for (Wave& wave : waves_) {
        if (!wave.at_barrier)
            continue;
        wave.at_barrier = false;
        wave.next_issue = std::max(wave.next_issue, release);
        wave.next_reason = Stall::barrier;
        for (unsigned n = 0; n < farther; ++n)
            wave.late[n].by = barrier_late_[n] - barrier_last_;
    }
    barrier_last_ = 0;
    barrier_late_ = {};
}

void CuModel::wait_late(Wave& wave, Cycle now, unsigned limit) {
    for (Late& late : wave.late) {
        const Cycle done = completion(late.vm, limit);
        late.by = std::max(now + late.by, done) - now;
        drop_completed(late.vm, now + late.by);
    }
}

std::array<Cycle, farther> CuModel::late() const {
    std::array<Cycle, farther> most{};
    for (const Wave& wave : waves_)
        for (unsigned n = 0; n < farther; ++n)
            most[n] = std::max(most[n], wave.late[n].by);
    return most;
}

} // namespace zyfa::sim::timing
