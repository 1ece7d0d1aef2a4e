// SPDX-License-Identifier: Apache-2.0
// From the arguments of a quantization to the kernels' argument block and grids: every refusal, and every
// figure that the host computes.
#pragma once

#include <cstdint>

#include "runtime/runtime.hpp"
#include "templates/quantize/kernarg.hpp"
#include "templates/quantize/kernel.hpp"
#include "zyfa/quantize.hpp"

namespace zyfa::call {

struct QuantizePlan {
    templates::quantize::Kind kind;
    templates::quantize::Kernarg kernarg; ///< without report and sums
    bool per_call = false, measure_mean = false;
    std::array<std::uint32_t, 3> grid{}, sum_grid{}, mean_grid{};
    std::uint64_t sums_bytes = 0; ///< workspace of the partial sums
};

/// Throws Error that names the argument.
QuantizePlan plan_quantize(const QuantizeArgs& args, std::uint32_t compute_units);
QuantizePlan plan_mean_score(const MeanScoreArgs& args, std::uint32_t compute_units);

/// That pointers are memory of the device and reach far enough; throws Error. Null is left out.
void check_reach(const runtime::Runtime& runtime, const char* argument, const void* pointer,
                 std::uint64_t bytes, int device);

} // namespace zyfa::call
