// SPDX-License-Identifier: Apache-2.0
// Memory waits: s_waitcnt before the first use of what a load brings.
#pragma once

#include "templates/asm/instruction.hpp"

namespace zyfa::templates::schedule {

/// Inserts s_waitcnt before every instruction that reads or overwrites a register (or reads a token) which an
/// outstanding memory operation still writes, on some path through the stream's branches. vmcnt and the LDS
/// part of lgkmcnt count in issue order; with any scalar load outstanding only lgkmcnt(0) means something
/// (LLVM SIInsertWaitcnts; CDNA4 ISA, S_WAITCNT). Explicit waits in the stream are taken into account.
/// Returns the number of waits added.
unsigned insert_memory_waits(isa::Stream& stream);

} // namespace zyfa::templates::schedule
