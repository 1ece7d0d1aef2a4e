// SPDX-License-Identifier: Apache-2.0
// Every row is compared: a foreign kernel has no accuracy gate behind it.
#include "cli/attention_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>
#include <thread>

#include <fmt/core.h>

#include "tuner/tensor_layout.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

constexpr std::int64_t emulated_rows = 128;

std::span<const std::byte> tensor_bytes(const char* name, const TensorPlace& place,
                                        const tuner::TensorLayout& layout,
                                        std::span<const std::byte> buffer) {
    if (place.offset > buffer.size() || layout.extent_bytes() > buffer.size() - place.offset) {
        throw Error(ErrorCode::invalid_argument, std::string("attention.") + name,
                    fmt::format("{} bytes from byte {} on, but buffer '{}' has {}", layout.extent_bytes(),
                                place.offset, place.buffer, buffer.size()));
    }
    return buffer.subspan(place.offset, layout.extent_bytes());
}

template <class T>
T read(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

double worse(double a, double b) {
    return std::isnan(a) || a > b ? a : b;
}

/// found - wanted; 0 where both are the same infinity or both NaN: a row whose inputs hold such values.
double difference_of(double found, double wanted) {
    return found == wanted || (std::isnan(found) && std::isnan(wanted)) ? 0 : found - wanted;
}

/// One row as flash attention kernels compute it, written from its definition: scores and exponentials in
/// FP32, the row's maximum known, P rounded to `type`, the row sum of the unrounded p, O rounded to BF16.
std::vector<double> emulate_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                                std::int64_t head, std::int64_t row, ElementType type) {
    const bool fp8 = problem.dtype == DType::e4m3;
    const auto element = [fp8](std::span<const std::byte> bytes, std::size_t offset, std::size_t i) {
        return fp8 ? e4m3_to_float(read<std::uint8_t>(bytes, offset + i))
                   : bf16_to_float(read<std::uint16_t>(bytes, offset + 2 * i));
    };
    const std::int64_t kv_head = head / (problem.heads_q / problem.heads_kv);
    const std::size_t q_row = tuner::layout_q(problem).row_offset(batch, head, row);
    const std::size_t dim_qk = static_cast<std::size_t>(problem.dim_qk);
    const float scale =
        problem.softmax_scale * problem.q_descale * problem.k_descale * std::numbers::log2e_v<float>;
    std::vector<float> scores;
    for (std::int64_t key = 0; key < problem.seq_kv; ++key) {
        if (problem.mask == Mask::causal && key > row + problem.seq_kv - problem.seq_q) {
            break;
        }
        const std::size_t k_row = tuner::layout_k(problem).row_offset(batch, kv_head, key);
        double sum = 0;
        for (std::size_t d = 0; d < dim_qk; ++d) {
            sum += static_cast<double>(element(tensors.q, q_row, d)) * element(tensors.k, k_row, d);
        }
        scores.push_back(static_cast<float>(sum));
    }
    std::vector<double> o(static_cast<std::size_t>(problem.dim_v), 0.0);
    if (scores.empty()) {
        return o;
    }
    const float maximum = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
        const float p = std::exp2((scores[j] - maximum) * scale);
        sum += p;
        const float rounded =
            type == ElementType::bf16 ? bf16_to_float(float_to_bf16(p)) : e4m3_to_float(float_to_e4m3(p));
        const std::size_t v_row =
            tuner::layout_v(problem).row_offset(batch, kv_head, static_cast<std::int64_t>(j));
        for (std::size_t d = 0; d < o.size(); ++d) {
            o[d] += static_cast<double>(rounded) * element(tensors.v, v_row, d);
        }
    }
    for (double& value : o) {
        value = bf16_to_float(float_to_bf16(static_cast<float>(value * problem.v_descale / sum)));
    }
    return o;
}

/// Errors on some 128 rows: of the kernel, and of the emulation.
class Emulation {
  public:
    Emulation(const Problem& problem, const HostTensors& tensors, std::optional<ElementType> type)
        : problem_(problem), tensors_(tensors), type_(type),
          every_(std::max<std::int64_t>(1, problem.batch * problem.heads_q * problem.seq_q / emulated_rows)) {
    }

    void row(std::int64_t batch, std::int64_t head, std::int64_t row, std::span<const double> expected,
             double kernel_error) {
        if (!type_ || seen_++ % every_ != every_ / 2) {
            return;
        }
        kernel_error_ += kernel_error;
        const std::vector<double> o = emulate_row(problem_, tensors_, batch, head, row, *type_);
        for (std::size_t d = 0; d < o.size(); ++d) {
            const double difference = difference_of(o[d], expected[d]);
            squared_error_ += difference * difference;
            if (std::isfinite(expected[d]))
                squared_ += expected[d] * expected[d];
        }
    }
    double relative_rms() const { return squared_ > 0 ? std::sqrt(squared_error_ / squared_) : 0; }
    double kernel_relative_rms() const { return squared_ > 0 ? std::sqrt(kernel_error_ / squared_) : 0; }

