// SPDX-License-Identifier: Apache-2.0
// A kernel reduced to what its memory addresses need: where it goes, not what it computes.
#pragma once

#include <span>
#include <vector>

#include "sim/instruction.hpp"

namespace zyfa::sim::timing {

/// A copy of a code object's instructions in which all that no address, branch or scalar register depends on
/// does nothing: matrix instructions always, vector arithmetic and LDS accesses where their results lead to
/// no address, and vector stores. Branches that depend on such results (a rescale that the data call for) go
/// as stale registers say. Pipes and occupancies stay, so the copy costs in a model what the original does.
/// Found by liveness over all paths, so more may be kept than a run needs.
std::vector<Instruction> address_slice(std::span<const Instruction> code);

} // namespace zyfa::sim::timing
