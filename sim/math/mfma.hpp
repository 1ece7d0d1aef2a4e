// SPDX-License-Identifier: Apache-2.0
// Matrix instructions as host micro-kernels over register images. Numeric reading:
// docs/simulator-numerics.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace zyfa::sim {

/// One matrix instruction. Registers are 64 consecutive words (lane 0 first); operand tuples are consecutive.
struct MfmaCall {
    std::uint32_t* d = nullptr;
    const std::uint32_t *a = nullptr, *b = nullptr;
    const std::uint32_t* c = nullptr; ///< null: every element is the 32-bit pattern c_constant
    std::uint32_t c_constant = 0;     ///< FP64 forms: the upper word of every element
    const std::uint32_t *scale_a = nullptr, *scale_b = nullptr; ///< E8M0 registers of the scale forms
    std::uint8_t scale_byte_a = 0, scale_byte_b = 0;            ///< which byte of the scale register
    const std::uint32_t* index = nullptr;                       ///< SMFMAC index register
    std::uint8_t cbsz = 0, abid = 0, blgp = 0;
    std::uint8_t denorm32 = 3; ///< MODE denorm, for the FP32-input forms
};
using MfmaFunction = void (*)(const MfmaCall&);

struct MfmaOp {
    std::string_view mnemonic; ///< "v_mfma_f32_32x32x16_bf16"
    MfmaFunction function;     ///< for the host's best instruction set; same bits on all of them
    std::uint8_t m, n;
    std::uint16_t k;
    std::uint8_t passes; ///< 1 pass = 4 matrix-pipe cycles; for f8f6f4 the FP8 count, see mfma_passes
    std::uint8_t d_registers;
    bool scaled = false, sparse = false, f8f6f4 = false, xdl = true;
    /// f8f6f4: the most, see mfma_operand_registers.
    std::uint8_t a_registers = 0, b_registers = 0;
};
const MfmaOp* find_mfma_op(std::string_view mnemonic);
/// Passes with the operand formats taken into account (FP6/FP4 only: half).
unsigned mfma_passes(const MfmaOp& op, unsigned cbsz, unsigned blgp);
/// Registers of an A or B operand for a format (f8f6f4: 8, 6 or 4; otherwise those of B).
unsigned mfma_operand_registers(const MfmaOp& op, unsigned format);

enum class HostIsa : std::uint8_t { scalar, avx2, avx512 };
HostIsa host_isa();             ///< what find_mfma_op's functions use
void set_host_isa(HostIsa isa); ///< for tests; process-wide, not above what the host has

} // namespace zyfa::sim
