// SPDX-License-Identifier: Apache-2.0
// LDS bank conflicts: which lanes of an access compete (phases) and over how many banks.
//
// Measured on an MI355X with hardware counters for ds_read_b64, b96, b128 and ds_write_b64 (HipKittens,
// analysis/paper_experiments/phases). The other widths follow AMD's cost model in rocRoller (rocm-libraries,
// LDSBankModel.cpp): 32 banks, consecutive lanes. Transposing reads were never probed; AITER's kernels read V
// without conflicts if they behave as ds_read_b64 does, and with two-way conflicts otherwise, so that is
// assumed.
#pragma once

#include <cstdint>
#include <span>

namespace zyfa::sim::timing {

enum class LdsDirection : std::uint8_t { read, write };

struct LdsPhases {
    std::span<const std::uint64_t> lanes; ///< one lane mask per phase
    unsigned banks;                       ///< 4-byte banks
};

/// `bytes` per lane: 1, 2, 4, 8, 12 or 16.
LdsPhases lds_phases(LdsDirection direction, unsigned bytes);

/// Largest number of distinct dwords on one bank in each phase, summed over phases: 1 per phase without
/// conflicts. Equal addresses broadcast and count once. A phase without active lanes counts 0.
unsigned lds_passes(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                    std::uint64_t active);

/// Passes beyond one per phase: what the counter SQ_LDS_BANK_CONFLICT counts.
unsigned lds_conflicts(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                       std::uint64_t active);

/// Cycles that one wave instruction holds its SIMD pair's LDS port: data cycles times the conflict ratio, at
/// least the issue cycles (rocRoller's model: reads 16, 16, 4, 8 lanes per clock for 4, 8, 12, 16 bytes;
/// writes 16, 8, 4, 4; issue 4 and for writes 4 more per dword).
unsigned lds_port_cycles(LdsDirection direction, unsigned bytes, const std::uint64_t* addresses,
                         std::uint64_t active);

} // namespace zyfa::sim::timing
