// SPDX-License-Identifier: Apache-2.0
// The engine's own operations by mnemonic: scalar, memory, and the vector instructions that need more of the
// wave than 64 lanes of operands. Vector arithmetic is found in sim/valu, matrix operations in sim/math.
#pragma once

#include "sim/instruction.hpp"

#include <string_view>

namespace zyfa::sim {

/// An operation of a SOP encoding. Words: registers of the destination and of each source, 0: not there.
struct ScalarOp {
    std::string_view mnemonic;
    Handler execute;
    std::uint8_t d = 0, s0 = 0, s1 = 0;
    InstructionClass kind = InstructionClass::salu;
    bool zero_extend = false; ///< 64-bit sources: a 32-bit literal is zero-extended
};
const ScalarOp* find_scalar_op(std::string_view mnemonic);

/// A memory operation (SMEM, DS, MUBUF, FLAT).
struct MemoryOp {
    std::string_view mnemonic;
    Handler execute, observed;
    std::uint8_t d = 0;      ///< registers written
    std::uint8_t data = 0;   ///< registers of data read
    std::uint8_t data2 = 0;  ///< LDS: registers of the second data operand
    std::uint8_t bytes = 0;  ///< per lane (scalar memory: in all)
    std::uint16_t flags = 0; ///< flag::load, store, atomic
    Handler asked = nullptr; ///< vector loads: as observed, but nothing is moved
};
const MemoryOp* find_memory_op(std::string_view mnemonic);

/// A vector operation executed here: cross-lane moves, moves between register files.
struct CrossLaneOp {
    std::string_view mnemonic;
    Handler execute;
    std::uint8_t d = 0, s0 = 0, s1 = 0;
    bool scalar_d = false; ///< destination is an SGPR
    bool d_is_s0 = false;  ///< a swap: both operands are read and written
};
const CrossLaneOp* find_cross_lane_op(std::string_view mnemonic);

// Vector handlers, chosen by the decoder from the form of the operands.
void execute_valu_plain(Wave& wave, const Instruction& i);   ///< sources VGPR or constant, nothing else
void execute_valu_general(Wave& wave, const Instruction& i); ///< scalar sources, modifiers, masks
void execute_valu_dpp(Wave& wave, const Instruction& i);
void execute_valu_sdwa(Wave& wave, const Instruction& i);
void execute_mov_b32(Wave& wave, const Instruction& i);
void execute_matrix(Wave& wave, const Instruction& i);
void execute_unknown(Wave& wave, const Instruction& i);

/// Lane that DPP control takes lane `lane`'s source from; -1: outside.
int dpp_source(unsigned control, unsigned lane);
/// Lane that ds_swizzle_b32 with offset `control` makes `lane` read.
unsigned swizzle_source(std::uint32_t control, unsigned lane);

} // namespace zyfa::sim
