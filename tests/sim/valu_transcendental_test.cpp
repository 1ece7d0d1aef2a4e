// SPDX-License-Identifier: Apache-2.0
// Transcendentals against the C library's long double functions: within half an ulp and a little.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "tests/sim/valu_call.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// Runs a one-operand operation on 64 inputs at a time.
template <class Check>
void sweep(const char* mnemonic, int batches, float (*draw)(std::mt19937&), Check check) {
    CAPTURE(mnemonic);
    std::mt19937 random(99);
    for (int batch = 0; batch < batches; ++batch) {
        Call c;
        Register in;
        for (unsigned lane = 0; lane < 64; ++lane)
            in(lane) = bits(draw(random));
        c.operand(0, in);
        REQUIRE(c.run(mnemonic));
        for (unsigned lane = 0; lane < 64; ++lane)
            check(value(in(lane)), value(c.d(lane)));
    }
}
/// |result - exact| in units of the result's last place.
long double ulps(float result, long double exact) {
    const float next = std::nextafter(std::fabs(result), INFINITY);
    const long double ulp = static_cast<long double>(next) - std::fabs(result);
    return std::fabs(static_cast<long double>(result) - exact) / ulp;
}
float between(std::mt19937& random, float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
}
constexpr long double limit = 0.50001L;

} // namespace

TEST_CASE("valu: v_exp_f32 is correctly rounded") {
    long double worst = 0;
    const auto check = [&](float x, float r) {
        const long double exact = std::exp2(static_cast<long double>(x));
        if (exact >= 0x1p-126L)
            worst = std::max(worst, ulps(r, exact));
        else
            CHECK((r == 0 || r == 0x1p-126f));
    };
    sweep("v_exp_f32", 400, [](std::mt19937& g) { return between(g, -127, 127.9f); }, check);
    sweep("v_exp_f32", 200, [](std::mt19937& g) { return between(g, -1, 1); }, check);
    sweep(
        "v_exp_f32", 100,
        [](std::mt19937& g) { return std::ldexp(between(g, -1, 1), -static_cast<int>(g() % 60)); }, check);
    CHECK(worst < limit);
    CHECK(run1("v_exp_f32", {bits(128.0f)}) == bits(INFINITY));
    CHECK(run1("v_exp_f32", {bits(10.0f)}) == bits(1024.0f));
    CHECK(std::isnan(value(run1("v_exp_f32", {bits(NAN)}))));
}

TEST_CASE("valu: v_log_f32 is correctly rounded") {
    long double worst = 0;
    const auto check = [&](float x, float r) {
        const long double exact = std::log2(static_cast<long double>(x));
        worst = std::max(worst, exact == 0 ? static_cast<long double>(r != 0) : ulps(r, exact));
    };
    sweep("v_log_f32", 300, [](std::mt19937& g) { return between(g, 0.5f, 2.0f); }, check);
    sweep(
        "v_log_f32", 200,
        [](std::mt19937& g) { return std::ldexp(between(g, 1, 2), static_cast<int>(g() % 250) - 125); },
        check);
    sweep(
        "v_log_f32", 100, [](std::mt19937& g) { return 1.0f + static_cast<float>(g() % 2000) * 0x1p-23f; },
        check);
    CHECK(worst < limit);
    CHECK(std::isnan(value(run1("v_log_f32", {bits(-1.0f)}))));
    CHECK(run1("v_log_f32", {bits(INFINITY)}) == bits(INFINITY));
    CHECK(run1("v_log_f32", {bits(-0.0f)}) == bits(-INFINITY));
    CHECK(run1("v_log_f32", {bits(0x1p-126f)}) == bits(-126.0f));
}

TEST_CASE("valu: v_rcp, v_sqrt and v_rsq are correctly rounded") {
    const auto draw = [](std::mt19937& g) {
        return std::ldexp(between(g, 1, 2), static_cast<int>(g() % 200) - 100);
    };
    std::size_t wrong = 0;
    sweep("v_rcp_f32", 100, draw, [&](float x, float r) { wrong += r != static_cast<float>(1.0L / x); });
    sweep("v_sqrt_f32", 100, draw, [&](float x, float r) {
        wrong += r != static_cast<float>(std::sqrt(static_cast<long double>(x)));
    });
    CHECK(wrong == 0);
    long double worst = 0;
    sweep("v_rsq_f32", 100, draw, [&](float x, float r) {
        worst = std::max(worst, ulps(r, 1.0L / std::sqrt(static_cast<long double>(x))));
    });
    CHECK(worst < limit);
    CHECK(run1("v_rsq_f32", {bits(0.0f)}) == bits(INFINITY));
    CHECK(std::isnan(value(run1("v_sqrt_f32", {bits(-2.0f)}))));
    CHECK(run1("v_sqrt_f32", {bits(-0.0f)}) == bits(-0.0f));
}

TEST_CASE("valu: v_sin_f32 and v_cos_f32 take turns") {
    const long double turn = 2 * 3.14159265358979323846264338327950288L;
    long double worst = 0;
    const auto reduced = [](float x) {
        return static_cast<long double>(x) - std::nearbyint(static_cast<long double>(x));
    };
    const auto draw = [](std::mt19937& g) { return between(g, -256, 256); };
    const auto small = [](std::mt19937& g) { return between(g, -0.5f, 0.5f); };
    for (const auto from : {+draw, +small}) {
        sweep("v_sin_f32", 200, from, [&](float x, float r) {
            const long double exact = std::sin(turn * reduced(x));
            if (std::fabs(exact) > 1e-6L) // long double's own argument rounding matters below
                worst = std::max(worst, ulps(r, exact));
        });
        sweep("v_cos_f32", 200, from, [&](float x, float r) {
            const long double exact = std::cos(turn * reduced(x));
            if (std::fabs(exact) > 1e-6L)
                worst = std::max(worst, ulps(r, exact));
        });
    }
    CHECK(worst < limit);
    CHECK(run1("v_sin_f32", {bits(0.25f)}) == bits(1.0f));
    CHECK(run1("v_cos_f32", {bits(0.5f)}) == bits(-1.0f));
    CHECK(run1("v_cos_f32", {bits(0.25f)}) == 0);
    CHECK(run1("v_sin_f32", {bits(300.0f)}) == 0);
    CHECK(run1("v_cos_f32", {bits(300.0f)}) == bits(1.0f));
    CHECK(std::isnan(value(run1("v_sin_f32", {bits(INFINITY)}))));
}
