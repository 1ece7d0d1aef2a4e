// SPDX-License-Identifier: Apache-2.0
// Row sampling and the comparison with fp64.
#include "tuner/gate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "tuner/tensor_layout.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// Distance between neighbouring BF16 values around x (8 significant bits, least exponent -126).
double ulp_bf16(double x) {
    int exponent = -126;
    if (x != 0 && std::isfinite(x))
        exponent = std::max(std::ilogb(x), -126);
    return std::ldexp(1.0, exponent - 7);
}

std::string place(const GateRow& at) {
    return "b=" + std::to_string(at.batch) + " h=" + std::to_string(at.head) +
           " row=" + std::to_string(at.row);
}

/// sqrt(sum (a-b)^2 / sum b^2) over all elements, and the quadratic mean of the same over rows.
class RmsSum {
  public:
    void add(double value, double reference) {
        row_error_ += (value - reference) * (value - reference);
        row_norm_ += reference * reference;
    }
    void end_row() {
        error_ += row_error_;
        norm_ += row_norm_;
        by_row_ += ratio(row_error_, row_norm_);
        ++rows_;
        row_error_ = row_norm_ = 0;
    }
    GateReference::RelativeRms value() const {
        return {std::sqrt(ratio(error_, norm_)), rows_ ? std::sqrt(by_row_ / rows_) : 0};
    }

  private:
    static double ratio(double error, double norm) {
        if (norm > 0)
            return error / norm;
        return error > 0 ? std::numeric_limits<double>::infinity() : 0;
    }
    double error_ = 0, norm_ = 0, row_error_ = 0, row_norm_ = 0, by_row_ = 0, rows_ = 0;
};

/// Exact only where asked for: an exact kernel passes lean P's limits, and lean is what the call may choose.
bool lean(const Problem& problem) {
    return problem.probability == Probability::lean ||
           (problem.probability == Probability::automatic && problem.dim_qk == 128);
}

/// One row by each way to compute it that the gate allows. Where scores are nearly alike, it is the maximum
/// that says on which side of a boundary between two e4m3 codes their probabilities lie; so FP8's are
/// computed relative to the exact maximum and to the stale ones of both key orders.
std::vector<ReferenceRow> emulate(const Problem& problem, const HostTensors& inputs, const GateRow& at) {
    if (problem.dtype == DType::bf16)
        return {emulate_bf16_row(problem, inputs, at.batch, at.head, at.row)};
    std::vector<ReferenceRow> rows;
    for (const AppliedMaximum applied :
         {AppliedMaximum::exact, AppliedMaximum::lazy_forwards, AppliedMaximum::lazy_backwards})
        rows.push_back(emulate_fp8_row(problem, inputs, at.batch, at.head, at.row,
                                       lean(problem) ? Probability::lean : Probability::exact, applied));
    return rows;
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

} // namespace

GateLimits gate_limits(const Problem& problem) {
    GateLimits limits;
    if (problem.dtype == DType::bf16)
        return limits;
    // A rounded probability is off by up to 7.5% (lean) or 5.9% (exact; paper Section IV-B), against BF16's
    // 2^-8; the same factor of two as there.
    limits.row_share = lean(problem) ? 0.15 : 0.12;
    // LSE is that of the rounded probabilities.
    limits.lse = lean(problem) ? 0.045 : 0.03;
    return limits;
}

std::vector<GateRow> sample_rows(const Problem& problem, std::size_t count, std::uint64_t seed) {
    std::vector<GateRow> rows;
    const auto heads = static_cast<std::uint64_t>(problem.heads_q),
               batches = static_cast<std::uint64_t>(problem.batch),
               length = static_cast<std::uint64_t>(problem.seq_q);
    const std::uint64_t all = heads * batches * length;
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, all));
    if (count == all) {
        for (std::int64_t b = 0; b < problem.batch; ++b)
            for (std::int64_t h = 0; h < problem.heads_q; ++h)
                for (std::int64_t s = 0; s < problem.seq_q; ++s)
                    rows.push_back({b, h, s});
        return rows;
    }
    const auto add = [&](std::int64_t b, std::int64_t h, std::int64_t s) {
        const GateRow row{b, h, s};
        if (s >= 0 && s < problem.seq_q && rows.size() < count &&
            std::find(rows.begin(), rows.end(), row) == rows.end())
            rows.push_back(row);
    };
    const std::int64_t last = problem.seq_q - 1;
    for (const std::int64_t row : {std::int64_t{0}, last}) {
        add(0, 0, row);
        add(problem.batch - 1, problem.heads_q - 1, row);
    }
    std::mt19937_64 random(seed);
    const auto anywhere = [&](std::int64_t row) {
        const std::uint64_t plane = random() % (heads * batches);
        add(static_cast<std::int64_t>(plane / heads), static_cast<std::int64_t>(plane % heads), row);
    };
    const std::int64_t first_seeing = problem.mask == Mask::causal ? problem.seq_q - problem.seq_kv : 0;
    for (const std::int64_t edge : {std::int64_t{256}, std::int64_t{128}, std::int64_t{32}, std::int64_t{64},
                                    last / 256 * 256, last / 128 * 128, first_seeing}) {
        anywhere(edge - 1);
        anywhere(edge);
    }
    while (rows.size() < count)
        anywhere(static_cast<std::int64_t>(random() % length));
    return rows;
}

