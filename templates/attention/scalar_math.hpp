// SPDX-License-Identifier: Apache-2.0
// Small scalar-unit sequences that several blocks use.
#pragma once

#include "templates/asm/emitter.hpp"

namespace zyfa::templates::attention {

/// sum (2 SGPRs) += factor * stride (2 SGPRs), modulo 2^64, so that a negative stride works. scratch: 3.
void add_product64(isa::Emitter& e, isa::SReg sum, isa::SReg factor, isa::SReg stride, isa::SReg scratch,
                   std::string_view note);
/// sum (2 SGPRs) += factor * row_stride (1 SGPR, unsigned); factor is not negative. scratch: 2.
void add_rows64(isa::Emitter& e, isa::SReg sum, isa::SReg factor, isa::SReg row_stride, isa::SReg scratch,
                std::string_view note);
/// quotient = n / d by the Divider {magic, shift} in `divider`; n < 2^31. `quotient` must not be `n`.
void divide(isa::Emitter& e, isa::SReg quotient, isa::SReg n, isa::SReg divider, std::string_view note);
/// records = bytes from the first byte of row 0 to the last byte of row rows - 1, or 0 where rows < 1.
/// scratch: 1.
void record_bytes(isa::Emitter& e, isa::SReg records, isa::SReg rows, isa::Source row_stride,
                  unsigned row_bytes, isa::SReg scratch);
/// address = row * stride + byte per lane, saturated where it passes 32 bits: a row that is out of bounds
/// must not wrap back into them. scratch: 2 VGPRs; `row` is kept.
void lane_row_offset(isa::Emitter& e, isa::VReg address, isa::VReg row, isa::SReg stride, isa::VReg byte,
                     isa::VReg scratch, std::string_view note);

} // namespace zyfa::templates::attention
