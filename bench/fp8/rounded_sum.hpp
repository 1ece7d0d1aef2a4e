// SPDX-License-Identifier: Apache-2.0
// The row sum of rounded probabilities as an FP8 schedule forms it (paper Section IV-B), in the order and the
// FP32 arithmetic of the kernel. Written from the definition in docs/numerics.md; shares no code with the
// kernels or with the gate's emulation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/reference.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::fp8_bench {

/// Scores of one head as the matrix unit gives them, without the scale: row after row, the visible keys of
/// each (causal, Sq = Skv: row i has i + 1).
std::vector<float> head_scores(const Problem& problem, const HostTensors& tensors, std::int64_t head);

struct Arithmetic {
    Probability probability = Probability::lean;
    double tau = 0.125, sigma = 6, beta = 0.35;
    bool from_diagonal = false;
    bool fold = false; ///< matrix_work: scores come less the maximum, and 2^-o is the conversion's
};

/// LSE of the rounded probabilities, for rows of `head_scores`.
std::vector<double> rounded_lse(const Problem& problem, const std::vector<float>& scores,
                                const Arithmetic& arithmetic);

} // namespace zyfa::fp8_bench
