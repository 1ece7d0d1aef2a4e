// SPDX-License-Identifier: Apache-2.0
// Tuning on request.
#pragma once

#include <cstdint>
#include <string>

#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

struct TuneRequest {
    double budget_s = 60; ///< wall clock for assembling, gate and timing; 0: unlimited
    bool retune = true;   ///< tune although a winner is known, and replace it
    /// Measure all candidates, those too that an earlier tuning has measured on the same data, device and
    /// driver. Otherwise a new candidate costs its own measurement.
    bool fresh = false;
    /// Host copies of inputs to tune on, in the strides of the problem; all or none. None: seeded Gaussian
    /// numbers of standard deviation 0.1 (paper Section V-B). Read during the call only.
    const void *q = nullptr, *k = nullptr, *v = nullptr;
    std::string profile = "caller"; ///< recorded with the winner as what it was tuned on
};

/// Tunes `problem` on `device` now, whatever the mode of the context: assembles the candidates, gates each on
/// accuracy against fp64, times them, stores the winner with its evidence, and makes it resident. Simulated
/// where the device is. Throws Error{unsupported}, Error{device_error}, Error{assemble_failed}.
ZYFA_API Explanation tune(Context& context, const Problem& problem, int device = 0,
                          const TuneRequest& request = {});

} // namespace v0
} // namespace zyfa
