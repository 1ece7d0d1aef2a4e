// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.hpp"

#include <cmath>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "core/safetensors.hpp"
#include "tool.hpp"
#include "tuner/guarded_tensor.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cli;

namespace {

const std::string excerpt = ZYFA_DATA_DIR "/gqa_excerpt.safetensors";

std::string refused(const ProblemFlags& flags) {
    try {
        load_inputs(flags);
        return "";
    } catch (const Error& error) {
        return error.argument();
    }
}

std::uint16_t code(const std::vector<std::byte>& bytes, std::size_t offset) {
    std::uint16_t value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

} // namespace

TEST_CASE("the excerpt is what its description says") {
    ProblemFlags flags;
    flags.input = excerpt;
    const Inputs inputs = load_inputs(flags);
    CHECK(inputs.problem.batch == 1);
    CHECK(inputs.problem.heads_q == 4);
    CHECK(inputs.problem.heads_kv == 1);
    CHECK(inputs.problem.seq_q == 1000);
    CHECK(inputs.problem.seq_kv == 1000);
    CHECK(inputs.problem.dim_qk == 128);
    CHECK(inputs.problem.softmax_scale == 0.08838834764831843f);
    CHECK(inputs.q.size() == 4u * 1000 * 128 * 2);
    CHECK(inputs.k.size() == 1000u * 128 * 2);
    CHECK(inputs.profile == "captured:gqa_excerpt");
}

TEST_CASE("a cut keeps first rows, first heads and the ratio") {
    test::TemporaryFolder folder;
    // 4 query heads on 2 key-value heads, 5 rows, dim 8; the code says head and row.
    std::vector<std::uint16_t> q, k;
    for (std::uint16_t head = 0; head < 4; ++head) {
        for (std::uint16_t row = 0; row < 5; ++row) {
            q.insert(q.end(), 8, static_cast<std::uint16_t>(0x3f00 + 16 * head + row));
            if (head < 2) {
                k.insert(k.end(), 8, static_cast<std::uint16_t>(0x3e00 + 16 * head + row));
            }
        }
    }
    SafeTensors file;
    file.tensors["q"] = {.dtype = "BF16", .shape = {1, 4, 5, 8}, .data = std::as_bytes(std::span(q))};
    file.tensors["k"] = {.dtype = "BF16", .shape = {1, 2, 5, 8}, .data = std::as_bytes(std::span(k))};
    file.tensors["v"] = file.tensors["k"];
    const std::vector<std::byte> bytes = write_safetensors(file);
    ProblemFlags flags;
    flags.input = folder.write("x", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    flags.heads = 2;
    flags.seq = 3;
    for (const char* layout : {"bhsd", "bshd"}) {
        flags.layout = layout;
        const Inputs inputs = load_inputs(flags);
        CHECK(inputs.problem.heads_q == 2);
        CHECK(inputs.problem.heads_kv == 1);
        CHECK(inputs.problem.seq_q == 3);
        CHECK(inputs.problem.seq_kv == 3);
        const tuner::TensorLayout where = tuner::layout_q(inputs.problem);
        CHECK(code(inputs.q, where.row_offset(0, 1, 2)) == 0x3f12);
        CHECK(code(inputs.q, where.row_offset(0, 0, 1) + 14) == 0x3f01);
        CHECK(code(inputs.k, tuner::layout_k(inputs.problem).row_offset(0, 0, 2)) == 0x3e02);
    }
    flags.heads = 3;
    CHECK(refused(flags) == "--heads");
    flags.heads = 6;
    CHECK(refused(flags) == "--heads");
    flags.heads.reset();
    flags.seq = 6;
    CHECK(refused(flags) == "--seq");
    flags.seq.reset();
    flags.heads_q = 4;
    CHECK(refused(flags) == "--heads-q");
}

TEST_CASE("FP8 input is quantised with one power of two per tensor") {
    ProblemFlags flags;
    flags.input = excerpt;
    flags.seq = 64;
    const Inputs exact = load_inputs(flags);
    flags.dtype = "fp8";
    const Inputs inputs = load_inputs(flags);
    CHECK(inputs.problem.dtype == DType::e4m3);
    CHECK(inputs.q.size() * 2 == exact.q.size());
    int exponent = 0;
    CHECK(std::frexp(inputs.problem.q_descale, &exponent) == 0.5f);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < inputs.q.size(); ++i) {
        const double value = bf16_to_float(code(exact.q, 2 * i));
        const double quantised = e4m3_to_float(static_cast<std::uint8_t>(inputs.q[i])) *
                                 static_cast<double>(inputs.problem.q_descale);
        error += (value - quantised) * (value - quantised);
        size += value * value;
    }
    const double relative = std::sqrt(error / size);
    CHECK(relative > 0.01); // e4m3's 3-bit mantissa: 2^-4 / sqrt(3) at most where values are normal
    CHECK(relative < 0.04);
}

TEST_CASE("drawn input: shapes, defaults and refusals") {
    ProblemFlags flags;
    flags.seq = 33;
    flags.heads_q = 6;
    flags.heads_kv = 2;
    flags.distribution = "logit-sd-4";
    const Inputs inputs = load_inputs(flags);
    CHECK(inputs.problem.batch == 1);
    CHECK(inputs.problem.heads_q == 6);
    CHECK(inputs.problem.heads_kv == 2);
    CHECK(inputs.problem.seq_kv == 33);
    CHECK(inputs.problem.mask == Mask::causal);
    CHECK(inputs.k.size() == 2u * 33 * 128 * 2);
    CHECK(load_inputs(flags).q == inputs.q);
    flags.seed = 2;
    CHECK(load_inputs(flags).q != inputs.q);
    flags.distribution = "uniform";
    CHECK_FALSE(refused(flags).empty());
    flags.distribution = "gaussian";
    flags.heads = 3;
    CHECK(refused(flags) == "--heads");
}

TEST_CASE("floating-point operations are the paper's Equation 1") {
    const auto count = [](std::int64_t seq_q, std::int64_t seq_kv, Mask mask) {
        return flops(Problem::contiguous(DType::bf16, 2, 3, 1, seq_q, seq_kv, 128, 128, mask));
    };
    CHECK(count(1000, 1000, Mask::causal) == 2. * 3 * 1000 * 1000 * 256);
    CHECK(count(1000, 1000, Mask::none) == 2 * count(1000, 1000, Mask::causal));
    CHECK(count(1000, 1500, Mask::causal) ==
          doctest::Approx(2. * 2 * 3 * (1000. * 500 + 1000. * 1000 / 2) * 256));
    CHECK(count(1500, 1000, Mask::causal) == count(1000, 1000, Mask::causal));
}
