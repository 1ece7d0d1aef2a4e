// SPDX-License-Identifier: Apache-2.0
// The error of one call's output against fp64 attention on the same inputs (paper Section V-D).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/reference.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::cli {

enum class Check {
    automatic, ///< all rows where fp64 takes seconds, sampled rows beyond
    all,
    sample,
    none
};

struct Accuracy {
    ErrorSummary error;
    std::int64_t rows = 0, of = 0;     ///< rows compared, rows there are
    std::size_t gate_rows = 0;         ///< rows that the gate sampled; the next two are of these
    double gate_relative_rms = 0;      ///< of the output
    double emulation_relative_rms = 0; ///< of a plain emulation of the arithmetic
    bool passed = true;                ///< within the tuner's accuracy gate
    std::string message;               ///< what broke a limit
};

/// Output bytes from the tensors' bases, in the problem's strides. `progress` gets heads done and heads in
/// all. `check` is not none.
Accuracy measure_accuracy(const Problem& problem, const HostTensors& inputs, std::span<const std::byte> o,
                          std::span<const std::byte> lse, Check check,
                          const std::function<void(std::size_t, std::size_t)>& progress);

} // namespace zyfa::cli
