// SPDX-License-Identifier: Apache-2.0
// The gate passes a plain emulation of the kernels' arithmetic, and catches the mistakes that kernels make.
#include "tuner/gate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "tuner/hard_rows.hpp"
#include "tuner/inputs.hpp"
#include "tuner/tensor_layout.hpp"

using namespace zyfa;
using namespace zyfa::tuner;

namespace {

/// Output tensors as a kernel would leave them, row by row from the emulation.
struct Output {
    std::vector<std::byte> o, lse;
};

class Gate {
  public:
    explicit Gate(const Problem& asked, Distribution distribution = Distribution::gaussian,
                  std::size_t rows = 48)
        : problem(asked), inputs(drawn_inputs(asked, distribution)),
          reference(asked, view(inputs), sample_rows(asked, rows)) {}

    Output emulated() const { return emulated(problem); }

    /// What a kernel that takes the problem for `wrong` would give.
    Output emulated(const Problem& wrong) const {
        Output output;
        output.o.resize(layout_o(problem).extent_bytes());
        output.lse.resize(problem.lse ? layout_lse(problem).extent_bytes() : 0);
        for (std::int64_t b = 0; b < problem.batch; ++b)
            for (std::int64_t h = 0; h < problem.heads_q; ++h)
                for (std::int64_t s = 0; s < problem.seq_q; ++s) {
                    const ReferenceRow row = emulate_bf16_row(wrong, view(inputs), b, h, s);
                    set(output, b, h, s, row);
                }
        return output;
    }

    void set(Output& output, std::int64_t b, std::int64_t h, std::int64_t s, const ReferenceRow& row) const {
        std::byte* to = output.o.data() + layout_o(problem).row_offset(b, h, s);
        for (const double value : row.o) {
            const std::uint16_t bits = float_to_bf16(static_cast<float>(value));
            std::memcpy(to, &bits, 2);
            to += 2;
        }
        if (!problem.lse)
            return;
        const auto lse = static_cast<float>(row.lse);
        std::memcpy(output.lse.data() + layout_lse(problem).row_offset(b, h, 0) +
                        4 * static_cast<std::size_t>(s),
                    &lse, 4);
    }

    Measurement check(const Output& output) const {
        Measurement measurement;
        const bool passes = check_rows(reference, {}, output.o, output.lse, measurement);
        CHECK(passes == (measurement.status == CandidateStatus::measured));
        return measurement;
    }

    Problem problem;
    TuningInputs inputs;
    GateReference reference;
};

Problem small(std::int64_t seq_q, std::int64_t seq_kv, Mask mask = Mask::causal, std::int64_t heads = 2,
              std::int64_t batch = 1) {
    return Problem::contiguous(DType::bf16, batch, heads, 1, seq_q, seq_kv, 128, 128, mask);
}

} // namespace

TEST_CASE("sampled rows hold the hard ones, all differ, and lie in range") {
    const Problem problem = small(700, 700, Mask::causal, 4, 3);
    const std::vector<GateRow> rows = sample_rows(problem, 48);
    CHECK(rows.size() == 48);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> distinct;
    std::set<std::int64_t> numbers, heads, batches;
    for (const GateRow& row : rows) {
        distinct.insert({row.batch, row.head, row.row});
        numbers.insert(row.row);
        heads.insert(row.head);
        batches.insert(row.batch);
        CHECK(row.row < 700);
    }
    CHECK(distinct.size() == rows.size());
    for (const std::int64_t edge : {0, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 639, 640, 699})
        CHECK_MESSAGE(numbers.count(edge) == 1, edge);
    CHECK(heads.size() == 4);
    CHECK(batches.size() == 3);
}

