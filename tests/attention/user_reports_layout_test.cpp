// SPDX-License-Identifier: Apache-2.0
// What users of attention kernels have reported, parts D to G of docs/user-reports.md: tails, heads and
// dimensions, layout, LSE. Each case names its thread.
#include <cmath>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "core/reference.hpp"
#include "tests/attention/exact_call.hpp"
#include "tests/attention/forms.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

/// All rows of all outputs (FP8: 200), or `rows` sampled ones, against fp64.
void check_call(Context& context, const Problem& p, std::optional<std::size_t> rows = std::nullopt) {
    Tensors tensors(context, p);
    context.attention(tensors.args());
    if (!rows && p.dtype == DType::e4m3)
        rows = 200; // an FP8 row's limits take three emulations
    CHECK_MESSAGE(tensors.check(rows) == "", to_string(p));
}

int one(std::int64_t) {
    return 1;
}

} // namespace

TEST_CASE("report rocm-libraries#10309: no padding key in the denominator, whatever the tail") {
    Context context(simulator(Mode::off));
    for (std::int64_t rest = 1; rest < 64; ++rest) {
        const Form& form = forms[static_cast<std::size_t>(rest % 4)];
        // FP8: blocks of 128 keys, so that 64 more is another tail
        for (const std::int64_t blocks : {rest % 3, rest % 3 + 1}) {
            const Problem p = shape(form, 1, 1, 1, 3, 64 * blocks + rest, Mask::none);
            const Result r = call(context, p, constant_inputs(p, 0, 1, one), p);
            bool ones = true;
            for (const std::uint16_t bits : r.o)
                ones = ones && bits == 0x3f80;
            CHECK_MESSAGE(ones, p.seq_kv);
            for (const float lse : r.lse)
                CHECK(std::abs(lse - std::log(static_cast<double>(p.seq_kv))) < 2e-6);
        }
    }
}

TEST_CASE("reports pytorch#187152, #189089, rocm-libraries#11519: nothing is read beyond the last byte") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms)
        for (const auto layout : {Problem::Layout::bhsd, Problem::Layout::bshd})
            for (const auto& [seq_q, seq_kv] : {std::pair{4, 656}, {655, 17}, {130, 257}}) {
                const Problem p = shape(form, seq_q == 4 ? 5 : 1, 2, 2, seq_q, seq_kv, Mask::causal, layout);
                const DrawnInputs values = draw_inputs(p, Distribution::gaussian, 1);
                CHECK_NOTHROW(call(context, p, values, p)); // a fault of the simulator is an error
            }
}

TEST_CASE("report Dao#1381: 2^16 + 1 keys") {
    Context context(simulator(Mode::off));
    for (const Form& form : {forms[0], forms[3]})
        check_call(context, shape(form, 1, 1, 1, 4, (1 << 16) + 1), 1);
    const Error error = error_of([&] {
        context.prepare(Problem::contiguous(DType::bf16, 1, 1, 1, 65537, 65537, 64, 64, Mask::causal));
    });
    CHECK(error.code() == ErrorCode::unsupported);
}

TEST_CASE("report CK#2820: BSHD and BHSD of the same data") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem bhsd = shape(form, 2, 4, 2, 200, 300);
        const DrawnInputs values = draw_inputs(bhsd, Distribution::logit_sd_1, 4);
        CHECK(
            call(context, bhsd, values, bhsd) ==
            call(context, bhsd, values, shape(form, 2, 4, 2, 200, 300, Mask::causal, Problem::Layout::bshd)));
    }
}

TEST_CASE("reports sglang#38467, #36356, Dao#2186, llama.cpp#26404, vllm#46952: heads and ratios") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        for (const auto& [heads_q, heads_kv] : {std::pair{24, 4},
                                                {3, 1},
                                                {5, 1},
                                                {7, 1},
                                                {12, 1},
                                                {32, 1},
                                                {64, 1},
                                                {14, 2},
                                                {12, 12},
                                                {1, 1},
                                                {2, 2},
                                                {6, 6},
                                                {32, 32}})
            check_call(context, shape(form, 1, heads_q, heads_kv, 70, 70), 100);
    }
    Tensors tensors(context, shape(forms[0], 1, 10, 5, 64, 64));
    AttentionArgs args = tensors.args();
    args.k.sizes[1] = args.v.sizes[1] = 3;
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.argument() == "q.sizes[1]");
}

