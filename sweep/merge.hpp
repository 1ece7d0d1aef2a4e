// SPDX-License-Identifier: Apache-2.0
// From the workers' files to a pack that servers mount.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/signature.hpp"
#include "sweep/agreement.hpp"

namespace zyfa::sweep {

struct MergedPack {
    std::string path;                  ///< empty: no task has a winner, and no file was written
    std::string versions_id, versions; ///< what its measurements were made with
    std::uint64_t winners = 0, binaries = 0, measurements = 0, bytes = 0;
    std::uint64_t everywhere = 0, alone = 0, partly = 0; ///< winners by where they hold
    std::uint64_t changed = 0;                           ///< winners on which sites differed
    std::vector<std::string> missing;                    ///< tasks without a winner, with why
};

struct MergeReport {
    std::vector<MergedPack> packs;
    std::vector<std::string> damage; ///< results that could not be read
};

/// Writes `output`, a pack with every winner, its evidence and measurements, its binary and the default
/// schedule's. Lanes that differ in versions are kept apart: then OUTPUT-VERSIONS.zyfapack for each. The same
/// results give the same bytes. Versions without any winner have an entry without a file. Throws
/// Error{invalid_argument} where no versions have one; it says why.
MergeReport merge(const Board& board, const std::string& output, const cache::SecretKey* signer);

} // namespace zyfa::sweep
