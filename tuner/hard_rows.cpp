// SPDX-License-Identifier: Apache-2.0
// Flattest and sharpest rows. Single precision will do: nothing is judged by these weights.
#include "tuner/hard_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tuner/bound_launch.hpp"
#include "tuner/tensor_layout.hpp"

namespace zyfa::tuner {

namespace {

constexpr std::int64_t fewest_keys = 64; ///< of a row that is flat or sharp by its data, not by its place
constexpr double multiplications = 1e8;
constexpr std::size_t planes = 4, largest_pool = 128;

void decode(const TensorLayout& layout, std::span<const std::byte> bytes, std::int64_t batch,
            std::int64_t head, std::int64_t row, std::vector<float>& out) {
    const std::byte* from = bytes.data() + layout.row_offset(batch, head, row);
    for (std::size_t d = 0; d < out.size(); ++d) {
        if (layout.element_bytes == 1) {
            out[d] = e4m3_to_float(std::to_integer<std::uint8_t>(from[d]));
        } else {
            std::uint16_t bits;
            std::memcpy(&bits, from + 2 * d, sizeof bits);
            out[d] = bf16_to_float(bits);
        }
    }
}

std::int64_t visible_keys(const Problem& p, std::int64_t row) {
    return p.mask == Mask::causal ? std::clamp<std::int64_t>(row + p.seq_kv - p.seq_q + 1, 0, p.seq_kv)
                                  : p.seq_kv;
}

/// Sums of weights and of their squares, relative to the largest score so far.
struct Weights {
    float largest = -std::numeric_limits<float>::infinity(), sum = 0, squares = 0;
    void add(float score) {
        if (!(score > -std::numeric_limits<float>::infinity())) // also NaN
            return;
        if (score > largest) {
            const float shrink = std::exp2(largest - score);
            sum *= shrink;
            squares *= shrink * shrink;
            largest = score;
        }
        const float weight = std::exp2(score - largest);
        sum += weight;
        squares += weight * weight;
    }
    double concentration() const { return sum > 0 ? squares / sum / sum : 0; }
};

/// Of rows of one head.
std::vector<double> concentrations(const Problem& p, const HostTensors& inputs, std::int64_t batch,
                                   std::int64_t head, const std::vector<std::int64_t>& rows) {
    const TensorLayout q = layout_q(p), k = layout_k(p);
    const auto dim = static_cast<std::size_t>(p.dim_qk);
    const float scale = score_scale(p.softmax_scale, p.q_descale, p.k_descale);
    std::vector<std::vector<float>> queries(rows.size(), std::vector<float>(dim));
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        decode(q, inputs.q, batch, head, rows[i], queries[i]);
        longest = std::max(longest, visible_keys(p, rows[i]));
    }
    std::vector<Weights> weights(rows.size());
    std::vector<float> key(dim);
    for (std::int64_t j = 0; j < longest; ++j) {
        decode(k, inputs.k, batch, head / (p.heads_q / p.heads_kv), j, key);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (j >= visible_keys(p, rows[i]))
                continue;
            float score = 0;
            for (std::size_t d = 0; d < dim; ++d)
                score += queries[i][d] * key[d];
            weights[i].add(score * scale);
        }
    }
    std::vector<double> result;
    for (const Weights& row : weights)
        result.push_back(row.concentration());
    return result;
}

} // namespace

double concentration(const Problem& problem, const HostTensors& inputs, const GateRow& row) {
    return concentrations(problem, inputs, row.batch, row.head, {row.row}).front();
}

std::vector<GateRow> gate_rows(const Problem& problem, const HostTensors& inputs, std::size_t count,
                               std::uint64_t seed) {
    const auto all = static_cast<std::size_t>(problem.batch * problem.heads_q * problem.seq_q);
    const std::size_t hard = count / 12; // of each kind
    const std::int64_t first = std::max<std::int64_t>(
        0, problem.mask == Mask::causal ? fewest_keys - 1 + problem.seq_q - problem.seq_kv : 0);
    if (count >= all || hard == 0 || first >= problem.seq_q || problem.seq_kv < fewest_keys)
        return sample_rows(problem, count, seed);

    const double per_row = static_cast<double>(problem.seq_kv) * static_cast<double>(problem.dim_qk);
    const auto pool = static_cast<std::size_t>(
        std::clamp(multiplications / per_row, static_cast<double>(planes), double{largest_pool}));
    std::mt19937_64 random(seed);
    std::vector<std::pair<double, GateRow>> found;
    for (std::size_t plane = 0; plane < planes; ++plane) {
        const std::int64_t batch = static_cast<std::int64_t>(random() %
                                                             static_cast<std::uint64_t>(problem.batch)),
                           head = static_cast<std::int64_t>(random() %
                                                            static_cast<std::uint64_t>(problem.heads_q));
        std::vector<std::int64_t> rows;
        for (std::size_t i = 0; i < pool / planes; ++i)
            rows.push_back(first + static_cast<std::int64_t>(
                                       random() % static_cast<std::uint64_t>(problem.seq_q - first)));
        const std::vector<double> values = concentrations(problem, inputs, batch, head, rows);
        for (std::size_t i = 0; i < rows.size(); ++i)
            found.emplace_back(values[i], GateRow{batch, head, rows[i]});
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second.row < b.second.row;
    });

    std::vector<GateRow> result = sample_rows(problem, count - 2 * hard, seed);
    const auto add = [&](const GateRow& row) {
        if (std::find(result.begin(), result.end(), row) != result.end())
            return false;
        result.push_back(row);
        return true;
    };
    std::size_t flat = 0, sharp = 0;
    for (auto it = found.begin(); it != found.end() && flat < hard; ++it)
        flat += add(it->second);
    for (auto it = found.rbegin(); it != found.rend() && sharp < hard; ++it)
        sharp += add(it->second);
    for (const GateRow& row : sample_rows(problem, count, seed + 1)) // what is left, where rows came up twice
        if (result.size() < count)
            add(row);
    return result;
}

} // namespace zyfa::tuner
