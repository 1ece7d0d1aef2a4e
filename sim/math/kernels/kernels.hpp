// SPDX-License-Identifier: Apache-2.0
// The tables of matrix operations that each instruction set's build of this folder offers.
#pragma once

#include <cstddef>

#include "sim/math/mfma.hpp"

namespace zyfa::sim {

template <class T>
struct Span {
    const T* data = nullptr;
    std::size_t size = 0;
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
};

#define ZYFA_SIM_DECLARE_KERNELS(isa)                                                                        \
    namespace isa {                                                                                          \
    Span<MfmaOp> mfma_float_ops();                                                                           \
    Span<MfmaOp> mfma_f32_ops();                                                                             \
    Span<MfmaOp> mfma_i8_ops();                                                                              \
    Span<MfmaOp> smfmac_ops();                                                                               \
    }
ZYFA_SIM_DECLARE_KERNELS(baseline)
ZYFA_SIM_DECLARE_KERNELS(avx2)
ZYFA_SIM_DECLARE_KERNELS(avx512)
#undef ZYFA_SIM_DECLARE_KERNELS

} // namespace zyfa::sim
