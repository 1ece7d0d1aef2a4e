// SPDX-License-Identifier: Apache-2.0
// Vector ALU semantics: one function per operation over the 64 lanes of a register, and the table that names
// them. The engine decodes, fetches operands (an SGPR, constant or literal source is broadcast into 64 lanes)
// and calls; nothing here knows about waves or encodings.
#pragma once

#include <cstdint>
#include <string_view>

namespace zyfa::sim {

/// The MODE register's floating-point fields (CDNA4 ISA, MODE register). Denorm: 0 flush in and out, 1 flush
/// out, 2 flush in, 3 keep. Round: 0 nearest even, 1 +inf, 2 -inf, 3 zero.
struct FloatMode {
    std::uint8_t round32 = 0, round64 = 0, denorm32 = 0, denorm64 = 3; ///< "64" also governs FP16
    bool dx10_clamp = false, ieee = false, fp16_ovfl = false;
};

/// How an operand's bits are read, for the source modifiers neg and abs and for the width.
/// 16-bit types lie in the half of the register that op_sel picks, so neg and abs touch both halves.
enum class OperandType : std::uint8_t {
    none,
    b32,
    b64,
    f16,
    f32,
    f64,
    pk_f16,
    pk_f32,
    pk_b16,
    mask,
    b128, ///< the rest: several registers, for packed conversions
    b192,
    b512,
    b1024
};
/// Registers (or, for a mask, SGPRs) of an operand.
constexpr unsigned operand_words(OperandType type) {
    switch (type) {
    case OperandType::none:
        return 0;
    case OperandType::b64:
    case OperandType::f64:
    case OperandType::pk_f32:
    case OperandType::mask:
        return 2;
    case OperandType::b128:
        return 4;
    case OperandType::b192:
        return 6;
    case OperandType::b512:
        return 16;
    case OperandType::b1024:
        return 32;
    default:
        return 1;
    }
}

/// One call over 64 lanes. A register is 64 consecutive words, lane 0 first; a 64-bit operand is two
/// registers, low word first, 64 words apart; wider ones follow on. d may alias a source of the same
/// register.
struct ValuCall {
    std::uint32_t* d = nullptr;
    const std::uint32_t* s[3] = {nullptr, nullptr, nullptr};
    std::uint64_t exec = ~0ull; ///< lanes not set keep d (and give 0 in mask_out)
    std::uint64_t mask_in = 0;  ///< VCC or the SGPR pair of v_cndmask, v_addc, v_div_fmas
    std::uint64_t mask_out = 0; ///< result of a compare or the carry out
    const FloatMode* mode = nullptr;
    std::uint8_t op_sel = 0,
                 op_sel_hi = 7; ///< VOP3 and VOP3P: bit n selects the half (or dword) of source n; bit 3: d
    std::uint8_t neg = 0, neg_hi = 0,
                 abs = 0;  ///< VOP3P: neg is neg_lo. Scalar ops have neg and abs applied already.
    std::uint8_t omod = 0; ///< 1: *2, 2: *4, 3: /2
    bool clamp = false;
    std::uint32_t control = 0; ///< immediate of the operation: v_bitop3's truth table, ...
};

using ValuFunction = void (*)(ValuCall&);

/// Vector-pipe occupancy class (paper Section III-A).
enum class ValuClass : std::uint8_t { two_cycle, four_cycle, eight_cycle, packed_fp32, sixteen_cycle };

struct ValuOp {
    std::string_view mnemonic; ///< without encoding suffix (_e32, _e64, _dpp, _sdwa)
    ValuFunction function;
    OperandType d, s0, s1, s2;
    ValuClass pipe;
    bool reads_mask = false, writes_mask = false; ///< carry in, carry out or compare result
    bool reads_d = false; ///< v_fmac, v_cvt_pk_fp8 halves, v_writelane: d is also a source
    bool transcendental = false;
};

/// Null if unknown.
const ValuOp* find_valu_op(std::string_view mnemonic);

} // namespace zyfa::sim
