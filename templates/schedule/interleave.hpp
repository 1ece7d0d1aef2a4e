// SPDX-License-Identifier: Apache-2.0
// Merging independent instruction streams: a leading stream (matrix work) with others that fill its shadow.
#pragma once

#include <optional>
#include <vector>

#include "templates/asm/instruction.hpp"

namespace zyfa::templates::schedule {

/// A stream to spread over the slots behind the leading stream's instructions. Its own order is kept.
struct Companion {
    isa::Stream stream;
    unsigned first = 0; ///< slot of its first instruction: behind leading instruction number `first`
    unsigned last = 0;  ///< slot by which all of it has been issued
    /// Only leading instructions of this kind have a slot behind them (and count).
    std::optional<isa::Kind> behind = std::nullopt;
};

/// Each slot gets the companion instructions whose turn has come, spread evenly from `first` to `last`;
/// companions are served in the order given. Throws where a slot does not exist, and where scalar state (SCC
/// too) would pass between streams. The caller warrants the rest: vector registers that pass between streams
/// do so at the right slots.
isa::Stream interleave(const isa::Stream& leading, const std::vector<Companion>& companions);

} // namespace zyfa::templates::schedule