TEST_CASE("with inputs, the flattest and the sharpest rows are among the sampled ones") {
    const Problem problem = small(700, 700, Mask::causal, 4, 3);
    const TuningInputs inputs = drawn_inputs(problem, Distribution::alternating_rows);
    const std::vector<GateRow> rows = gate_rows(problem, view(inputs), 48), plain = sample_rows(problem, 48);
    CHECK(rows.size() == 48);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> distinct;
    double flattest = 1, sharpest = 0, plain_flattest = 1, plain_sharpest = 0;
    const auto look = [&](const GateRow& row, double& least, double& most) {
        if (row.row < 63) // few keys: sharp by its place
            return;
        const double value = concentration(problem, view(inputs), row);
        least = std::min(least, value);
        most = std::max(most, value);
    };
    for (const GateRow& row : rows) {
        distinct.insert({row.batch, row.head, row.row});
        look(row, flattest, sharpest);
    }
    for (const GateRow& row : plain)
        look(row, plain_flattest, plain_sharpest);
    CHECK(distinct.size() == rows.size());
    CHECK(flattest <= plain_flattest);
    CHECK(sharpest >= plain_sharpest);
    std::set<std::int64_t> numbers;
    for (const GateRow& row : rows)
        numbers.insert(row.row);
    for (const std::int64_t edge : {0, 127, 128, 255, 256, 639, 640, 699})
        CHECK_MESSAGE(numbers.count(edge) == 1, edge);
}

TEST_CASE("the concentration of a row is that of its weights") {
    const Problem problem = small(96, 96);
    TuningInputs inputs = drawn_inputs(problem);
    std::fill(inputs.q.begin(), inputs.q.end(), std::byte{0}); // all weights alike
    CHECK(concentration(problem, view(inputs), {0, 0, 0}) == doctest::Approx(1));
    CHECK(concentration(problem, view(inputs), {0, 1, 63}) == doctest::Approx(1.0 / 64));
}

TEST_CASE("every row is taken where there are few") {
    CHECK(sample_rows(small(5, 5, Mask::causal, 3), 48).size() == 15);
    CHECK(sample_rows(small(1, 1, Mask::causal, 1), 48).size() == 1);
}

TEST_CASE("the first row that sees a key is among the sampled ones") {
    const std::vector<GateRow> rows = sample_rows(small(600, 100), 48);
    for (const std::int64_t edge : {499, 500})
        CHECK(std::any_of(rows.begin(), rows.end(), [&](const GateRow& row) { return row.row == edge; }));
}

TEST_CASE("the emulation passes, on tame and on wild inputs") {
    for (const Distribution distribution : all_distributions())
        for (const Problem& problem : {small(65, 65), small(40, 100), small(100, 40), small(1, 1),
                                       small(1, 300), small(33, 33, Mask::none, 3, 2)}) {
            const Gate gate(problem, distribution);
            const Measurement result = gate.check(gate.emulated());
            CHECK_MESSAGE(result.status == CandidateStatus::measured, to_string(distribution), " ",
                          to_string(problem), ": ", result.message);
        }
}

TEST_CASE("a mask that is off by one key is caught") {
    const Gate gate(small(130, 130, Mask::causal), Distribution::logit_sd_1);
    Problem shifted = gate.problem; // rows see one key less
    Output output = gate.emulated();
    for (const GateReference::Row& row : gate.reference.rows())
        if (row.where.row > 0)
            gate.set(output, row.where.batch, row.where.head, row.where.row,
                     emulate_bf16_row(shifted, view(gate.inputs), row.where.batch, row.where.head,
                                      row.where.row - 1));
    CHECK(gate.check(output).status == CandidateStatus::wrong);
}

TEST_CASE("a softmax scale that is 1% off is caught") {
    const Gate gate(small(200, 200), Distribution::logit_sd_4);
    Problem scaled = gate.problem;
    scaled.softmax_scale *= 1.01f;
    const Measurement result = gate.check(gate.emulated(scaled));
    CHECK(result.status == CandidateStatus::wrong);
    CHECK(result.message.find("fp64 says") != std::string::npos);
}

TEST_CASE("padding keys in the denominator are caught") {
    // Skv = 129: the last 64-key block has one key; a kernel that takes the rest for zeros divides by too
    // much.
    const Gate gate(small(16, 129, Mask::none));
    Output output = gate.emulated();
    for (const GateReference::Row& at : gate.reference.rows()) {
        ReferenceRow row =
            emulate_bf16_row(gate.problem, view(gate.inputs), at.where.batch, at.where.head, at.where.row);
        for (double& value : row.o)
            value *= 129.0 / 192.0;
        gate.set(output, at.where.batch, at.where.head, at.where.row, row);
    }
    CHECK(gate.check(output).status == CandidateStatus::wrong);
}

