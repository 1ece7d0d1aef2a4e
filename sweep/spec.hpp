// SPDX-License-Identifier: Apache-2.0
// sweep.json: what a sweep tunes and how, as a validated value. (The format is on top of spec.cpp and in
// docs/sweeps.md.)
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/distributions.hpp"
#include "core/schedule.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::sweep {

struct Lengths {
    std::int64_t q = 1, kv = 1;
    bool operator==(const Lengths&) const = default;
};

/// One model: every combination of its lists is a problem.
struct Model {
    std::string name;
    std::int64_t heads_q = 1, heads_kv = 1, dim_qk = 128, dim_v = 128; ///< of the whole model
    std::vector<std::int64_t> tensor_parallel{1};                      ///< heads are split over so many GPUs
    std::vector<std::int64_t> batches{1};
    std::vector<Lengths> contexts;
    std::vector<DType> dtypes{DType::bf16};
    std::vector<Mask> masks{Mask::causal};
    std::vector<Problem::Layout> layouts{Problem::Layout::bhsd};
    std::vector<bool> lse{true};
    std::vector<Probability> probabilities{Probability::automatic};
    std::vector<std::string> layers; ///< files of captured q, k, v to tune on; empty: drawn data
};

/// Inclusive.
struct Range {
    std::int64_t min = std::numeric_limits<std::int64_t>::min();
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
    bool contains(std::int64_t value) const noexcept { return value >= min && value <= max; }
};

/// Problems that match every field that is given are left out.
struct Exclusion {
    std::optional<std::string> model;
    std::optional<DType> dtype;
    std::optional<Mask> mask;
    std::optional<Range> tensor_parallel, batch, seq_q, seq_kv, heads_q;
    std::string reason;
};

struct Tuning {
    double budget_s = 60; ///< wall clock per measurement; 0: unlimited
    std::uint32_t gate_rows = 48, repeats = 3;
    double tie = 0.01;  ///< relative difference below which the default schedule stays
    std::string policy; ///< of the tuner; empty: by the kind of device
};

/// What makes a winner one that holds.
struct Agreement {
    std::uint32_t sites = 2; ///< measurements of a problem, each on another site
    enum class Across : std::uint8_t { nodes, gpus } across = Across::nodes; ///< what a site is
    std::uint32_t finalists = 4; ///< schedules that the later sites measure, beside the default
    double tolerance = 0.02;     ///< a winner holds where it is at most this much slower than the best
};

struct Spec {
    std::string name;
    std::vector<Model> models;
    std::vector<Exclusion> exclusions;
    Tuning tuning;
    /// Empty: the whole space of the problem's template. Parameters that a candidate does not name are those
    /// of the problem's default schedule.
    std::vector<Schedule> candidates;
    Distribution distribution = Distribution::gaussian;
    std::uint64_t seed = 1;
    Agreement agreement;
    double lease_s = 60;  ///< a worker that was not heard of for so long is lost
    double hang_s = 7200; ///< a worker that is longer at one measurement than this counts as hung
};

/// Throws Error{invalid_argument} that names the field ("models[0].heads_q"), its value and what is accepted;
/// unknown fields are refused too.
Spec parse_spec(std::string_view json);
/// parse_spec(to_json(spec)) equals spec.
std::string to_json(const Spec& spec);

/// What the generator is asked beside the model's own configuration.
struct ModelOptions {
    std::string name;                          ///< empty: the configuration's
    std::vector<std::int64_t> tensor_parallel; ///< empty: 1, 2, 4, 8 as far as the heads allow
    std::vector<std::int64_t> contexts;        ///< empty: powers of two from 256 to the longest context
    std::int64_t longest = 0;                  ///< limit of the contexts; 0: the configuration's
    std::vector<std::int64_t> batches{1};
    std::vector<DType> dtypes{DType::bf16, DType::e4m3};
    std::vector<Problem::Layout> layouts{Problem::Layout::bshd};
    std::vector<std::string> layers;
};

/// A sweep for a model from its config.json as published on Hugging Face: num_attention_heads,
/// num_key_value_heads, head_dim (or hidden_size / num_attention_heads), max_position_embeddings; with
/// qk_nope_head_dim, qk_rope_head_dim and v_head_dim for latent attention, whose prefill has as many
/// key-value heads as query heads. Throws Error{invalid_argument} that names the field.
Spec spec_for_model(std::string_view config_json, const ModelOptions& options);

} // namespace zyfa::sweep