GateReference::GateReference(const Problem& problem, const HostTensors& inputs, std::vector<GateRow> rows)
    : problem_(problem) {
    std::vector<RmsSum> emulated;
    rows_.reserve(rows.size());
    for (const GateRow& at : rows) {
        Row row{at, reference_row(problem, inputs, at.batch, at.head, at.row), 0};
        const std::vector<ReferenceRow> plain = emulate(problem, inputs, at);
        emulated.resize(plain.size());
        for (std::size_t d = 0; d < row.expected.o.size(); ++d) {
            if (std::isfinite(row.expected.o[d])) {
                row.largest = std::max(row.largest, std::abs(row.expected.o[d]));
                for (std::size_t i = 0; i < plain.size(); ++i)
                    emulated[i].add(plain[i].o[d], row.expected.o[d]);
            }
        }
        for (RmsSum& sum : emulated)
            sum.end_row();
        rows_.push_back(std::move(row));
    }
    for (const RmsSum& sum : emulated) {
        emulation_.pooled = std::max(emulation_.pooled, sum.value().pooled);
        emulation_.by_row = std::max(emulation_.by_row, sum.value().by_row);
    }
}

double GateReference::rms_limit(const GateLimits& limits, double emulation) const {
    // The emulation's error is itself an estimate from the sampled elements. Where a problem has few (one row
    // of one head: 128), the ratio of two such estimates spreads by about 1/sqrt(elements); four of these are
    // allowed for. From 1,024 elements on the limit is the plain ratio.
    const double elements = static_cast<double>(rows_.size()) * static_cast<double>(problem_.dim_v);
    const double allowance = elements < 1024 ? 1 + 4 / std::sqrt(elements) : 1;
    // An output that BF16 holds exactly (one visible key) leaves the emulation without any error; FP32's
    // rounding is still allowed.
    return limits.rms_ratio * allowance * std::max(emulation, 0x1p-20);
}

bool check_rows(const GateReference& reference, const GateLimits& limits, std::span<const std::byte> o,
                std::span<const std::byte> lse, Measurement& measurement) {
    const TensorLayout o_layout = layout_o(reference.problem()), lse_layout = layout_lse(reference.problem());
    RmsSum error;
    std::optional<std::string> fault;
    measurement.gate_rows = static_cast<std::uint32_t>(reference.rows().size());
    measurement.emulation_relative_rms = reference.emulation().pooled;
    measurement.max_abs = measurement.lse_max_abs = 0;

    for (const GateReference::Row& row : reference.rows()) {
        const GateRow& at = row.where;
        const std::byte* bytes = o.data() + o_layout.row_offset(at.batch, at.head, at.row);
        for (std::size_t d = 0; d < row.expected.o.size(); ++d) {
            std::uint16_t bits = 0;
            std::memcpy(&bits, bytes + 2 * d, sizeof bits);
            const double got = bf16_to_float(bits), wanted = row.expected.o[d];
            if (std::isnan(wanted) && std::isnan(got))
                continue;
            if (std::isfinite(wanted) && std::isfinite(got)) {
                error.add(got, wanted);
                measurement.max_abs = std::max(measurement.max_abs, std::abs(got - wanted));
            }
            const double limit = limits.ulps * ulp_bf16(wanted) + limits.row_share * row.largest;
            const bool same = got == wanted || std::abs(got - wanted) <= (row.largest == 0 ? 0.0 : limit);
            if (!same && !fault)
                fault = "O at " + place(at) + " column=" + std::to_string(d) + " is " + number(got) +
                        ", fp64 says " + number(wanted) + " (allowed: " + number(limit) + ")";
        }
        error.end_row();
        if (!reference.problem().lse)
            continue;
        float got = 0;
        std::memcpy(&got,
                    lse.data() + lse_layout.row_offset(at.batch, at.head, 0) +
                        4 * static_cast<std::size_t>(at.row),
                    sizeof got);
        const double wanted = row.expected.lse;
        if ((std::isnan(wanted) && std::isnan(got)) || static_cast<double>(got) == wanted)
            continue;
        const double difference = std::abs(static_cast<double>(got) - wanted);
        if (std::isfinite(difference))
            measurement.lse_max_abs = std::max(measurement.lse_max_abs, difference);
        const double limit = limits.lse + limits.lse_relative * std::abs(wanted);
        if ((!std::isfinite(wanted) || !(difference <= limit)) && !fault)
            fault = "LSE at " + place(at) + " is " + number(got) + ", fp64 says " + number(wanted) +
                    " (allowed: " + number(limit) + ")";
    }
    const GateReference::RelativeRms rms = error.value();
    measurement.relative_rms = rms.pooled;
    const auto check_rms = [&](const char* kind, double value, double emulation) {
        const double limit = reference.rms_limit(limits, emulation);
        if (!fault && !(value <= limit))
            fault = std::string("relative RMS error ") + kind + " " + std::to_string(measurement.gate_rows) +
                    " rows is " + number(value) + "; the plain emulation's is " + number(emulation) +
                    ", allowed is " + number(limit);
    };
    check_rms("over", rms.pooled, reference.emulation().pooled);
    check_rms("by row, over", rms.by_row, reference.emulation().by_row);
    if (!fault)
        return true;
    measurement.status = CandidateStatus::wrong;
    measurement.message = *fault;
    return false;
}

} // namespace zyfa::tuner
