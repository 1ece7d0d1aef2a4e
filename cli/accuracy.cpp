// SPDX-License-Identifier: Apache-2.0
#include "cli/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "cli/problem_flags.hpp"
#include "core/error_sums.hpp"
#include "tuner/gate.hpp"
#include "tuner/guarded_tensor.hpp"
#include "tuner/hard_rows.hpp"

namespace zyfa::cli {

namespace {

// The fp64 reference reaches some 1e9 operations per second and core; above this, rows are sampled.
constexpr double all_rows_flops = 2e10;
constexpr std::size_t sampled_rows = 256;

template <class T>
T read_element(std::span<const std::byte> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

ErrorSummary all_heads(const Problem& problem, const HostTensors& inputs, std::span<const std::byte> o,
                       std::span<const std::byte> lse,
                       const std::function<void(std::size_t, std::size_t)>& progress) {
    const tuner::TensorLayout layout = tuner::layout_o(problem), lse_layout = tuner::layout_lse(problem);
    const std::size_t rows = static_cast<std::size_t>(problem.seq_q),
                      dim = static_cast<std::size_t>(problem.dim_v);
    std::vector<double> expected(rows * dim), expected_lse(rows);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t heads = static_cast<std::size_t>(problem.batch * problem.heads_q);
    ErrorSums sums;
    for (std::int64_t b = 0; b < problem.batch; ++b) {
        for (std::int64_t h = 0; h < problem.heads_q; ++h) {
            progress(static_cast<std::size_t>(b * problem.heads_q + h), heads);
            reference_head(problem, inputs, b, h, expected, expected_lse, threads);
            for (std::size_t s = 0; s < rows; ++s) {
                const std::size_t row = layout.row_offset(b, h, static_cast<std::int64_t>(s));
                for (std::size_t d = 0; d < dim; ++d) {
                    sums.element(bf16_to_float(read_element<std::uint16_t>(o, row + 2 * d)),
                                 expected[s * dim + d]);
                }
                if (problem.lse) {
                    const std::size_t at = lse_layout.row_offset(b, h, 0) + sizeof(float) * s;
                    sums.lse(read_element<float>(lse, at), expected_lse[s]);
                }
            }
        }
    }
    progress(heads, heads);
    return sums.summary();
}

} // namespace

Accuracy measure_accuracy(const Problem& problem, const HostTensors& inputs, std::span<const std::byte> o,
                          std::span<const std::byte> lse, Check check,
                          const std::function<void(std::size_t, std::size_t)>& progress) {
    Accuracy accuracy;
    accuracy.of = problem.batch * problem.heads_q * problem.seq_q;
    // The verdict is the tuner's gate on sampled rows, so that the tool accepts what the tuner accepts.
    const tuner::GateReference reference(problem, inputs, tuner::gate_rows(problem, inputs, sampled_rows));
    Measurement measurement;
    accuracy.passed = tuner::check_rows(reference, tuner::gate_limits(problem), o, lse, measurement);
    accuracy.message = measurement.message;
    accuracy.gate_rows = reference.rows().size();
    accuracy.gate_relative_rms = measurement.relative_rms;
    accuracy.emulation_relative_rms = reference.emulation_relative_rms();
    if (check == Check::all || (check == Check::automatic && flops(problem) <= all_rows_flops)) {
        accuracy.rows = accuracy.of;
        accuracy.error = all_heads(problem, inputs, o, lse, progress);
    } else {
        accuracy.rows = static_cast<std::int64_t>(reference.rows().size());
        accuracy.error = {.relative_rms = measurement.relative_rms,
                          .max_abs = measurement.max_abs,
                          .snr_db = -20 * std::log10(measurement.relative_rms),
                          .lse_max_abs = measurement.lse_max_abs};
    }
    return accuracy;
}

} // namespace zyfa::cli
