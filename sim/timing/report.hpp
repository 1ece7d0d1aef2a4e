// SPDX-License-Identifier: Apache-2.0
// What the compute-unit model found out about one workgroup: pipes, phases, and stalls by instruction.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/timing/clock_model.hpp"
#include "sim/timing/cu_model.hpp"

namespace zyfa::sim::timing {

/// Busy cycles of the pipes of one SIMD (LDS and memory: of the whole compute unit, in SIMD 0's entry).
struct PipeCycles {
    std::uint64_t matrix = 0; ///< including the cycles in which packed FP32 blocks the matrix pipe
    std::uint64_t packed = 0; ///< those
    std::uint64_t vector = 0; ///< including packed FP32
    std::uint64_t issue = 0;  ///< 4 per instruction, 4 (n + 1) for s_nop n
    std::uint64_t scalar = 0, lds = 0, memory = 0;
};

/// One instruction address over all waves.
struct InstructionProfile {
    std::uint64_t count = 0;
    std::uint64_t taken = 0; ///< of a branch
    std::uint64_t busy = 0;
    std::array<std::uint64_t, stalls> stalled{}; ///< cycles by reason
};

/// One wave over its life.
struct WaveProfile {
    std::uint64_t instructions = 0;
    Cycle end = 0;                               ///< issue of its last instruction
    std::array<std::uint64_t, stalls> stalled{}; ///< cycles by reason
};

struct TimingReport {
    std::uint64_t workgroup = 0;
    Cycle cycles = 0;                  ///< from the launch of the workgroup to the end of its last wave
    std::array<Cycle, farther> late{}; ///< cycles more if every load came from the Infinity Cache, from HBM
    bool complete = true;              ///< false: the run was stopped before the workgroup's end
    std::array<PipeCycles, 4> simd{};
    std::array<std::uint64_t, matrix_kinds> matrix{}; ///< MFMA cycles of all SIMDs by kind
    std::array<double, matrix_kinds> toggles{}; ///< bits per product that change between MFMAs (toggles.hpp)
    /// Intervals between workgroup barriers; a ping-pong kernel has one phase between two of them.
    std::vector<Cycle> barriers;
    /// SIMD 0's cycles, from first_matrix to last_matrix, in which the matrix pipe is idle while one wave
    /// waits at the barrier and another's latest vector or matrix instruction was a vector one: what the
    /// paper counts as "idles while one wave computes probabilities and the other waits" (Section III-B).
    Cycle idle_beside_softmax = 0;
    Cycle first_matrix = 0,
          last_matrix = 0; ///< the matrix pipes' first issue and last end: the whole key loop
    std::vector<WaveProfile> waves;
    std::map<std::uint32_t, InstructionProfile> profile; ///< by PC, bytes from the code object's base
    std::vector<Event> events;                           ///< if asked for
    std::vector<Cycle> stores;                           ///< issue of every store to memory: where tiles end
    /// Matrix-pipe intervals of SIMD 0 (start, cycles), packed FP32 left out.
    std::vector<std::pair<Cycle, std::uint32_t>> matrix_intervals;

    /// Share of cycles in which SIMD 0's matrix pipe executes MFMAs, between two points.
    double matrix_busy(Cycle begin, Cycle end) const;
    /// The steady state inside one tile (paper Section IV-C: 40 consecutive phases in the middle of the key
    /// loop): of the longest run of barrier intervals without a store to memory the middle ones, at most
    /// `phases` and at most half of the run, since its ends hold the fill of the pipeline and masked blocks.
    /// No phases where that leaves fewer than 4.
    struct Steady {
        double matrix_busy = 0, phase_cycles = 0;
        unsigned phases = 0;
        Cycle begin = 0, end = 0;
    };
    Steady steady(unsigned phases = 40) const;
    double idle_beside_softmax_share() const {
        return last_matrix > first_matrix ? static_cast<double>(idle_beside_softmax) /
                                                static_cast<double>(last_matrix - first_matrix)
                                          : 0;
    }
    Activity activity() const; ///< over all of `cycles`
    double whole_loop() const { return matrix_busy(first_matrix, last_matrix); }
};

} // namespace zyfa::sim::timing
