// SPDX-License-Identifier: Apache-2.0
// The one fp64 attention reference. Its mask is written from the definition (a list of visible keys per row),
// and shares no code with any kernel or template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "zyfa/problem.hpp"

namespace zyfa {

/// One query row's result in fp64.
struct ReferenceRow {
    std::vector<double> o; ///< dim_v values
    double lse = 0;        ///< natural logarithm; -inf where no key is visible
};

/// Host memory of the tensors, as the kernel receives them (BF16 or e4m3 codes; strides of the problem).
struct HostTensors {
    std::span<const std::byte> q, k, v;
};

float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value); ///< round to nearest even; NaN quieted
float e4m3_to_float(std::uint8_t code);   ///< OCP E4M3
std::uint8_t float_to_e4m3(float value);  ///< round to nearest even, saturating at 448; NaN stays NaN

/// fp64 attention of one row on the quantised inputs, descales applied.
ReferenceRow reference_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                           std::int64_t head, std::int64_t row);

/// All rows of one head: O as [Sq, dim_v] and LSE as [Sq]. Blocked and threaded; agrees with reference_row to
/// fp64 rounding.
void reference_head(const Problem& problem, const HostTensors& tensors, std::int64_t batch, std::int64_t head,
                    std::span<double> o, std::span<double> lse, unsigned threads = 1);

/// A plain emulation of the kernels' BF16 arithmetic (P rounded to BF16, row sum of unrounded p, exact
/// maximum, O rounded to BF16): what the accuracy gate compares a kernel's error with.
ReferenceRow emulate_bf16_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                              std::int64_t head, std::int64_t row);

/// What the probabilities of a row are relative to: its maximum, or the maximum of the blocks of 128 keys so
/// far, taken anew where it has grown by more than 2.75 base-2 units (the largest tau of the FP8 schedules'
/// grid), from the first block on or from the last one.
enum class AppliedMaximum : std::uint8_t { exact, lazy_forwards, lazy_backwards };

/// The same of the FP8 kernels' arithmetic (paper Section IV-B): per 64 keys a power of two, probabilities
/// rounded to e4m3 with shift 6, by the exponential or by the line between powers of two (bias 0.35), row sum
/// of the rounded ones, O rounded to BF16. Its LSE is that of the rounded probabilities.
ReferenceRow emulate_fp8_row(const Problem& problem, const HostTensors& tensors, std::int64_t batch,
                             std::int64_t head, std::int64_t row, Probability probability,
                             AppliedMaximum applied = AppliedMaximum::exact);

/// relative RMS = sqrt(sum (a-b)^2 / sum b^2), SNR = -20 log10 of it.
struct ErrorSummary {
    double relative_rms = 0, max_abs = 0, snr_db = 0, lse_max_abs = 0;
};

} // namespace zyfa
