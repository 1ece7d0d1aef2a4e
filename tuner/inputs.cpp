// SPDX-License-Identifier: Apache-2.0
// Drawn inputs, repeated over heads where there are very many elements.
#include "tuner/inputs.hpp"

#include <cstring>

#include "tuner/tensor_layout.hpp"

namespace zyfa::tuner {

namespace {

/// Fills a tensor by repeating the heads of a smaller one with the same rows.
std::vector<std::byte> repeat(const TensorLayout& to, const TensorLayout& from,
                              std::span<const std::byte> source) {
    std::vector<std::byte> bytes(to.extent_bytes());
    for (std::int64_t b = 0; b < to.sizes[0]; ++b)
        for (std::int64_t h = 0; h < to.sizes[1]; ++h)
            for (std::int64_t s = 0; s < to.sizes[2]; ++s)
                std::memcpy(bytes.data() + to.row_offset(b, h, s),
                            source.data() + from.row_offset(0, h % from.sizes[1], s), to.row_bytes());
    return bytes;
}

std::vector<std::byte> moved(const TensorLayout& to, const TensorLayout& from,
                             std::span<const std::byte> source) {
    std::vector<std::byte> bytes(to.extent_bytes());
    for (std::int64_t b = 0; b < to.sizes[0]; ++b)
        for (std::int64_t h = 0; h < to.sizes[1]; ++h)
            for (std::int64_t s = 0; s < to.sizes[2]; ++s)
                std::memcpy(bytes.data() + to.row_offset(b, h, s), source.data() + from.row_offset(b, h, s),
                            to.row_bytes());
    return bytes;
}

} // namespace

TuningInputs repacked(const TuningInputs& inputs, const Problem& from, const Problem& to) {
    TuningInputs result = inputs;
    const auto move_all = [&](auto& tensors) {
        tensors.q = moved(layout_q(to), layout_q(from), tensors.q);
        tensors.k = moved(layout_k(to), layout_k(from), tensors.k);
        tensors.v = moved(layout_v(to), layout_v(from), tensors.v);
    };
    move_all(result);
    for (TuningInputs::Layer& layer : result.layers)
        move_all(layer);
    return result;
}

TuningInputs drawn_inputs(const Problem& problem, Distribution distribution, std::uint64_t seed,
                          std::uint64_t most_elements) {
    TuningInputs inputs;
    inputs.profile = to_string(distribution);
    const std::uint64_t rows = static_cast<std::uint64_t>(
        problem.batch * (problem.heads_q * problem.seq_q + 2 * problem.heads_kv * problem.seq_kv));
    if (rows * static_cast<std::uint64_t>(problem.dim_qk) <= most_elements) {
        DrawnInputs drawn = draw_inputs(problem, distribution, seed);
        inputs.q = std::move(drawn.q);
        inputs.k = std::move(drawn.k);
        inputs.v = std::move(drawn.v);
        return inputs;
    }
    Problem one = Problem::contiguous(problem.dtype, 1, problem.heads_q / problem.heads_kv, 1, problem.seq_q,
                                      problem.seq_kv, problem.dim_qk, problem.dim_v, problem.mask);
    one.softmax_scale = problem.softmax_scale;
    const DrawnInputs drawn = draw_inputs(one, distribution, seed);
    inputs.q = repeat(layout_q(problem), layout_q(one), drawn.q);
    inputs.k = repeat(layout_k(problem), layout_k(one), drawn.k);
    inputs.v = repeat(layout_v(problem), layout_v(one), drawn.v);
    return inputs;
}

} // namespace zyfa::tuner
