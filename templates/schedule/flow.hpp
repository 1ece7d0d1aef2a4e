// SPDX-License-Identifier: Apache-2.0
// Control flow of a stream: which instruction can run just before which.
#pragma once

#include <cstddef>
#include <vector>

#include "templates/asm/instruction.hpp"

namespace zyfa::templates::schedule {

/// Indices are positions in `code`, instructions only.
struct Flow {
    std::vector<const isa::Instruction*> code;
    std::vector<std::size_t> item;                ///< position of each instruction in the stream
    std::vector<std::vector<std::size_t>> before; ///< predecessors of each instruction
    std::vector<std::vector<std::size_t>> after;  ///< successors
};

/// Throws where a branch has no label. The stream must outlive the result.
Flow make_flow(const isa::Stream& stream);

} // namespace zyfa::templates::schedule
