// SPDX-License-Identifier: Apache-2.0
#include "sweep/problem_json.hpp"

#include "core/keys.hpp"
#include "sweep/names.hpp"

namespace zyfa::sweep {

namespace {

/// Which of the two layouts made the strides. A problem with one head or one row has the same bytes in both.
Problem::Layout layout_of(const Problem& problem) {
    Problem other = Problem::contiguous(problem.dtype, problem.batch, problem.heads_q, problem.heads_kv,
                                        problem.seq_q, problem.seq_kv, problem.dim_qk, problem.dim_v,
                                        problem.mask, Problem::Layout::bshd, problem.lse);
    return other.q == problem.q && other.k == problem.k && other.v == problem.v ? Problem::Layout::bshd
                                                                                : Problem::Layout::bhsd;
}

} // namespace

Json problem_json(const Problem& problem) {
    return {{"dtype", name_of(dtype_names, problem.dtype)},
            {"mask", name_of(mask_names, problem.mask)},
            {"layout", name_of(layout_names, layout_of(problem))},
            {"batch", problem.batch},
            {"heads_q", problem.heads_q},
            {"heads_kv", problem.heads_kv},
            {"seq_q", problem.seq_q},
            {"seq_kv", problem.seq_kv},
            {"dim_qk", problem.dim_qk},
            {"dim_v", problem.dim_v},
            {"lse", problem.lse},
            {"probability", name_of(probability_names, problem.probability)}};
}

Problem problem_from_json(const Json& json) {
    const auto size = [&json](const char* name) { return read_size(json.at(name), name); };
    Problem problem = Problem::contiguous(
        value_named(dtype_names, json.at("dtype"), "dtype"), size("batch"), size("heads_q"), size("heads_kv"),
        size("seq_q"), size("seq_kv"), size("dim_qk"), size("dim_v"),
        value_named(mask_names, json.at("mask"), "mask"),
        value_named(layout_names, json.at("layout"), "layout"), json.at("lse").get<bool>());
    problem.probability = value_named(probability_names, json.at("probability"), "probability");
    return problem;
}

} // namespace zyfa::sweep
