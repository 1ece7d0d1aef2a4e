// SPDX-License-Identifier: Apache-2.0
// The predecoded instruction: everything that execution, a hazard checker or a timing model asks of an
// instruction, so that none of them looks at encodings.
#pragma once

#include "sim/math/mfma.hpp"
#include "sim/valu/valu.hpp"

#include <cstdint>

namespace zyfa::sim {

struct Wave;
struct Instruction;
using Handler = void (*)(Wave&, const Instruction&);

/// Instruction::target of a branch that leads nowhere.
inline constexpr std::int32_t no_target = INT32_MIN;

enum class OperandKind : std::uint8_t {
    none,
    vgpr,          ///< index 0..255: v, 256..511: a
    sgpr,          ///< index = scalar operand code: 0..101 s, 106 vcc, 124 m0, 126 exec ...
    lanes,         ///< constant of a vector instruction: 64 lanes per word in the code object's pool
    constant,      ///< constant of a scalar instruction, sign-extended to 64 bits
    constant_zext, ///< the same, zero-extended
    constant_f64,  ///< the same, in the upper half of 64 bits
    special,       ///< index = scalar operand code of an aperture, vccz, execz or scc
};

struct Operand {
    OperandKind kind = OperandKind::none;
    std::uint8_t words = 1;  ///< registers
    std::uint16_t index = 0; ///< register or operand code
    /// vgpr: first word in the register file; lanes: first word in the pool; constants: the bits.
    std::uint32_t value = 0;
};

/// What an instruction is for a scheduler, a counter or a hazard rule.
enum class InstructionClass : std::uint8_t {
    salu,
    smem,
    branch,
    barrier,
    waitcnt,
    control, ///< s_nop, s_setprio, s_sleep, s_endpgm, ...
    valu,
    transcendental,
    packed_fp32,
    matrix,
    lds,
    vmem, ///< buffer, global, scratch
    flat, ///< counts in vmcnt and lgkmcnt
    unknown,
};
inline constexpr unsigned instruction_classes = 14;

/// Throughput resources of the cost model.
enum class Pipe : std::uint8_t { none, scalar, vector, packed, matrix, lds, memory };
inline constexpr unsigned pipes = 7;

/// Modifier bits beyond the operands.
struct Modifiers {
    std::uint8_t op_sel = 0, op_sel_hi = 7;
    std::uint8_t neg = 0, neg_hi = 0, abs = 0;
    std::uint8_t omod = 0;
    bool clamp = false;
};

namespace flag {
inline constexpr std::uint16_t offen = 1, idxen = 2, lds = 4, glc = 8; ///< glc: an atomic returns
inline constexpr std::uint16_t dpp = 16, sdwa = 32;
inline constexpr std::uint16_t writes_exec = 64;   ///< v_cmpx
inline constexpr std::uint16_t copy_sources = 128; ///< MFMA whose D overlaps A, B or part of C
inline constexpr std::uint16_t vector = 256;       ///< skipped while VSKIP is on
inline constexpr std::uint16_t load = 512, store = 1024, atomic = 2048;
inline constexpr std::uint16_t scratch = 4096, global = 8192; ///< segment of a FLAT encoding
inline constexpr std::uint16_t writes_source = 16384; ///< a swap: dst and src[0] are both read and written
} // namespace flag

struct alignas(64) Instruction {
    Handler execute = nullptr;
    union Function {
        ValuFunction valu = nullptr;
        MfmaFunction mfma;
    } function;
    /// Vector: sources 0..2 and the mask. Memory: address, data (LDS: data 0), descriptor or scalar base
    /// (LDS: data 1), scalar offset.
    Operand src[4];
    Operand dst;               ///< vector, scalar or load destination
    Operand sdst;              ///< compare mask or carry out
    std::uint32_t imm = 0;     ///< SOPP and SOPK immediate, byte offset, LDS offset0 | offset1 << 16
    std::uint32_t control = 0; ///< second word of DPP and SDWA; v_bitop3's table; MFMA's cbsz, abid, blgp
    Modifiers modifiers;       ///< for the operation itself
    /// Sign modifiers that the engine applies to sources before the operation: bit n is source n.
    std::uint8_t source_neg = 0, source_abs = 0;
    std::uint16_t flags = 0;
    std::int32_t target = no_target; ///< of a branch: distance in instructions from this one
    std::uint32_t pc = 0;            ///< byte offset from the code object's base
    Pipe pipe = Pipe::none;
    std::uint8_t cycles = 0; ///< pipe occupancy
    std::uint8_t size = 4;   ///< bytes
    InstructionClass kind = InstructionClass::unknown;
    std::uint16_t v_end = 0, a_end = 0; ///< one past the highest VGPR and AGPR named
    std::uint8_t bytes = 0;             ///< memory: bytes per lane (scalar memory: in all)
    Handler execute_observed = nullptr; ///< as execute, telling the wave's observer about addresses
    const char* mnemonic = nullptr;     ///< without encoding suffix; null: undecodable
    const ValuOp* valu = nullptr;
    const MfmaOp* mfma = nullptr;
};

} // namespace zyfa::sim
