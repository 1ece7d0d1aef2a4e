// SPDX-License-Identifier: Apache-2.0
// Conversion and selection vectors that follow from the CDNA4 ISA's pseudo-code and from the paper.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/sim/valu_call.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan_value = std::numeric_limits<float>::quiet_NaN();

std::uint32_t fp8(float x, bool ovfl = false) {
    FloatMode mode;
    mode.fp16_ovfl = ovfl;
    return run1("v_cvt_pk_fp8_f32", {bits(x), bits(0.0f)}, mode) & 255;
}

} // namespace

TEST_CASE("valu: v_cvt_pk_u8_f32 rounds to nearest even and saturates") {
    const std::pair<float, std::uint32_t> cases[] = {
        {-3, 0},       {-0.5f, 0},    {0.5f, 0},  {1.5f, 2},  {2.5f, 2}, {126.5f, 126}, {127.5f, 128},
        {254.5f, 254}, {255.5f, 255}, {300, 255}, {inf, 255}, {-inf, 0}, {nan_value, 0}};
    for (const auto& [x, expected] : cases) {
        CAPTURE(x);
        CHECK(run1("v_cvt_pk_u8_f32", {bits(x), 0, 0}) == expected);
    }
    CHECK(run1("v_cvt_pk_u8_f32", {bits(7.0f), 2, 0xAABBCCDD}) == 0xAA07CCDD);
}

TEST_CASE("valu: v_cvt_pk_fp8_f32 gives OCP E4M3") {
    const std::pair<float, std::uint32_t> cases[] = {{1.0f, 0x38},
                                                     {1.0625f, 0x38},
                                                     {1.125f, 0x39},
                                                     {1.1875f, 0x3A},
                                                     {-1.0f, 0xB8},
                                                     {17.0f, 0x58},
                                                     {18.0f, 0x59},
                                                     {19.0f, 0x5A},
                                                     {448.0f, 0x7E},
                                                     {464.0f, 0x7E},
                                                     {464.00003f, 0x7F},
                                                     {480.0f, 0x7F},
                                                     {-500.0f, 0xFF},
                                                     {inf, 0x7F},
                                                     {nan_value, 0x7F},
                                                     {0x1p-6f, 0x08},
                                                     {0x1p-7f, 0x04},
                                                     {0x1p-9f, 0x01},
                                                     {0x1p-10f, 0x00},
                                                     {0x1p-10f * (1 + 0x1p-23f), 0x01},
                                                     {1.5f * 0x1p-10f, 0x01},
                                                     {-0x1p-11f, 0x80},
                                                     {-0.0f, 0x80}};
    for (const auto& [x, expected] : cases) {
        CAPTURE(x);
        CHECK(fp8(x) == expected);
    }
    CHECK(fp8(480.0f, true) == 0x7E);
    CHECK(fp8(-500.0f, true) == 0xFE);
    CHECK(run1("v_cvt_pk_fp8_f32", {bits(1.0f), bits(2.0f)}, {}, 0x11223344) == 0x11224038);
    CHECK(run1("v_cvt_pk_fp8_f32", {bits(1.0f), bits(2.0f)}, {}, 0x11223344, 8) == 0x40383344);
}

TEST_CASE("valu: v_cvt_pk_bf16_f32 rounds to nearest even and quiets NaN") {
    const std::pair<std::uint32_t, std::uint32_t> cases[] = {{0x3F808000, 0x3F80}, {0x3F808001, 0x3F81},
                                                             {0x3F818000, 0x3F82}, {0x7F7FFFFF, 0x7F80},
                                                             {0x7F800001, 0x7FC0}, {0x3FC0FFFF, 0x3FC1}};
    for (const auto& [x, expected] : cases) {
        CAPTURE(x);
        CHECK(run1("v_cvt_pk_bf16_f32", {x, bits(1.0f)}) == (0x3F800000 | expected));
    }
}

TEST_CASE("valu: maximum and median with NaN") {
    CHECK(run1("v_max3_f32", {bits(nan_value), bits(1.0f), bits(2.0f)}) == bits(2.0f));
    CHECK(run1("v_max3_f32", {bits(nan_value), bits(nan_value), bits(-5.0f)}) == bits(-5.0f));
    CHECK(std::isnan(value(run1("v_maximum3_f32", {bits(nan_value), bits(1.0f), bits(2.0f)}))));
    CHECK(run1("v_med3_f32", {bits(nan_value), bits(1.0f), bits(2.0f)}) == bits(1.0f));
    CHECK(run1("v_med3_f32", {bits(3.0f), bits(1.0f), bits(2.0f)}) == bits(2.0f));
    CHECK(run1("v_max_f32", {bits(-0.0f), bits(0.0f)}) == bits(0.0f));
    CHECK(run1("v_max_f32", {bits(0.0f), bits(-0.0f)}) == bits(0.0f));
    CHECK(run1("v_min_f32", {bits(0.0f), bits(-0.0f)}) == bits(-0.0f));
}

TEST_CASE("valu: transcendentals flush subnormals whatever MODE says") {
    for (const std::uint8_t denorm : {0, 3}) {
        FloatMode mode;
        mode.denorm32 = denorm;
        CHECK(run1("v_exp_f32", {bits(-126.0f)}, mode) == 0x00800000);
        CHECK(run1("v_exp_f32", {bits(-126.5f)}, mode) == 0);
        CHECK(run1("v_exp_f32", {bits(-127.0f)}, mode) == 0);
        CHECK(run1("v_exp_f32", {bits(-inf)}, mode) == 0);
        CHECK(run1("v_exp_f32", {1}, mode) == bits(1.0f));
        CHECK(run1("v_exp_f32", {bits(inf)}, mode) == bits(inf));
        CHECK(run1("v_log_f32", {0x00400000}, mode) == bits(-inf));
        CHECK(run1("v_log_f32", {bits(1.0f)}, mode) == 0);
        CHECK(run1("v_rcp_f32", {1}, mode) == bits(inf));
        CHECK(run1("v_rcp_f32", {bits(0x1p127f)}, mode) == 0);
    }
}

TEST_CASE("valu: v_pk_mul_f32 broadcasts the low dword with op_sel_hi 0") {
    Call c;
    Register pair(2), scale(2);
    for (unsigned lane = 0; lane < 64; ++lane) {
        pair(lane, 0) = bits(2.0f);
        pair(lane, 1) = bits(3.0f);
        scale(lane, 0) = bits(5.0f);
        scale(lane, 1) = bits(7.0f);
    }
    c.operand(0, pair).operand(1, scale);
    c.call.op_sel_hi = 1;
    REQUIRE(c.run("v_pk_mul_f32"));
    CHECK(c.d(17, 0) == bits(10.0f));
    CHECK(c.d(17, 1) == bits(15.0f));
}
