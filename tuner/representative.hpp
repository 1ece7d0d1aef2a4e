// SPDX-License-Identifier: Apache-2.0
// The problem that is gated and timed in place of the asked one. On a GPU it is the asked one, but for gaps
// of gigabytes between its rows, heads or batch entries. On the simulator, where a launch costs about a
// quarter of a microsecond of host time per score, it may be a cut.
#pragma once

#include <string>

#include "zyfa/problem.hpp"

namespace zyfa::tuner {

/// Query-key pairs that a launch computes, over all batches and query heads (masked ones left out).
double scores(const Problem& problem);

/// Scores that the simulator computes per second of host time on one core (head dimension 128, BF16: one head
/// of 4096 causal rows in 2 s). Only sizes the cut below; nothing measured depends on it.
inline constexpr double simulated_scores_per_second = 4.2e6;

struct Representative {
    Problem problem;
    std::string note; ///< empty where nothing was cut; else what was, for messages and evidence
};

/// On a GPU, cuts only what takes more than `memory_bytes` (0: no limit) of tensors: half the batch, then
/// half the heads, at last the lengths, as below; strides are then contiguous. On the simulator one launch is
/// held to half a second of one core, or to 1/16 of the budget where there is one, by halving first the
/// batch, then the key-value heads (the GQA ratio stays, and with it the kernel), and at last, only under a
/// budget, both sequence lengths; those keep their remainder modulo 256, so that a length with a tail still
/// has one, and their order (Sq < Skv, =, >). Strides stay as they are, but where a tensor spans more than 4
/// GiB and twice its elements: then all are made contiguous.
Representative representative(const Problem& problem, bool simulated, double budget_s,
                              std::uint64_t memory_bytes = 0);

} // namespace zyfa::tuner
