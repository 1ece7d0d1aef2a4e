// SPDX-License-Identifier: Apache-2.0
// What users of attention kernels have reported, parts A to C of docs/user-reports.md: masks and grids, NaN
// and extremes, large tensors. Each case names its thread.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "core/random.hpp"
#include "core/reference.hpp"
#include "tests/attention/exact_call.hpp"
#include "tests/attention/forms.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float o_of(const Problem& p, const Result& r, std::int64_t row, std::int64_t column = 0) {
    return bf16_to_float(r.o[static_cast<std::size_t>(row * p.dim_v + column)]);
}

/// V[j, :] = j mod 16
int ramp(std::int64_t j) {
    return static_cast<int>(j % 16);
}

Result ramp_call(Context& context, const Problem& p) {
    return call(context, p, constant_inputs(p, 0, 1, ramp), p);
}

/// All rows of all outputs (FP8: 100, whose limits take three emulations) against fp64, between guard bands,
/// from drawn inputs.
void check_call(Context& context, const Problem& p) {
    Tensors tensors(context, p);
    context.attention(tensors.args());
    CHECK_MESSAGE(tensors.check(p.dtype == DType::e4m3 ? std::optional<std::size_t>(100) : std::nullopt) ==
                      "",
                  to_string(p));
}

} // namespace

TEST_CASE("report pytorch#108108: causal is bottom-right") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem p = shape(form, 1, 1, 1, 2, 5);
        const Result r = ramp_call(context, p);
        CHECK(o_of(p, r, 0) == 1.5f);
        CHECK(o_of(p, r, 1, 127) == 2.0f);
        CHECK(r.lse[0] == doctest::Approx(std::log(4.0)));
    }
}

TEST_CASE("reports Dao#1778, onnxruntime#28904: rows without keys are zero, not the mean of V") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem p = shape(form, 1, 1, 1, 5, 2);
        const Result r = call(context, p, constant_inputs(p, 0, 1, [](auto j) { return 3 + 2 * j; }), p);
        for (std::int64_t row = 0; row < 3; ++row) {
            CHECK(o_of(p, r, row, 77) == 0.0f);
            CHECK(r.lse[static_cast<std::size_t>(row)] == -infinity);
        }
        CHECK(o_of(p, r, 3) == 3.0f);
        CHECK(o_of(p, r, 4) == 4.0f);
    }
}

TEST_CASE("report cutlass#2336: three rows against 128 keys, the mask written out") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem p = shape(form, 1, 1, 1, 3, 128);
        const Result r = ramp_call(context, p);
        for (std::int64_t row = 0; row < 3; ++row) {
            double sum = 0;
            for (std::int64_t j = 0; j <= 125 + row; ++j)
                sum += ramp(j);
            const double mean = sum / static_cast<double>(126 + row);
            CHECK(std::abs(o_of(p, r, row) - mean) <= mean / 256);
            CHECK(r.lse[static_cast<std::size_t>(row)] ==
                  doctest::Approx(std::log(static_cast<double>(126 + row))));
        }
    }
}

TEST_CASE("report aiter#4682: every query tile is written, paired or alone") {
    Context context(simulator(Mode::off));
    for (const std::int64_t s : {256, 512, 768, 1280, 1792, 257, 511})
        for (const Form& form : forms) {
            if (form.dtype == DType::e4m3 && s > 800)
                continue;
            Tensors tensors(context, shape(form, 1, 1, 1, s, s));
            context.attention(tensors.args());
            CHECK_MESSAGE(tensors.check(form.dtype == DType::e4m3 ? 16 : 64) == "", s);
        }
}

TEST_CASE("report aiter#1113: random lengths with Sq other than Skv, the same bits every time") {
    Context context(simulator(Mode::off));
    Random random(4, 0, 0);
    for (int i = 0; i < 200; ++i) {
        const auto length = [&random] { return 1 + static_cast<std::int64_t>(random.uniform() * 150); };
        const std::int64_t seq_q = length(), other = length(), seq_kv = other == seq_q ? other + 1 : other;
        Tensors tensors(context, shape(forms[static_cast<std::size_t>(i % 4)], 1, 1, 1, seq_q, seq_kv));
        context.attention(tensors.args());
        CHECK_MESSAGE(tensors.check() == "", seq_q, " ", seq_kv);
        const auto first = tensors.output();
        for (int repeat = 0; repeat < (i < 10 ? 20 : 1); ++repeat) {
            context.attention(tensors.args());
            CHECK(tensors.output() == first);
        }
    }
}

TEST_CASE("report flashinfer#296: the mask given is the mask taken") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        Problem p = shape(form, 1, 1, 1, 512, 512);
        const DrawnInputs values = draw_inputs(p, Distribution::logit_sd_1, 3);
        const Result causal = call(context, p, values, p);
        p.mask = Mask::none;
        CHECK_FALSE(call(context, p, values, p) == causal);
    }
}

TEST_CASE("report aiter#1442: many more rows than keys") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem p = shape(form, 1, 1, 1, 512, 1);
        const Result r = ramp_call(context, p);
        CHECK(std::all_of(r.o.begin(), r.o.begin() + 511 * 128, [](auto bits) { return bits == 0; }));
        CHECK(std::all_of(r.lse.begin(), r.lse.begin() + 511, [](float x) { return x == -infinity; }));
        CHECK(r.lse[511] == 0.0f);
    }
}

TEST_CASE("report pytorch#116176: scores beyond FP16's range") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        Problem p = shape(form, 1, 1, 1, 100, 100);
        p.softmax_scale = 1.0f;
        const Result r = call(context, p, constant_inputs(p, 40, 40, ramp), p); // scores of 204800 and more
        const auto score = static_cast<double>(1600 * form.dim_qk);
        for (std::int64_t row = 0; row < 100; ++row) {
            CHECK(std::isfinite(o_of(p, r, row)));
            CHECK(std::abs(r.lse[static_cast<std::size_t>(row)] - score) < 20);
        }
    }
}

TEST_CASE("reports SageAttention#376, #19, triton#361, TheRock#7407: lengths under and between tiles") {
    // Tensors' guard bands and gaps hold NaN: what is read beyond the end would show.
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        check_call(context, shape(form, 1, 1, 1, 9, 9));
        check_call(context, shape(form, 1, 1, 1, 1001, 503));
        for (const std::int64_t s : {1, 31, 32, 33, 63})
            check_call(context, shape(form, 1, 2, 1, s, s));
        check_call(context, shape(form, 1, 16, 16, 8, 8));
    }
}

TEST_CASE("reports aiter#1957, Dao#2214, aiter binaries' O offset: more than 2^31 elements from the first") {
    Context context(simulator(Mode::off));
    // The last batch entry of [1600, 16, 729, 128], and of B = 5, H = 32, S = 131072.
    for (const Form& form : forms)
        for (const auto& [heads, seq, stride] : {std::tuple{2, 73, std::int64_t{1599} * 16 * 729 * 128},
                                                 {3, 40, std::int64_t{4} * 32 * 131072 * 128}}) {
            const Problem dense = shape(form, 2, heads, heads, seq, seq);
            Problem p = dense;
            p.q.batch = p.k.batch = p.v.batch = p.o.batch = stride;
            const DrawnInputs values = draw_inputs(dense, Distribution::logit_sd_1, 2);
            CHECK(call(context, dense, values, p) == call(context, dense, values, dense));
        }
    const Error error = error_of([&] {
        context.prepare(Problem::contiguous(DType::bf16, 1600, 16, 16, 729, 729, 72, 72, Mask::none));
    });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(std::string(error.what()).find("72") != std::string::npos);
}
