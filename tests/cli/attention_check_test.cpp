// SPDX-License-Identifier: Apache-2.0
// Attention compared with fp64 where inputs hold infinities: the same infinity is no error, another value is.
#include "cli/attention_check.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace zyfa;
using namespace zyfa::cli;

namespace {

constexpr std::int64_t rows = 3, dim = 128;

void put(std::vector<std::byte>& to, std::size_t element, float value) {
    const std::uint16_t bits = float_to_bf16(value);
    std::memcpy(to.data() + 2 * element, &bits, sizeof bits);
}

/// Causal attention of three rows: V holds an infinity in key 1's first column, Q one in row 2.
struct Run {
    AttentionSpec spec;
    std::map<std::string, Content> inputs;
    std::map<std::string, std::vector<std::byte>> outputs;

    Run() {
        spec.problem = Problem::contiguous(DType::bf16, 1, 1, 1, rows, rows, dim, dim, Mask::causal);
        spec.problem.lse = true;
        spec.q.buffer = "q", spec.k.buffer = "k", spec.v.buffer = "v", spec.o.buffer = "o",
        spec.lse.buffer = "lse";
        spec.relative_rms = 0.01;
        spec.lse_max_abs = 1e-5;
        for (const char* const name : {"q", "k", "v"}) {
            std::vector<std::byte>& bytes = inputs[name].bytes;
            bytes.resize(2 * rows * dim);
            for (std::size_t n = 0; n < rows * dim; ++n)
                put(bytes, n, 0.125f * static_cast<float>(1 + n * 7 % 5));
        }
        put(inputs["v"].bytes, dim, std::numeric_limits<float>::infinity());
        put(inputs["q"].bytes, 2 * dim, std::numeric_limits<float>::infinity());
        const HostTensors tensors{.q = inputs["q"].bytes, .k = inputs["k"].bytes, .v = inputs["v"].bytes};
        std::vector<double> o(rows * dim), lse(rows);
        reference_head(spec.problem, tensors, 0, 0, o, lse);
        outputs["o"].resize(2 * rows * dim);
        outputs["lse"].resize(4 * rows);
        for (std::size_t n = 0; n < o.size(); ++n)
            put(outputs["o"], n, static_cast<float>(o[n]));
        for (std::size_t row = 0; row < rows; ++row)
            set_lse(row, static_cast<float>(lse[row]));
        REQUIRE(std::isinf(o[dim]));
        REQUIRE_FALSE(std::isfinite(lse[2]));
    }
    void set_lse(std::size_t row, float value) { std::memcpy(outputs["lse"].data() + 4 * row, &value, 4); }
    AttentionResult check() const { return check_attention(spec, inputs, outputs); }
};

} // namespace

TEST_CASE("cli: attention with infinities is held against the same infinities") {
    const Run good;
    const AttentionResult result = good.check();
    CHECK_MESSAGE(result.passed, result.message);
    CHECK(result.error.relative_rms < 0.01);
    CHECK(result.error.lse_max_abs < 1e-5);

    Run finite = good;
    put(finite.outputs["o"], dim, 1);
    CHECK_FALSE(finite.check().passed);
    Run nan = good;
    put(nan.outputs["o"], 3, std::numeric_limits<float>::quiet_NaN());
    CHECK_FALSE(nan.check().passed);
    for (const float wrong : {0.0f, -std::numeric_limits<float>::infinity()}) {
        Run lse = good;
        lse.set_lse(2, wrong);
        CHECK_FALSE(lse.check().passed);
    }
    Run lse = good;
    lse.set_lse(0, std::numeric_limits<float>::quiet_NaN());
    CHECK_FALSE(lse.check().passed);
}
