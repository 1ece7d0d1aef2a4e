// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/score.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>
#include <thread>

#include "core/error_sums.hpp"

namespace zyfa::accuracy {

namespace {

std::vector<float> decoded(std::span<const std::byte> codes, std::size_t first, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = e4m3_to_float(static_cast<std::uint8_t>(codes[first + i]));
    return values;
}

/// 2^(x + 6) by the line between powers of two (paper Section IV-B, sigma 6, beta 0.35), over 2^6.
float lean_probability(double x) {
    const double code = std::clamp(std::nearbyint(8 * (x + 6 + 7) - 0.35), 0.0, 126.0);
    return e4m3_to_float(static_cast<std::uint8_t>(code)) / 64;
}

} // namespace

Exact exact(const Problem& problem, const HostTensors& tensors) {
    const auto heads = static_cast<std::size_t>(problem.heads_q),
               rows = static_cast<std::size_t>(problem.seq_q), dim = static_cast<std::size_t>(problem.dim_v);
    Exact out;
    out.o.resize(heads * rows * dim);
    out.lse.resize(heads * rows);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    for (std::size_t h = 0; h < heads; ++h)
        reference_head(problem, tensors, 0, static_cast<std::int64_t>(h),
                       std::span(out.o).subspan(h * rows * dim, rows * dim),
                       std::span(out.lse).subspan(h * rows, rows), threads);
    return out;
}

ErrorSummary error_of(const Output& output, const Exact& wanted) {
    ErrorSums sums;
    for (std::size_t i = 0; i < wanted.o.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, output.o.data() + 2 * i, sizeof bits);
        sums.element(bf16_to_float(bits), wanted.o[i]);
    }
    for (std::size_t i = 0; i < wanted.lse.size(); ++i) {
        float found = 0;
        std::memcpy(&found, output.lse.data() + sizeof found * i, sizeof found);
        sums.lse(found, wanted.lse[i]);
    }
    return sums.summary();
}

double relative_rms(const Exact& found, const Exact& wanted) {
    ErrorSums sums;
    for (std::size_t i = 0; i < wanted.o.size(); ++i)
        sums.element(found.o[i], wanted.o[i]);
    return sums.summary().relative_rms;
}

ErrorSummary emulation(const Codes& codes, const Exact& wanted, Unscaled kind) {
    const Problem& p = codes.problem;
    const auto rows = static_cast<std::size_t>(p.seq_q), dim_qk = static_cast<std::size_t>(p.dim_qk),
               dim_v = static_cast<std::size_t>(p.dim_v);
    const auto group = static_cast<std::size_t>(p.heads_q / p.heads_kv);
    const double scale = static_cast<double>(p.softmax_scale) * p.q_descale * p.k_descale;
    ErrorSums sums;
    std::vector<double> scores(rows), o(dim_v);
    for (std::size_t h = 0; h < static_cast<std::size_t>(p.heads_q); ++h) {
        const std::vector<float> q = decoded(codes.q, h * rows * dim_qk, rows * dim_qk),
                                 k = decoded(codes.k, h / group * rows * dim_qk, rows * dim_qk),
                                 v = decoded(codes.v, h / group * rows * dim_v, rows * dim_v);
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                float dot = 0; // products of codes add up exactly enough in FP32, as on the matrix unit
                for (std::size_t d = 0; d < dim_qk; ++d)
                    dot += q[i * dim_qk + d] * k[j * dim_qk + d];
                scores[j] = scale * static_cast<double>(dot);
            }
            const double maximum =
                *std::max_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            double sum = 0;
            std::fill(o.begin(), o.end(), 0.0);
            for (std::size_t j = 0; j <= i; ++j) {
                const double x = scores[j] - maximum;
                const float rounded = kind == Unscaled::plain
                                          ? e4m3_to_float(float_to_e4m3(static_cast<float>(std::exp(x))))
                                          : lean_probability(x * std::numbers::log2e);
                sum += kind == Unscaled::plain ? std::exp(x) : static_cast<double>(rounded);
                if (rounded != 0)
                    for (std::size_t d = 0; d < dim_v; ++d)
                        o[d] += static_cast<double>(rounded * v[j * dim_v + d]);
            }
            const std::size_t row = h * rows + i;
            for (std::size_t d = 0; d < dim_v; ++d) {
                const auto value = static_cast<float>(o[d] * static_cast<double>(p.v_descale) / sum);
                sums.element(bf16_to_float(float_to_bf16(value)), wanted.o[row * dim_v + d]);
            }
            sums.lse(maximum + std::log(sum), wanted.lse[row]);
        }
    }
    return sums.summary();
}

} // namespace zyfa::accuracy
