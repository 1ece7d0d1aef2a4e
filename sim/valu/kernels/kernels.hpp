// SPDX-License-Identifier: Apache-2.0
// The tables of vector operations, one per family, that each instruction set's build of this folder offers.
#pragma once

#include "sim/math/kernels/kernels.hpp"
#include "sim/valu/valu.hpp"

namespace zyfa::sim {

#define ZYFA_SIM_DECLARE_KERNELS(isa)                                                                        \
    namespace isa {                                                                                          \
    Span<ValuOp> float32_ops();                                                                              \
    Span<ValuOp> float16_ops();                                                                              \
    Span<ValuOp> float64_ops();                                                                              \
    Span<ValuOp> integer_ops();                                                                              \
    Span<ValuOp> integer16_ops();                                                                            \
    Span<ValuOp> bit_ops();                                                                                  \
    Span<ValuOp> compare_ops();                                                                              \
    Span<ValuOp> convert_ops();                                                                              \
    Span<ValuOp> convert_scaled_ops();                                                                       \
    Span<ValuOp> packed32_ops();                                                                             \
    Span<ValuOp> dot_ops();                                                                                  \
    }
ZYFA_SIM_DECLARE_KERNELS(baseline)
ZYFA_SIM_DECLARE_KERNELS(avx2)
#undef ZYFA_SIM_DECLARE_KERNELS

} // namespace zyfa::sim
