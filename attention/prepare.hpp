// SPDX-License-Identifier: Apache-2.0
// Preparing with a mode and tuning inputs of one's own; private to zyfa, for the command-line tool and
// sweeps.
#pragma once

#include <functional>
#include <optional>

#include "tuner/tuner.hpp"
#include "zyfa/context.hpp"

namespace zyfa::call {

struct PrepareRequest {
    std::optional<Mode> mode;               ///< default: that of the context
    tuner::TuningInputs inputs;             ///< to tune on, in the strides of the problem; empty: Gaussian
    std::optional<tuner::Options> tuning;   ///< default: the context's budget, else as tuner::Options says
    tuner::MeasurementSink* sink = nullptr; ///< told of every measurement, beside the cache
    std::function<bool()> interrupted{};    ///< retune: yes after the tuning discards what it has found
    bool verdicts_only = false;             ///< retune: a verdict that was withheld changes nothing
    bool retune = false;                    ///< mode tune: tune although a winner is known, and replace it
};

} // namespace zyfa::call
