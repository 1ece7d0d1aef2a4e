// SPDX-License-Identifier: Apache-2.0
// How each distribution of Figure 15 is made. Where the figure's caption gives no number, the numbers are
// ours: 0.5 nats per step, ramps of 16 nats, q of SD 0.1 before a flat tail.
#include "core/distributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "core/random.hpp"
#include "zyfa/error.hpp"

namespace zyfa {

namespace {

constexpr std::array distributions{Distribution::gaussian,       Distribution::logit_sd_1,
                                   Distribution::logit_sd_4,     Distribution::logit_sd_16,
                                   Distribution::stepped_max,    Distribution::sink_4,
                                   Distribution::rising_logits,  Distribution::alternating_rows,
                                   Distribution::sink_flat_tail, Distribution::full_range};

enum Tensor : std::uint32_t { tensor_q, tensor_k, tensor_v };

/// The channels that carry an additive logit: q holds a constant there, k the wanted sum divided by it.
constexpr std::int64_t bias_channels = 4;
constexpr double bias_q = 8;

bool has_bias(Distribution d) {
    return d == Distribution::stepped_max || d == Distribution::rising_logits ||
           d == Distribution::alternating_rows || d == Distribution::sink_flat_tail;
}

/// Nats added to the logits of key j.
double bias(Distribution d, std::int64_t j, std::int64_t keys) {
    switch (d) {
    case Distribution::stepped_max:
        return 0.5 * static_cast<double>(j / 64);
    case Distribution::rising_logits:
    case Distribution::alternating_rows:
        return keys > 1 ? 16.0 * static_cast<double>(j) / static_cast<double>(keys - 1) : 0.0;
    case Distribution::sink_flat_tail:
        return j == 0 ? 12.0 : 0.0;
    default:
        return 0.0;
    }
}

/// Standard deviation of the tensor's elements.
double deviation(Distribution d, Tensor tensor) {
    switch (d) {
    case Distribution::gaussian:
        return 0.1;
    case Distribution::logit_sd_4:
        return tensor == tensor_v ? 1 : 2;
    case Distribution::logit_sd_16:
        return tensor == tensor_v ? 1 : 4;
    case Distribution::sink_flat_tail:
        return tensor == tensor_q ? 0.1 : 1;
    default:
        return 1;
    }
}

struct Drawing {
    const Problem& problem;
    Distribution distribution;
    std::uint64_t seed;

    void row(Tensor tensor, std::int64_t batch, std::int64_t head, std::int64_t row,
             std::span<float> out) const {
        // 2^32 rows, 2^16 heads and 2^16 batch entries have streams of their own; beyond, streams repeat.
        const std::uint64_t place = static_cast<std::uint64_t>(batch) << 48 ^
                                    static_cast<std::uint64_t>(head) << 32 ^ static_cast<std::uint64_t>(row);
        Random random(seed, tensor, place);
        const double sd = deviation(distribution, tensor) * (is_sink(tensor, row) ? 8 : 1);
        for (float& value : out)
            value = static_cast<float>(distribution == Distribution::full_range ? log_uniform(random)
                                                                                : sd * random.normal());
        if (has_bias(distribution) && tensor != tensor_v)
            std::fill_n(out.begin(), bias_channels, static_cast<float>(bias_value(tensor, row)));
    }

  private:
    bool is_sink(Tensor tensor, std::int64_t row) const {
        return distribution == Distribution::sink_4 && tensor == tensor_k && row < 4;
    }
    static double log_uniform(Random& random) {
        const double magnitude = std::exp2(-6 + 14 * random.uniform());
        return random.bits() & 1 ? magnitude : -magnitude;
    }
    double bias_value(Tensor tensor, std::int64_t row) const {
        if (tensor == tensor_q)
            return distribution == Distribution::alternating_rows && row % 2 == 0 ? 0 : bias_q;
        return bias(distribution, row, problem.seq_kv) /
               (bias_channels * bias_q * static_cast<double>(problem.softmax_scale));
    }
};

std::vector<std::byte> draw_tensor(const Drawing& drawing, Tensor tensor, const Strides& strides,
                                   std::int64_t heads, std::int64_t rows, std::int64_t dim, float& descale) {
    const Problem& p = drawing.problem;
    std::vector<float> values(static_cast<std::size_t>(p.batch * heads * rows * dim));
    std::size_t at = 0;
    for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t i = 0; i < rows; ++i, at += static_cast<std::size_t>(dim))
                drawing.row(tensor, b, h, i, std::span(values).subspan(at, static_cast<std::size_t>(dim)));
    for (float& value : values)
        value = bf16_to_float(float_to_bf16(value));
    std::vector<std::uint8_t> codes(p.dtype == DType::e4m3 ? values.size() : 0);
    if (p.dtype == DType::e4m3)
        descale = quantise_e4m3(values, codes);

