// SPDX-License-Identifier: Apache-2.0
// Mutants of a kernel for judging the sanitizer: one s_waitcnt, s_nop or s_barrier of its assembly removed or
// weakened at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zyfa::mutants {

struct Mutation {
    std::size_t line = 0; ///< of the assembly, from 0
    std::string function; ///< that it stands in
    std::string label;    ///< the last one before it: which path it is on
    std::string original, replacement;
    enum class Kind { wait, nop, barrier } kind = Kind::wait;
    bool removed = false; ///< else weakened
    /// An s_nop of LLVM's for which there is no rule here: where its removal is not reported and changes no
    /// result, it counts as without effect, not as missed.
    /// - among v_writelane: its spill of a scalar register pair says that the first defines the pair
    ///   (SIRegisterInfo::spillSGPR), so that it waits for a vector result that is none;
    /// - between two loads: it ends a clause for XNACK's replay
    ///   (GCNHazardRecognizer::checkSoftClauseHazards); the MI355X runs with xnack-;
    /// - after a packed operation: op_sel_hi of its first source shares a bit with the op_sel of a
    ///   destination (SISrcMods::OP_SEL_1, DST_OP_SEL), so that it is taken to write half a register.
    bool without_rule = false;
};

/// In the order of the text. Assembly as compilers and zyfa's templates write it: one instruction a line.
std::vector<Mutation> mutations_of(const std::string& assembly);
/// The assembly with the mutation's line replaced.
std::string apply(const std::string& assembly, const Mutation& mutation);
/// The assembly with an undefined instruction in the mutation's place, to learn whether that is executed.
std::string probe(const std::string& assembly, const Mutation& mutation);

} // namespace zyfa::mutants
