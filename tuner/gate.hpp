// SPDX-License-Identifier: Apache-2.0
// The accuracy gate: sampled rows of a candidate's output against fp64, with limits that come from a plain
// emulation of the same arithmetic on the same rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "core/reference.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::tuner {

struct GateRow {
    std::int64_t batch = 0, head = 0, row = 0;
    bool operator==(const GateRow&) const = default;
};

/// At most `count` distinct rows: first and last of the first and the last head, both sides of the tile edges
/// (32, 64, 128, 256 rows; the last tile's edge; the first row that sees a key), then random ones over all
/// batches and heads.
std::vector<GateRow> sample_rows(const Problem& problem, std::size_t count, std::uint64_t seed = 1);

/// Limits of the gate; the defaults are those of BF16.
struct GateLimits {
    /// Relative RMS error over the rows, against that of the emulation: once pooled over all elements, where
    /// the rows with the largest outputs (causal rows that see few keys) decide, and once as the mean over
    /// rows.
    double rms_ratio = 1.25;
    /// Per element: |error| <= ulps * ulp_bf16(reference) + row_share * max|O| of the row. BF16 probabilities
    /// carry rounding errors of up to 2^-8 each, independent over the keys; with weights w_j they leave an
    /// error of SD at most 0.42 * 2^-8 * SD(V) * sqrt(sum w_j^2) in O, where O itself spreads by SD(V) *
    /// sqrt(sum w_j^2) and the largest of a row's 128 elements lies 2.5 to 3 of its SDs out. The largest of
    /// some 6,000 sampled errors (4 to 4.5 SDs) is then about 0.7 * 2^-8 * max|O|; 2^-7 leaves a factor of
    /// three. One key too many or too few among n changes O by about max|O| / (3 sqrt n).
    double ulps = 2, row_share = 0x1p-7;
    /// |LSE error| <= lse + lse_relative * |LSE|. The row sum is that of the unrounded probabilities, so that
    /// its error is FP32's: the exponential's 1 ulp, and the scores' own rounding, which grows with them (128
    /// products).
    double lse = 1e-3, lse_relative = 0x1p-17;
};

/// The limits for a problem: BF16's as above; FP8's are wider, as its probabilities are coarser.
GateLimits gate_limits(const Problem& problem);

/// fp64 results and the emulation's error on the sampled rows; computed once, used for all candidates.
class GateReference {
  public:
    GateReference(const Problem& problem, const HostTensors& inputs, std::vector<GateRow> rows);

    struct Row {
        GateRow where;
        ReferenceRow expected;
        double largest = 0; ///< max |O| of the row
    };
    const Problem& problem() const noexcept { return problem_; }
    const std::vector<Row>& rows() const noexcept { return rows_; }
    /// Of the plain emulation; FP8: the largest over the maxima that a row may have been computed with.
    struct RelativeRms {
        double pooled = 0, by_row = 0;
    };
    const RelativeRms& emulation() const noexcept { return emulation_; }
    double emulation_relative_rms() const noexcept { return emulation_.pooled; }
    /// Largest relative RMS error that passes, for one of the emulation's.
    double rms_limit(const GateLimits& limits, double emulation) const;

  private:
    Problem problem_;
    std::vector<Row> rows_;
    RelativeRms emulation_;
};

/// Fills the accuracy fields of `measurement`; where a limit is broken, also its status (`wrong`) and
/// message, which names the first element at fault. `o` holds the output tensor's bytes from its base, `lse`
/// likewise (empty where the problem has none). Returns whether the rows pass.
bool check_rows(const GateReference& reference, const GateLimits& limits, std::span<const std::byte> o,
                std::span<const std::byte> lse, Measurement& measurement);

} // namespace zyfa::tuner
