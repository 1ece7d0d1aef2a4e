// SPDX-License-Identifier: Apache-2.0
// What happens to a row before it is scaled: the mean key subtracted, and the rotation.
#pragma once

#include "templates/quantize/rows.hpp"

namespace zyfa::templates::quantize {

struct TransformRegisters {
    isa::VReg signs;  ///< rotate: the row's random signs, packed as BF16 are
    isa::VReg mean;   ///< smooth: the mean row, with the same signs
    isa::VReg turn;   ///< rotate: per bit of the place, -1 where it is set, else 1
    isa::VReg flip;   ///< rotate: product of `turn`
    isa::SReg thirds; ///< D = 3 * 2^k: 1/sqrt(3), 1/sqrt(2), 1/sqrt(6), -2/sqrt(6): the DCT-II of size 3
};

TransformRegisters allocate_transform(isa::SAllocator& s, isa::VAllocator& v, const RowShape& shape,
                                      const Kind& kind);

/// Loads signs and mean; once per wave. Uses r.buffer, r.t and r.value.
void emit_transform_start(isa::Emitter& e, const RowRegisters& r, const RowShape& shape, const Kind& kind,
                          const TransformRegisters& t);

/// Group `group` of the tile: values[i] = the row after the transform, without the rotation's norm, and with
/// the sign of t.flip if it rotates. Returns the registers that hold the values in the row's order.
std::vector<isa::VReg> emit_transform(isa::Emitter& e, const RowRegisters& r, const RowShape& shape,
                                      const Kind& kind, const TransformRegisters& t, unsigned group);

} // namespace zyfa::templates::quantize
