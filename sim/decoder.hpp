// SPDX-License-Identifier: Apache-2.0
// From instruction words and LLVM's mnemonic to the predecoded record. Fields are those of the CDNA4 ISA's
// chapter on microcode formats.
#pragma once

#include "sim/code_object.hpp"

namespace zyfa::sim {

struct RawInstruction {
    std::uint32_t word[4] = {}; ///< as many as `size` says, the rest zero
    unsigned size = 4;          ///< bytes
    std::uint32_t pc = 0;       ///< byte offset from the code object's base
    const char* mnemonic = nullptr;
};

/// Never fails: what cannot be executed becomes an instruction that faults when it is reached. A branch's
/// target byte offset (signed, from the code object's base) is left in `branch_target`.
Instruction decode_instruction(const RawInstruction& raw, ConstantPool& pool, std::int64_t& branch_target);

} // namespace zyfa::sim