TEST_CASE("a quarter more noise than the emulation's is allowed, twice as much is not") {
    const Gate gate(small(256, 256), Distribution::logit_sd_1);
    const auto noisy = [&](double share) {
        Output output = gate.emulated();
        const double level = share * gate.reference.emulation().by_row;
        for (const GateReference::Row& at : gate.reference.rows()) {
            ReferenceRow row = at.expected;
            double rms = 0;
            for (const double value : row.o)
                rms += value * value / static_cast<double>(row.o.size());
            int sign = 1;
            for (double& value : row.o)
                value += (sign = -sign) * level * std::sqrt(rms);
            gate.set(output, at.where.batch, at.where.head, at.where.row, row);
        }
        return gate.check(output);
    };
    CHECK(noisy(0.5).status == CandidateStatus::measured);
    CHECK(noisy(2.0).status == CandidateStatus::wrong);
    CHECK(noisy(2.0).message.find("relative RMS") != std::string::npos);
}

TEST_CASE("noise in rows of small outputs is seen beside rows of large ones") {
    // Under a causal mask, rows that see few keys have outputs some ten times larger than the last ones.
    const Gate gate(small(600, 600));
    Output output = gate.emulated();
    for (const GateReference::Row& at : gate.reference.rows())
        if (at.where.row >= 300) {
            ReferenceRow row = at.expected;
            int sign = 1;
            for (double& value : row.o)
                value += (sign = -sign) * 0.0012 * at.largest;
            gate.set(output, at.where.batch, at.where.head, at.where.row, row);
        }
    const Measurement result = gate.check(output);
    CHECK(result.relative_rms < 1.25 * result.emulation_relative_rms); // pooled, it hides
    CHECK(result.status == CandidateStatus::wrong);
    CHECK_MESSAGE(result.message.find("by row") != std::string::npos, result.message);
}

TEST_CASE("one wrong element, NaN and infinity are caught and named") {
    const Gate gate(small(64, 64));
    const GateRow at = gate.reference.rows().back().where;
    for (const float value :
         {1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Output output = gate.emulated();
        const std::uint16_t bits = float_to_bf16(value);
        std::memcpy(output.o.data() + layout_o(gate.problem).row_offset(at.batch, at.head, at.row) + 2 * 77,
                    &bits, 2);
        const Measurement result = gate.check(output);
        CHECK(result.status == CandidateStatus::wrong);
        CHECK(result.message.find("column=77") != std::string::npos);
        CHECK(result.message.find("row=" + std::to_string(at.row) + " ") != std::string::npos);
    }
}

TEST_CASE("rows without keys must be exactly zero, and their LSE minus infinity") {
    const Gate gate(small(40, 8));
    const Output right = gate.emulated();
    CHECK(gate.check(right).status == CandidateStatus::measured);
    Output tiny = right;
    const std::uint16_t bits = float_to_bf16(1e-30f);
    std::memcpy(tiny.o.data(), &bits, 2);
    CHECK(gate.check(tiny).status == CandidateStatus::wrong);
    Output finite = right;
    const float lse = -1e30f;
    std::memcpy(finite.lse.data(), &lse, 4);
    const Measurement result = gate.check(finite);
    CHECK(result.status == CandidateStatus::wrong);
    CHECK(result.message.find("LSE at b=0 h=0 row=0") != std::string::npos);
}

TEST_CASE("an LSE in base 2 is caught") {
    const Gate gate(small(64, 64));
    Output output = gate.emulated();
    for (std::size_t at = 0; at < output.lse.size(); at += 4) {
        float lse = 0;
        std::memcpy(&lse, output.lse.data() + at, 4);
        lse *= 1.442695f;
        std::memcpy(output.lse.data() + at, &lse, 4);
    }
    CHECK(gate.check(output).status == CandidateStatus::wrong);
}