TEST_CASE("reports Dao#1214, #1537, #1619: one row with a group, 1 and 129 keys, no empty sequence") {
    Context context(simulator(Mode::off));
    for (const Form& form : {forms[1], forms[3]}) {
        for (const std::int64_t keys : {1, 129}) {
            check_call(context, shape(form, 1, 8, 2, keys, keys));
            check_call(context, shape(form, 1, 8, 2, 1, keys));
        }
        Tensors tensors(context, shape(form, 1, 2, 2, 4, 4));
        AttentionArgs args = tensors.args();
        args.k.sizes[2] = args.v.sizes[2] = 0;
        const Error error = error_of([&] { context.attention(args); });
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(error.argument() == "k.sizes[2]");
    }
}

TEST_CASE("reports pytorch#148850, #189849, sglang#38757: other head dimensions, before anything is built") {
    Context context(simulator(Mode::off));
    for (const DType dtype : {DType::bf16, DType::e4m3})
        for (const auto& [qk, v] : {std::pair{64, 64}, {96, 96}, {160, 160}, {256, 256}, {576, 512}}) {
            const Error error = error_of(
                [&] { context.prepare(Problem::contiguous(dtype, 1, 1, 1, 64, 64, qk, v, Mask::causal)); });
            CHECK(error.code() == ErrorCode::unsupported);
            CHECK(error.argument() == "dim_qk");
            const std::string text = error.what();
            CHECK(text.find(std::to_string(qk)) != std::string::npos);
            CHECK(text.find("dim_qk=128 with dim_v=128") != std::string::npos);
            CHECK(text.find("dim_qk=192 with dim_v=128") != std::string::npos);
        }
    CHECK(context.counters().assembled == 0);
}

TEST_CASE("reports ROCm/pytorch#3230, pytorch#112577: every tensor in a layout of its own") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem dense = shape(form, 1, 16, 16, 62, 62);
        const Problem other = shape(form, 1, 16, 16, 62, 62, Mask::causal, Problem::Layout::bshd);
        const DrawnInputs values = draw_inputs(dense, Distribution::logit_sd_1, 6);
        const Result expected = call(context, dense, values, dense);
        for (Strides Problem::* tensor : {&Problem::q, &Problem::k, &Problem::v, &Problem::o}) {
            Problem p = dense;
            p.*tensor = other.*tensor;
            CHECK(call(context, dense, values, p) == expected);
        }
    }
}

TEST_CASE("reports aiter#970, #994: a transposed output is written in place, its neighbours are not") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem dense = shape(form, 2, 3, 3, 90, 90);
        Problem p = dense;
        p.o = padded(shape(form, 2, 3, 3, 90, 90, Mask::causal, Problem::Layout::bshd), Problem::Layout::bshd)
                  .o;
        const DrawnInputs values = draw_inputs(dense, Distribution::logit_sd_1, 7);
        CHECK(call(context, dense, values, p) ==
              call(context, dense, values, dense)); // looks between the rows
        check_call(context, p);
    }
}

TEST_CASE("reports sglang#40903, flashinfer#4547, tokenspeed#571: LSE is natural, and parts merge by it") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        constexpr std::int64_t prefix = 3072, suffix = 64, all = prefix + suffix;
        const auto part = [&](std::int64_t first, std::int64_t keys) {
            const Problem p = shape(form, 1, 1, 1, 1, keys, Mask::none);
            return call(context, p,
                        constant_inputs(p, 0, 1, [first](auto j) { return first + j < prefix ? 1 : 5; }), p);
        };
        const Result old_tokens = part(0, prefix), new_tokens = part(prefix, suffix), whole = part(0, all);
        CHECK(old_tokens.lse[0] == doctest::Approx(std::log(3072.0)));
        CHECK(new_tokens.lse[0] == doctest::Approx(std::log(64.0)));
        CHECK(whole.lse[0] == doctest::Approx(std::log(3136.0)));
        const double a = std::exp(old_tokens.lse[0] - whole.lse[0]),
                     b = std::exp(new_tokens.lse[0] - whole.lse[0]);
        const double merged = a * bf16_to_float(old_tokens.o[0]) + b * bf16_to_float(new_tokens.o[0]);
        CHECK(merged == doctest::Approx((3072.0 + 5 * 64) / 3136).epsilon(1e-3));
        CHECK(bf16_to_float(whole.o[0]) == doctest::Approx((3072.0 + 5 * 64) / 3136).epsilon(1.0 / 256));
    }
}

TEST_CASE("report aiter#4657: LSE of every row, batch entry and head") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms)
        check_call(context, shape(form, 2, 3, 3, 257, 257));
}
