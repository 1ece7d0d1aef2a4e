// SPDX-License-Identifier: Apache-2.0
// The contexts behind Python's functions, and calls on host memory.
#pragma once

#include "zyfa/context.hpp"
#include "zyfa/quantize.hpp"

namespace zyfa::python {

/// The context that runs tensors of a GPU (the process-wide one), or CPU tensors on the simulator: the
/// process-wide one where ZYFA_DEVICE says sim, else one of its own. Throws Error{invalid_argument} where the
/// environment asks for the simulator and the tensors are a GPU's.
Context& context_for(bool simulated);

/// zyfa::attention for tensors in host memory, on a device of `context`: copies them over, runs, waits, and
/// copies o and lse back. Each copy has its address modulo 16 and its strides, so that what a GPU would
/// refuse is refused. Throws what attention and synchronize throw.
void attention_on_host(Context& context, AttentionArgs args);

/// zyfa::quantize and zyfa::add_mean_score on tensors in host memory, through device memory.
QuantizeReport quantize_on_host(Context& context, QuantizeArgs args);
void add_mean_score_on_host(Context& context, MeanScoreArgs args);

} // namespace zyfa::python
