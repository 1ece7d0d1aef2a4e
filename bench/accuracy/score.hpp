// SPDX-License-Identifier: Apache-2.0
// Errors against fp64, and the plain emulation that the block scales are compared with.
#pragma once

#include <vector>

#include "bench/accuracy/call.hpp"

namespace zyfa::accuracy {

/// fp64 attention, [B * H, S, D] and [B * H, S].
struct Exact {
    std::vector<double> o, lse;
};
Exact exact(const Problem& problem, const HostTensors& tensors);

/// Of a kernel's output on the inputs of `wanted`.
ErrorSummary error_of(const Output& output, const Exact& wanted);
/// Relative RMS of `found` against `wanted`: with the codes' and the values' exact results, the input error.
double relative_rms(const Exact& found, const Exact& wanted);

/// Kernels without block scales, in a plain emulation; O rounded to BF16.
enum class Unscaled {
    plain, ///< P rounded to e4m3 relative to the row's maximum, the row sum of the unrounded p
    lean,  ///< zyfa's lean P without the blocks' powers of two, the row sum of the rounded ones
};
ErrorSummary emulation(const Codes& codes, const Exact& wanted, Unscaled kind);

} // namespace zyfa::accuracy
