// SPDX-License-Identifier: Apache-2.0
// Recorded ABBA runs of pairs of kernels: what comparing in blocks of a given length really gives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/statistics.hpp"

namespace zyfa::replay {

/// One recorded run: means of consecutive blocks, in the order A B B A A B B A ...
struct InterleavedRun {
    int repetition = 0;
    std::string pair, block; ///< "0.02", "0.1", "1.0", "3.0": seconds
    std::vector<double> block_ms;
};

/// Reads `interleaved_launches.csv` (rep, pair, block_s, block, candidate, launch, start_ms, duration_ms);
/// runs of one candidate alone are left out. Blocks that start within the first two seconds are dropped, in
/// whole groups of four. Throws Error{io_error}.
std::vector<InterleavedRun> read_interleaved_csv(const std::filesystem::path& file);

/// log(A / B), one per group of four blocks.
std::vector<double> log_ratios(const InterleavedRun& run);

} // namespace zyfa::replay
