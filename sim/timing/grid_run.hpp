// SPDX-License-Identifier: Apache-2.0
// A whole grid in time: the address streams of all workgroups through every XCD's L2, the Infinity Cache and
// HBM, between stretches of computation whose cost one measured workgroup gives.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/dispatch.hpp"
#include "sim/timing/address_slice.hpp"
#include "sim/timing/cu_model.hpp"
#include "sim/timing/parameters.hpp"

namespace zyfa::sim::timing {

/// Memory beyond the compute unit.
struct MemoryParameters {
    std::uint64_t infinity_cache_bytes = 256ull << 20; ///< paper Table I
    unsigned infinity_cache_ways = 16;                 ///< CDNA3 white paper
    double l2_bytes_per_cycle = 2048; ///< per XCD: 16 channels of 128 bytes (CDNA3 white paper)
    /// Sustained: mt4g reads 5400 GiB/s from MI300X's Infinity Cache and 3690 from its HBM; the MI355X's HBM
    /// has been measured, and its cache is taken to be as much faster. (Peak: 17.2 TB/s, CDNA3 white paper.)
    /// Both in bytes per cycle at 2.4 GHz, the clock of a short burst; a settled clock is lower and moves
    /// more per cycle.
    double infinity_cache_bytes_per_cycle = 6.19e12 * 5400 / 3690 / 2.4e9;
    double hbm_bytes_per_cycle = 6.19e12 / 2.4e9; ///< 6.19 TB/s measured (paper Section II), of 8 TB/s
};

struct GridReport {
    std::uint64_t workgroups = 0;
    double cycles = 0;         ///< of the launch
    double compute_cycles = 0; ///< of the launch if memory were never waited for
    std::uint64_t lines = 0;   ///< 128-byte lines requested from L2
    std::uint64_t l2_hits = 0, infinity_cache_hits = 0;
    double hbm_bytes = 0;
    /// Why the whole kernel was executed for its addresses; empty: a slice of it was, checked against the
    /// measured workgroup's addresses.
    std::string executed_whole;
    double work_cycles = 0;        ///< of all workgroups, memory never waited for
    double memory_wait_cycles = 0; ///< summed over workgroups: later than the computation would have been
    double l2_hit_share() const {
        return lines != 0 ? static_cast<double>(l2_hits) / static_cast<double>(lines) : 0;
    }
};

struct GridOptions {
    Parameters unit;
    MemoryParameters memory;
    double start_cycles = 0;        ///< of every workgroup, before its work
    double cycles_per_estimate = 1; ///< measured over estimated cycles of a workgroup's work
    /// Cycles more per cycle of work if every load came from the Infinity Cache, from HBM: what waits before
    /// a tile's first loads and barriers do not hide (CuModel::late).
    std::array<double, farther> late_per_cycle{};
    unsigned per_unit = 1; ///< workgroups that share a compute unit
    /// What runs in place of the kernel: nothing is computed or stored then. Null: the kernel itself.
    const AddressSlice* slice = nullptr;
};

/// FaultError as from run_workgroup.
GridReport run_grid(const Dispatch& dispatch, const Memory& memory, const GridOptions& options);

} // namespace zyfa::sim::timing
