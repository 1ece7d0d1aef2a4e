// SPDX-License-Identifier: Apache-2.0
#include "bench/fp8/rounded_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace zyfa::fp8_bench {

namespace {

constexpr std::int64_t block_keys = 128, half_keys = 64;
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> values_of(std::span<const std::byte> codes, std::int64_t first, std::int64_t rows,
                             std::int64_t row_stride, std::int64_t dim) {
    std::vector<float> out(static_cast<std::size_t>(rows * dim));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t d = 0; d < dim; ++d)
            out[static_cast<std::size_t>(r * dim + d)] = e4m3_to_float(
                static_cast<std::uint8_t>(codes[static_cast<std::size_t>(first + r * row_stride + d)]));
    return out;
}

float largest(const float* first, const float* end) {
    return first == end ? -infinity : *std::max_element(first, end);
}

/// One row's running state.
class Row {
  public:
    Row(const Arithmetic& a, float scale) : a_(a), scale_(scale), tau_(static_cast<float>(a.tau)) {}

    void block(const float* first, const float* end) {
        const float found = largest(first, end);
        const float growth = (found - maximum_) * scale_;
        if (!(growth <= tau_) || (growth > 1 && coarse(growth))) {
            sum_ *= std::exp2((maximum_ - found) * scale_);
            maximum_ = found;
        }
        for (const float* half = first; half < end; half += half_keys)
            add_half(half, std::min(half + half_keys, end));
    }
    double lse() const {
        return (static_cast<double>(maximum_) * scale_ + std::log2(static_cast<double>(sum_)) - a_.sigma) *
               std::numbers::ln2;
    }

  private:
    /// Whether a probability of 2^growth is rounded by more than 0.02 of it and 1 together: then the maximum
    /// moves though it grew by less than tau.
    bool coarse(float growth) const {
        const auto sigma = static_cast<float>(a_.sigma), beta = static_cast<float>(a_.beta);
        const double scaled = std::exp2(double{growth} + sigma);
        const std::uint8_t code =
            a_.probability == Probability::lean
                ? static_cast<std::uint8_t>(std::nearbyint(8 * (growth + sigma + 7) - beta))
                : float_to_e4m3(static_cast<float>(scaled));
        return std::abs(table()[code] - scaled) > 0.02 * (scaled + std::exp2(double{sigma}));
    }
    void add_half(const float* first, const float* end) {
        const float offset = std::clamp(std::floor((maximum_ - largest(first, end)) * scale_), 0.0f,
                                        a_.fold ? 100.0f : 120.0f);
        const bool lean = a_.probability == Probability::lean;
        const auto sigma = static_cast<float>(a_.sigma), beta = static_cast<float>(a_.beta);
        const float per_score = lean ? 8 * scale_ : scale_;
        // One place down, so that no code passes the largest: 1.25 * 2^-24 of a float rounds to its last
        // place.
        const float nearest = std::fma(-per_score, maximum_, lean ? 8 * (sigma + 7) - beta : sigma);
        const float base = std::fma(-std::abs(nearest), 0x1.4p-24f, nearest);
        const float bias = lean ? std::fma(offset + offset, 4.0f, base) : offset + base;
        double sum = 0;
        for (; first < end; ++first) {
            const float y = std::fma(*first, per_score, bias);
            std::uint8_t code = 0;
            if (lean)
                code = static_cast<std::uint8_t>(std::clamp(std::nearbyint(y), 0.0f, 255.0f));
            else if (a_.fold)
                code = float_to_e4m3(std::exp2((*first - maximum_) * scale_) * std::exp2(offset + sigma));
            else
                code = float_to_e4m3(std::exp2(y));
            sum += table()[code];
        }
        sum_ = std::fma(static_cast<float>(sum), std::exp2(-offset), sum_);
    }
    static const std::array<float, 256>& table() {
        static const std::array<float, 256> values = [] {
            std::array<float, 256> out{};
            for (unsigned c = 0; c < 256; ++c)
                out[c] = e4m3_to_float(static_cast<std::uint8_t>(c));
            return out;
        }();
        return values;
    }

    const Arithmetic& a_;
    float scale_, tau_;
    float maximum_ = -67108864.0f, sum_ = 0;
};

} // namespace

std::vector<float> head_scores(const Problem& p, const HostTensors& tensors, std::int64_t head) {
    const std::int64_t kv = head / (p.heads_q / p.heads_kv);
    const std::vector<float> q = values_of(tensors.q, head * p.q.head, p.seq_q, p.q.seq, p.dim_qk),
                             k = values_of(tensors.k, kv * p.k.head, p.seq_kv, p.k.seq, p.dim_qk);
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(p.seq_q * (p.seq_q + 1) / 2));
    for (std::int64_t i = 0; i < p.seq_q; ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
            const float *a = q.data() + i * p.dim_qk, *b = k.data() + j * p.dim_qk;
            float score = 0; // the matrix unit adds 64 products at a time to an FP32 accumulator
            for (std::int64_t d = 0; d < p.dim_qk; d += 64) {
                std::array<double, 8> part{};
                for (std::int64_t n = 0; n < 64; n += 8)
                    for (std::size_t m = 0; m < 8; ++m)
                        part[m] += static_cast<double>(a[d + n + static_cast<std::int64_t>(m)]) *
                                   b[d + n + static_cast<std::int64_t>(m)];
                double sum = score;
                for (const double x : part)
                    sum += x;
                score = static_cast<float>(sum);
            }
            out.push_back(score);
        }
    return out;
}

std::vector<double> rounded_lse(const Problem& p, const std::vector<float>& scores, const Arithmetic& a) {
    const auto scale = static_cast<float>(static_cast<double>(p.softmax_scale) * p.q_descale * p.k_descale *
                                          std::numbers::log2e);
    std::vector<double> out;
    const float* row = scores.data();
    for (std::int64_t i = 0; i < p.seq_q; row += ++i) {
        Row state(a, scale);
        const std::int64_t keys = i + 1, blocks = (keys + block_keys - 1) / block_keys;
        for (std::int64_t n = 0; n < blocks; ++n) {
            const std::int64_t first = block_keys * (a.from_diagonal ? blocks - 1 - n : n);
            state.block(row + first, row + std::min(first + block_keys, keys));
        }
        out.push_back(state.lse());
    }
    return out;
}

} // namespace zyfa::fp8_bench
