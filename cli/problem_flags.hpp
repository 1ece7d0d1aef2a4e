// SPDX-License-Identifier: Apache-2.0
// The flags that say what is to be computed and on which input; shared by attention, tune, asm and check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "zyfa/problem.hpp"

namespace CLI {
class App;
}

namespace zyfa::cli {

struct ProblemFlags {
    std::string input;                     ///< safetensors file with q, k, v; empty: drawn input
    std::string distribution = "gaussian"; ///< for drawn input
    std::uint64_t seed = 1;
    std::optional<std::int64_t> batch, heads, heads_q, heads_kv, seq, seq_kv, dim_qk, dim_v;
    std::string layout = "bhsd", dtype = "bf16", probability = "automatic";
    std::optional<float> softmax_scale;
    bool no_causal = false, no_lse = false, no_nan_exact = false;
};

/// Whether the flags that choose and draw the input are wanted too.
enum class InputFlags { with, without };
void add_problem_flags(CLI::App& command, ProblemFlags& flags, InputFlags inputs);

/// The problem of drawn input: the shape flags, with defaults where one is not given. Throws
/// Error{invalid_argument} for a size below 1 or for what the flags cannot mean together.
Problem problem_from(const ProblemFlags& flags);

/// What does not come from the input's shape: mask, LSE, NaN rule, probability.
void apply_options(const ProblemFlags& flags, Problem& problem);

Problem::Layout layout_from(const ProblemFlags& flags);
DType dtype_from(const ProblemFlags& flags);

/// Floating-point operations of one forward pass, paper Equation 1: B H S^2 (dqk + dv) for a causal square,
/// twice that without a mask; for Sq != Skv the area below the bottom-right diagonal.
double flops(const Problem& problem);

} // namespace zyfa::cli