    const std::size_t bytes = p.dtype == DType::e4m3 ? 1 : 2;
    const std::int64_t reach =
        (p.batch - 1) * strides.batch + (heads - 1) * strides.head + (rows - 1) * strides.seq + dim;
    std::vector<std::byte> memory(static_cast<std::size_t>(reach) * bytes);
    at = 0;
    for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t i = 0; i < rows; ++i) {
                std::byte* to =
                    memory.data() +
                    static_cast<std::size_t>(b * strides.batch + h * strides.head + i * strides.seq) * bytes;
                for (std::int64_t d = 0; d < dim; ++d, ++at) {
                    if (bytes == 1) {
                        to[d] = std::byte{codes[at]};
                    } else {
                        const std::uint16_t code = float_to_bf16(values[at]);
                        std::memcpy(to + 2 * d, &code, 2);
                    }
                }
            }
    return memory;
}

} // namespace

std::span<const Distribution> all_distributions() noexcept {
    return distributions;
}

const char* to_string(Distribution distribution) noexcept {
    switch (distribution) {
    case Distribution::gaussian:
        return "gaussian";
    case Distribution::logit_sd_1:
        return "logit-sd-1";
    case Distribution::logit_sd_4:
        return "logit-sd-4";
    case Distribution::logit_sd_16:
        return "logit-sd-16";
    case Distribution::stepped_max:
        return "stepped-max";
    case Distribution::sink_4:
        return "sink-4";
    case Distribution::rising_logits:
        return "rising-logits";
    case Distribution::alternating_rows:
        return "alternating-rows";
    case Distribution::sink_flat_tail:
        return "sink-flat-tail";
    case Distribution::full_range:
        return "full-range";
    }
    return "unknown";
}

Distribution distribution_named(std::string_view name) {
    std::string names;
    for (const Distribution distribution : distributions) {
        if (name == to_string(distribution))
            return distribution;
        names += (names.empty() ? "" : ", ") + std::string(to_string(distribution));
    }
    throw Error(ErrorCode::invalid_argument, "distribution",
                "\"" + std::string(name.substr(0, 80)) + "\"; accepted: " + names);
}

float quantise_e4m3(std::span<const float> values, std::span<std::uint8_t> codes) {
    float largest = 0;
    for (const float value : values)
        if (std::isfinite(value))
            largest = std::max(largest, std::fabs(value));
    int exponent = 0; // the largest n with largest * 2^n <= 448
    if (largest > 0) {
        exponent = static_cast<int>(std::floor(std::log2(448.0 / static_cast<double>(largest))));
        exponent = std::clamp(exponent, -120, 120);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        codes[i] = float_to_e4m3(std::ldexp(values[i], exponent));
    return std::ldexp(1.0f, -exponent);
}

DrawnInputs draw_inputs(const Problem& problem, Distribution distribution, std::uint64_t seed) {
    if (problem.dtype != DType::bf16 && problem.dtype != DType::e4m3)
        throw Error(ErrorCode::unsupported, "dtype",
                    std::string(to_string(problem.dtype)) + "; accepted: bf16, e4m3");
    if (problem.dim_qk < 2 * bias_channels)
        throw Error(ErrorCode::invalid_argument, "dim_qk",
                    std::to_string(problem.dim_qk) + "; accepted: at least 8");
    const Drawing drawing{problem, distribution, seed};
    DrawnInputs result;
    result.q = draw_tensor(drawing, tensor_q, problem.q, problem.heads_q, problem.seq_q, problem.dim_qk,
                           result.q_descale);
    result.k = draw_tensor(drawing, tensor_k, problem.k, problem.heads_kv, problem.seq_kv, problem.dim_qk,
                           result.k_descale);
    result.v = draw_tensor(drawing, tensor_v, problem.v, problem.heads_kv, problem.seq_kv, problem.dim_v,
                           result.v_descale);
    return result;
}

} // namespace zyfa
