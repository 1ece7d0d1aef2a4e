// SPDX-License-Identifier: Apache-2.0
// Names of the problem's enumerations, the one-line form, and contiguous problems.
#include "zyfa/problem.hpp"

#include <cmath>

namespace zyfa {
inline namespace v0 {

namespace {

Strides contiguous_strides(Problem::Layout layout, std::int64_t heads, std::int64_t seq, std::int64_t dim) {
    if (layout == Problem::Layout::bhsd)
        return {heads * seq * dim, seq * dim, dim};
    return {seq * heads * dim, dim, heads * dim};
}

} // namespace

const char* to_string(DType dtype) noexcept {
    switch (dtype) {
    case DType::bf16:
        return "bf16";
    case DType::e4m3:
        return "e4m3";
    case DType::e4m3fnuz:
        return "e4m3fnuz";
    case DType::f32:
        return "f32";
    }
    return "unknown";
}

const char* to_string(Mask mask) noexcept {
    switch (mask) {
    case Mask::none:
        return "none";
    case Mask::causal:
        return "causal";
    }
    return "unknown";
}

const char* to_string(Probability probability) noexcept {
    switch (probability) {
    case Probability::automatic:
        return "automatic";
    case Probability::lean:
        return "lean";
    case Probability::exact:
        return "exact";
    }
    return "unknown";
}

Problem Problem::contiguous(DType dtype, std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                            std::int64_t seq_q, std::int64_t seq_kv, std::int64_t dim_qk, std::int64_t dim_v,
                            Mask mask, Layout layout, bool lse) {
    Problem problem;
    problem.dtype = dtype;
    problem.batch = batch;
    problem.heads_q = heads_q;
    problem.heads_kv = heads_kv;
    problem.seq_q = seq_q;
    problem.seq_kv = seq_kv;
    problem.dim_qk = dim_qk;
    problem.dim_v = dim_v;
    problem.mask = mask;
    problem.q = contiguous_strides(layout, heads_q, seq_q, dim_qk);
    problem.k = contiguous_strides(layout, heads_kv, seq_kv, dim_qk);
    problem.v = contiguous_strides(layout, heads_kv, seq_kv, dim_v);
    problem.o = contiguous_strides(layout, heads_q, seq_q, dim_v);
    problem.lse = lse;
    if (lse) {
        problem.lse_batch_stride = heads_q * seq_q;
        problem.lse_head_stride = seq_q;
    }
    problem.softmax_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim_qk)));
    return problem;
}

std::string to_string(const Problem& problem) {
    std::string text = to_string(problem.dtype);
    text += problem.mask == Mask::causal ? " causal" : " full";
    text += " B=" + std::to_string(problem.batch);
    text += " Hq=" + std::to_string(problem.heads_q);
    text += " Hkv=" + std::to_string(problem.heads_kv);
    text += " Sq=" + std::to_string(problem.seq_q);
    text += " Skv=" + std::to_string(problem.seq_kv);
    text += " d=" + std::to_string(problem.dim_qk);
    if (problem.dim_v != problem.dim_qk)
        text += "/" + std::to_string(problem.dim_v);
    return text;
}

} // namespace v0
} // namespace zyfa