  private:
    const Problem& problem_;
    const HostTensors& tensors_;
    std::optional<ElementType> type_;
    std::int64_t every_, seen_ = 0;
    double kernel_error_ = 0, squared_error_ = 0, squared_ = 0;
};

} // namespace

AttentionResult check_attention(const AttentionSpec& spec, const std::map<std::string, Content>& inputs,
                                const std::map<std::string, std::vector<std::byte>>& outputs) {
    Problem problem = spec.problem;
    if (problem.dtype == DType::e4m3) {
        problem.q_descale = static_cast<float>(inputs.at(spec.q.buffer).descale);
        problem.k_descale = static_cast<float>(inputs.at(spec.k.buffer).descale);
        problem.v_descale = static_cast<float>(inputs.at(spec.v.buffer).descale);
    }
    const auto input = [&](const char* name, const TensorPlace& place, const tuner::TensorLayout& layout) {
        return tensor_bytes(name, place, layout, inputs.at(place.buffer).bytes);
    };
    const HostTensors tensors{.q = input("q", spec.q, tuner::layout_q(problem)),
                              .k = input("k", spec.k, tuner::layout_k(problem)),
                              .v = input("v", spec.v, tuner::layout_v(problem))};
    const tuner::TensorLayout layout = tuner::layout_o(problem);
    const std::span<const std::byte> o = tensor_bytes("o", spec.o, layout, outputs.at(spec.o.buffer));
    const tuner::TensorLayout lse_layout = problem.lse ? tuner::layout_lse(problem) : tuner::TensorLayout{};
    const std::span<const std::byte> lse =
        problem.lse ? tensor_bytes("lse", spec.lse, lse_layout, outputs.at(spec.lse.buffer))
                    : std::span<const std::byte>{};

    AttentionResult result;
    Emulation emulation(problem, tensors, spec.probabilities);
    const std::size_t rows = static_cast<std::size_t>(problem.seq_q),
                      dim = static_cast<std::size_t>(problem.dim_v);
    std::vector<double> expected(rows * dim), expected_lse(rows);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    double squared_error = 0, squared = 0, worst = -1;
    for (std::int64_t b = 0; b < problem.batch; ++b) {
        for (std::int64_t h = 0; h < problem.heads_q; ++h) {
            reference_head(problem, tensors, b, h, expected, expected_lse, threads);
            for (std::size_t s = 0; s < rows; ++s) {
                const std::int64_t row = static_cast<std::int64_t>(s);
                const std::span<const double> wanted = std::span(expected).subspan(s * dim, dim);
                const std::size_t offset = layout.row_offset(b, h, row);
                double row_error = 0, row_squared = 0;
                for (std::size_t d = 0; d < dim; ++d) {
                    const double found = bf16_to_float(read<std::uint16_t>(o, offset + 2 * d));
                    const double difference = difference_of(found, wanted[d]);
                    row_error += difference * difference;
                    if (std::isfinite(wanted[d]))
                        row_squared += wanted[d] * wanted[d];
                    result.error.max_abs = worse(result.error.max_abs, std::fabs(difference));
                }
                squared_error += row_error;
                squared += row_squared;
                const double relative = row_error > 0 ? std::sqrt(row_error / row_squared) : row_error;
                if (!(relative <= worst)) {
                    worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
                    result.batch = b;
                    result.head = h;
                    result.row = row;
                }
                emulation.row(b, h, row, wanted, row_error);
                if (problem.lse) {
                    const double found = read<float>(lse, lse_layout.row_offset(b, h, 0) + sizeof(float) * s);
                    // -inf where no key is visible, +inf or NaN where a score is.
                    result.error.lse_max_abs =
                        worse(result.error.lse_max_abs, std::fabs(difference_of(found, expected_lse[s])));
                }
            }
        }
    }
    result.error.relative_rms = squared_error == 0 ? 0 : std::sqrt(squared_error / squared);
    result.error.snr_db = -20 * std::log10(result.error.relative_rms);
    result.row_relative_rms = worst;
    result.emulation_relative_rms = emulation.relative_rms();
    result.emulated_rows_relative_rms = emulation.kernel_relative_rms();

    const auto hold = [&](const char* name, double value, double accepted) {
        if (result.passed && !(value <= accepted)) { // a NaN fails
            result.passed = false;
            result.message = fmt::format("{} is {:.4g}, accepted is {:.4g}", name, value, accepted);
        }
    };
    hold("relative_rms", result.error.relative_rms, spec.relative_rms);
    if (spec.row_relative_rms > 0) {
        hold("row_relative_rms", result.row_relative_rms, spec.row_relative_rms);
    }
    if (problem.lse) {
        hold("lse_max_abs", result.error.lse_max_abs, spec.lse_max_abs);
    }
    return result;
}

} // namespace zyfa::cli
