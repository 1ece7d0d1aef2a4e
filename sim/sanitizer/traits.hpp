// SPDX-License-Identifier: Apache-2.0
// What the sanitizer's rules ask of an instruction: which registers it reads and writes, and in what role.
// Worked out once per instruction of a code object.
#pragma once

#include "sim/instruction.hpp"

#include <span>
#include <string>
#include <vector>

namespace zyfa::sim::sanitizer {

/// Registers in one numbering: VGPRs and AGPRs as in the register file, then SGPRs by operand code, then SCC.
inline constexpr unsigned sgpr_unit = 512, scc_unit = sgpr_unit + 128, units = scc_unit + 1;

enum class Role : std::uint8_t {
    operand,
    address,    ///< of a memory access, lane by lane
    descriptor, ///< scalar part of an address: buffer descriptor, base, offset
    data,       ///< what a store or atomic takes to memory
    matrix_a,   ///< A, B, scales and SMFMAC indices
    matrix_c,
    mask,        ///< carry in, v_cndmask's mask
    lane_select, ///< of v_readlane and v_writelane
    old,         ///< a destination of which part stays
    condition,   ///< of a branch
};

struct Use {
    std::uint16_t first = 0;
    std::uint8_t count = 0;
    Role role = Role::operand;

    bool overlaps(const Use& other) const noexcept {
        return first < other.first + other.count && other.first < first + count;
    }
    bool vector() const noexcept { return first < sgpr_unit; }
};

/// Which counters of s_waitcnt an instruction moves, and in what order its kind comes back.
enum class Counter : std::uint8_t {
    none,
    vm,     ///< vmcnt, in order
    lds,    ///< lgkmcnt, in order
    scalar, ///< lgkmcnt, in any order
    flat,   ///< both, in any order
};

/// How uninitialised bits pass through a vector or scalar operation.
enum class Flow : std::uint8_t {
    whole,               ///< any uninitialised bit spoils the result
    copy,                ///< as the source
    bytes,               ///< bytes of the result depend on the same bytes of the sources
    bits_and,            ///< and a zero makes a zero
    bits_or,             ///< and a one makes a one
    sum,                 ///< bits of the result depend on the same and lower bits
    wide_sum,            ///< of two registers: the lower depends on lower halves only
    shift_left,          ///< of source 0 by a constant source 1
    shift_right,         ///< likewise
    shift_left_reversed, ///< of source 1 by a constant source 0
    shift_right_reversed,
    extract,    ///< a bit field of source 0 at constant places
    permute,    ///< v_perm_b32 with a constant selector
    align,      ///< v_alignbit_b32, v_alignbyte_b32 by a constant
    select,     ///< one of two sources by a mask or SCC
    half,       ///< of 16-bit operations: the halves that op_sel names
    halves,     ///< of packed 16-bit operations
    byte,       ///< one byte of source 0: imm
    part,       ///< any uninitialised bit of a source spoils some bytes of the result, the others stay: mask
    exec_logic, ///< s_*_saveexec, s_*_wrexec
};

namespace trait {
inline constexpr std::uint32_t valu = 1, trans = 2, matrix = 4, xdl = 8, sparse = 16, permlane_swap = 32;
inline constexpr std::uint32_t lane_read = 64;      ///< v_readlane, v_readfirstlane
inline constexpr std::uint32_t partial_write = 128; ///< destination selected by op_sel or SDWA
inline constexpr std::uint32_t dpp = 256, div_fmas = 512, valu_exec = 1024, salu = 2048;
inline constexpr std::uint32_t lds_dma = 4096, memory = 8192; ///< memory: VMEM, FLAT or LDS
inline constexpr std::uint32_t vmem = 16384;                  ///< VMEM or FLAT
inline constexpr std::uint32_t wide_store = 32768; ///< more than 64 bits of data, no SGPR in the offset
inline constexpr std::uint32_t dot = 1u << 16, setreg = 1u << 17, getreg = 1u << 18, sendmsg = 1u << 19;
inline constexpr std::uint32_t movrel = 1u << 20, double_matrix = 1u << 21, waits = 1u << 22;
inline constexpr std::uint32_t lane_write = 1u << 23; ///< v_writelane
inline constexpr std::uint32_t writes_sgpr_valu = 1u << 24;
inline constexpr std::uint32_t sets_scc = 1u << 25, reads_scc = 1u << 26;
inline constexpr std::uint32_t negated = 1u << 27; ///< second source of a scalar logic operation inverted
inline constexpr std::uint32_t store = 1u << 28;   ///< global, scratch or LDS
inline constexpr std::uint32_t needs_address = 1u << 29; ///< tells the observer where it goes
inline constexpr std::uint32_t packed_fp8 = 1u << 30;    ///< v_cvt_pk_fp8_f32, v_cvt_pk_bf8_f32
} // namespace trait

struct Traits {
    const Instruction* instruction = nullptr;
    std::uint32_t flags = 0;
    Use reads[10], writes[4];
    std::uint8_t read_count = 0, write_count = 0;
    Counter counter = Counter::none;
    Flow flow = Flow::whole;
    std::uint8_t flow_argument = 0;
    std::uint8_t passes = 0;         ///< of a matrix instruction
    std::uint8_t wait_states = 1;    ///< that pass until the next instruction
    std::uint8_t vm = 63, lgkm = 15; ///< s_waitcnt: counts waited for
    std::uint8_t hardware_register = 0;

    bool is(std::uint32_t wanted) const noexcept { return (flags & wanted) != 0; }
    std::span<const Use> read() const noexcept { return {reads, read_count}; }
    std::span<const Use> written() const noexcept { return {writes, write_count}; }
};

Traits traits_of(const Instruction& instruction);
/// Of all instructions of a code object, in their order.
std::vector<Traits> traits_of(std::span<const Instruction> instructions);

/// "v3", "a[4:7]", "s12", "vcc", "exec", "m0", "scc".
std::string name_of_unit(unsigned unit);

} // namespace zyfa::sim::sanitizer
