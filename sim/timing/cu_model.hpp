// SPDX-License-Identifier: Apache-2.0
// One compute unit in time: when a wave's next instruction can issue, what it then occupies, and why it
// waited.
//
// Four SIMDs with a vector and a matrix pipe each; waves issue in order, at most one instruction every 4
// cycles; instructions of different kinds from different waves of a SIMD go side by side; where two waves
// want one pipe, the higher s_setprio wins, then the older wave (paper Sections III-A and IV-C). Memory
// results arrive through counters that s_waitcnt reads. The model is told of instructions in the order in
// which they issue and never looks ahead; whoever drives it (timed_run.cpp) executes them functionally, so
// that branches and addresses are those of the data.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/instruction.hpp"
#include "sim/timing/caches.hpp"
#include "sim/timing/parameters.hpp"

namespace zyfa::sim::timing {

using Cycle = std::uint64_t;

/// What held an instruction back last before it could issue.
enum class Stall : std::uint8_t {
    none,        ///< issued as soon as the wave's previous instruction allowed
    start,       ///< the wave had not begun
    dependency,  ///< a register that an earlier ALU instruction writes
    vector_pipe, ///< the SIMD's vector pipe was busy
    matrix_pipe, ///< the SIMD's matrix pipe was busy
    lds_port,    ///< the LDS port of the SIMD pair was busy
    memory_pipe, ///< the CU's vector-memory path was busy, or a counter was at its maximum
    port,        ///< another wave of the SIMD issued an instruction of this kind
    vmcnt,       ///< s_waitcnt vmcnt
    lgkmcnt,     ///< s_waitcnt lgkmcnt
    barrier,     ///< s_barrier
    branch,      ///< refill after a taken branch
    fetch,       ///< instruction across a fetch window
    sleep,       ///< s_nop, s_sleep
};
inline constexpr unsigned stalls = 14;
const char* to_string(Stall stall) noexcept;

struct Readiness {
    Cycle cycle = 0;
    Stall reason = Stall::none;
};

/// What the functional execution found out about one instruction.
struct Executed {
    const std::uint64_t* addresses = nullptr; ///< per lane, of `active`; null: no memory access
    std::uint64_t active = 0;
    bool branch_taken = false;
};

/// One instruction in time.
struct Event {
    std::uint32_t pc = 0;
    std::uint16_t wave = 0;
    Pipe pipe = Pipe::none;
    InstructionClass kind = InstructionClass::unknown;
    Stall stall = Stall::none;
    Cycle issue = 0;
    std::uint32_t stalled = 0,
                  busy = 0; ///< cycles waited since the wave could first have issued; pipe occupancy
};

/// Loads that come from farther than L2 and so take longer: from the Infinity Cache, from HBM.
inline constexpr unsigned farther = 2;

class CuModel {
  public:
    CuModel(const Parameters& parameters, unsigned waves);

    /// Earliest cycle at which wave `w` can issue `i`; does not change the model.
    Readiness ready(unsigned w, const Instruction& i) const;
    /// Wave `w` issues `i` at `at` (not before ready()); tells what it occupied.
    Event issue(unsigned w, const Instruction& i, Readiness at, const Executed& executed);

    bool at_barrier(unsigned w) const noexcept { return waves_[w].at_barrier; }
    bool ended(unsigned w) const noexcept { return waves_[w].ended; }
    unsigned priority(unsigned w) const noexcept { return waves_[w].priority; }
    /// Start of a wave that takes over slot `w` (the next workgroup of a CU).
    void start(unsigned w, Cycle cycle);

    const std::vector<Cycle>& barrier_releases() const noexcept { return barrier_releases_; }
    Cycle end() const noexcept { return end_; }
    /// How much later the waves would end if every vector load came from there: what waits and barriers do
    /// not hide. At most, since what a later wave finds free on the way is not followed.
    std::array<Cycle, farther> late() const;

  private:
    /// The same waves beside the model, with longer loads: how late they are, and when their operations end.
    struct Late {
        Cycle by = 0;
        std::deque<Cycle> vm;
    };
    struct Wave {
        Cycle next_issue = 0; ///< the wave's own program order allows nothing earlier
        Stall next_reason = Stall::none;
        Cycle regular = 0; ///< next_issue if nothing but the issue interval counted
        std::array<Cycle, 512> vgpr{};
        std::array<Cycle, 128> sgpr{};
        Cycle scc = 0;
        std::deque<Cycle> vm, lgkm; ///< completion of outstanding operations, in order
        std::array<Late, farther> late;
        std::uint8_t priority = 0;
        bool at_barrier = false, ended = false;
    };
    struct Simd {
        Cycle vector_free = 0, matrix_free = 0;
        Cycle slow_vector_free = 0; ///< for vector instructions of 8 cycles and more
        std::array<Cycle, instruction_classes> port_free{};
    };

    Cycle operands_ready(const Wave& wave, const Instruction& i) const;
    void release_barrier();
    void wait_late(Wave& wave, Cycle now, unsigned limit);

    Parameters p_;
    std::array<Cycle, farther> longer_; ///< than L2's latency
    TagArray scalar_cache_, instruction_cache_;
    std::vector<bool> fetched_; ///< instruction lines seen so far
    std::vector<Wave> waves_;
    std::array<Simd, 4> simds_{};
    std::array<Cycle, 2> lds_free_{};
    Cycle memory_free_ = 0, end_ = 0, barrier_last_ = 0;
    std::array<Cycle, farther> barrier_late_{}; ///< last arrival
    std::vector<Cycle> barrier_releases_;
};

} // namespace zyfa::sim::timing
