// SPDX-License-Identifier: Apache-2.0
// Merging independent instruction streams: a leading stream (matrix work) with others that fill its shadow.
#pragma once

#include <vector>

#include "templates/asm/instruction.hpp"

namespace zyfa::templates::schedule {

/// A stream to spread over the slots behind the leading stream's instructions. Its own order is kept.
struct Companion {
    isa::Stream stream;
    unsigned first = 0; ///< slot of its first instruction: behind leading instruction number `first`
    unsigned last = 0;  ///< slot by which all of it has been issued
};

/// Each slot gets the companion instructions whose turn has come, spread evenly from `first` to `last`;
/// companions are served in the order given. Throws where a slot does not exist. The caller warrants that the
/// streams are independent but for what the passes find (waits, hazards).
isa::Stream interleave(const isa::Stream& leading, const std::vector<Companion>& companions);

} // namespace zyfa::templates::schedule
