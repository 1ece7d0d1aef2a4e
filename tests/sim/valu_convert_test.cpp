// SPDX-License-Identifier: Apache-2.0
// Conversions against rounding by search, and integer conversions at their limits.
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "tests/sim/valu_call.hpp"
#include "tests/sim/valu_rounding.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// A float around the range of a format, sometimes exactly half-way between two of its numbers.
float draw_near(const SmallFormat& f, std::mt19937& random) {
    const std::uint32_t all = (1u << f.bits()) - 1;
    const double a = f.value(static_cast<std::uint32_t>(random()) & all);
    if (!std::isfinite(a))
        return std::ldexp(static_cast<float>(random() % 1000) - 500.0f, static_cast<int>(random() % 40) - 20);
    switch (random() % 4) {
    case 0: {
        const double b = f.value((static_cast<std::uint32_t>(random()) & 1) ? 1u : 2u);
        return static_cast<float>(a + b / 2);
    }
    case 1:
        return static_cast<float>(a * (1 + std::ldexp(1.0, -f.mantissa - 1)));
    case 2:
        return std::nextafter(static_cast<float>(a * (1 + std::ldexp(1.0, -f.mantissa - 1))),
                              random() % 2 ? 1e30f : -1e30f);
    default:
        return static_cast<float>(a * (0.5 + static_cast<double>(random()) / 4e9));
    }
}

struct Narrow {
    const char* name; ///< format in mnemonics
    SmallFormat format;
};
constexpr Narrow fp8_format{"fp8", e4m3}, bf8_format{"bf8", e5m2}, fp6_format{"fp6", e2m3},
    bf6_format{"bf6", e3m2}, fp4_format{"fp4", e2m1};

} // namespace

TEST_CASE("valu: FP32 to FP8 and BF8 to nearest even") {
    std::mt19937 random(1);
    for (const Narrow& n : {fp8_format, bf8_format})
        for (const bool ovfl : {false, true})
            for (int i = 0; i < 3000; ++i) {
                const float x = draw_near(n.format, random);
                FloatMode mode;
                mode.fp16_ovfl = ovfl;
                CAPTURE(x);
                CHECK((run1("v_cvt_pk_" + std::string(n.name) + "_f32", {bits(x), 0}, mode) & 255) ==
                      nearest_code(n.format, x, ovfl));
            }
}

TEST_CASE("valu: FP8 and BF8 to FP32") {
    for (std::uint32_t code = 0; code < 256; ++code)
        for (const Narrow& n : {fp8_format, bf8_format}) {
            const double expected = n.format.value(code);
            const float r = value(run1("v_cvt_f32_" + std::string(n.name), {code << 8}, {}, 0, 1));
            CHECK((std::isnan(expected) ? std::isnan(r) : static_cast<double>(r) == expected));
            if (!std::isnan(expected))
                CHECK(std::signbit(r) == (code >> 7 != 0));
        }
}

TEST_CASE("valu: FP32 to FP16 in every rounding direction") {
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) {
        const float x = draw_near(fp16, random);
        const std::uint32_t nearest = nearest_code(fp16, x, false);
        CAPTURE(x);
        CHECK(run1("v_cvt_f16_f32", {bits(x)}) == nearest);
        // The neighbours that enclose x.
        FloatMode mode;
        for (std::uint8_t round = 1; round < 4; ++round) {
            mode.round64 = round;
            const std::uint32_t r = run1("v_cvt_f16_f32", {bits(x)}, mode);
            const double y = fp16.value(r);
            if (round == 1)
                CHECK(y >= static_cast<double>(x));
            else if (round == 2)
                CHECK(y <= static_cast<double>(x));
            else
                CHECK(std::fabs(y) <= std::fabs(static_cast<double>(x)));
            CHECK((r & 0x7FFF) - (nearest & 0x7FFF) + 1 <= 2);
        }
        CHECK((run1("v_cvt_pkrtz_f16_f32", {bits(x), bits(1.0f)}) & 0xFFFF) ==
              run1("v_cvt_f16_f32", {bits(x)}, mode));
    }
    CHECK(run1("v_cvt_pkrtz_f16_f32", {bits(1e6f), bits(-1e6f)}) == 0xFBFF7BFF);
    CHECK(run1("v_cvt_pk_f16_f32", {bits(1e6f), bits(-65519.0f)}) == 0xFBFF7C00);
    for (std::uint32_t code = 0; code < 0x10000; code += 7) {
        const double expected = fp16.value(code);
        const float r = value(run1("v_cvt_f32_f16", {code}));
        CHECK((std::isnan(expected) ? std::isnan(r) : static_cast<double>(r) == expected));
    }
}

TEST_CASE("valu: block-scaled conversions divide and multiply by the scale's power of two") {
    std::mt19937 random(3);
    for (const Narrow& n : {fp8_format, bf8_format, fp4_format})
        for (int i = 0; i < 1500; ++i) {
            const int e = static_cast<int>(random() % 60) - 30;
            const float near = draw_near(n.format, random);
            const float x = std::ldexp(near, e);
            if (x != 0 && !std::isnormal(x))
                continue;
            const std::uint32_t scale = bits(std::ldexp(1.5f, e)); // only the exponent counts
            const bool pair_is_byte = n.format.bits() == 4;
            const std::uint32_t mask = (1u << n.format.bits()) - 1;
            CAPTURE(x);
            CAPTURE(e);
            const std::string name(n.name);
            const std::uint32_t r =
                run1("v_cvt_scalef32_pk_" + name + "_f32", {bits(1.0f), bits(x), scale}, {}, 0xFFFFFFFF, 8);
            const std::uint32_t pair = r >> 16 & (pair_is_byte ? 0xFF : 0xFFFF);
            CHECK((pair >> n.format.bits()) == nearest_code(n.format, near, false));
            CHECK((pair & mask) == nearest_code(n.format, std::ldexp(1.0L, -e), false));
            CHECK((r | (pair_is_byte ? 0x00FF0000u : 0xFFFF0000u)) == 0xFFFFFFFF); // the rest is kept
            // Back: exact in FP32.
            const std::uint32_t code = static_cast<std::uint32_t>(random()) & mask;
            Call back;
            back.operand(0, broadcast(code << 16)).operand(1, broadcast(scale));
            back.call.op_sel = pair_is_byte ? 2 : 1;
            REQUIRE(back.run("v_cvt_scalef32_pk_f32_" + name));
            const double expected = std::ldexp(n.format.value(code), e);
            CHECK((std::isnan(expected) ? std::isnan(value(back.d(3)))
                                        : static_cast<double>(value(back.d(3))) == expected));
        }
}

TEST_CASE("valu: FP6 and BF6 conversions pack 32 elements in six registers") {
    std::mt19937 random(4);
    for (const Narrow& n : {fp6_format, bf6_format}) {
        const std::string name(n.name);
        Call c;
        Register source(16), scale(1);
        std::vector<float> elements(64 * 32);
        for (auto& x : elements)
            x = static_cast<float>(fp16.value(nearest_code(fp16, draw_near(n.format, random), true)));
        for (unsigned lane = 0; lane < 64; ++lane) {
            scale(lane) = bits(1.0f);
            for (unsigned k = 0; k < 32; ++k)
                source(lane, k / 2) |= nearest_code(fp16, elements[lane * 32 + k], true) << (16 * (k % 2));
        }
        c.source[0] = source;
        c.source[1] = scale;
        c.d = Register(32);
        REQUIRE(c.run("v_cvt_scalef32_pk32_" + name + "_f16"));
        std::size_t wrong = 0;
        for (unsigned lane = 0; lane < 64; ++lane)
            for (unsigned k = 0; k < 32; ++k) {
                const unsigned bit = 6 * k;
                std::uint64_t wide = c.d(lane, bit / 32);
                if (bit / 32 < 5)
                    wide |= static_cast<std::uint64_t>(c.d(lane, bit / 32 + 1)) << 32;
                wrong += (wide >> (bit % 32) & 63) != nearest_code(n.format, elements[lane * 32 + k], true);
            }
        CHECK(wrong == 0);
        // And back: every code survives.
        Call back;
        back.source[0] = c.d;
        back.source[1] = scale;
        back.d = Register(32);
        REQUIRE(back.run("v_cvt_scalef32_pk32_f32_" + name));
        for (unsigned k = 0; k < 32; ++k)
            CHECK(value(back.d(9, k)) ==
                  static_cast<float>(n.format.value(nearest_code(n.format, elements[9 * 32 + k], true))));
    }
}

TEST_CASE("valu: stochastic rounding picks one of the two neighbours, in proportion") {
    // 1.0625 lies half-way between the E4M3 numbers 1 and 1.125, 1.03125 a quarter of the way.
    for (const auto& [x, share] : {std::pair{1.0625f, 0.5}, {1.03125f, 0.25}, {0x1.8p-9f, 0.5}}) {
        std::mt19937 random(5);
        int up = 0;
        const int draws = 2000;
        const std::uint32_t low = x < 0.1f ? 0x01 : 0x38;
        for (int i = 0; i < draws; ++i) {
            const std::uint32_t r = run1("v_cvt_sr_fp8_f32", {bits(x), static_cast<std::uint32_t>(random())});
            REQUIRE((r == low || r == low + 1));
            up += r == low + 1;
        }
        CHECK(std::fabs(up / static_cast<double>(draws) - share) < 0.05);
    }
    CHECK(run1("v_cvt_sr_fp8_f32", {bits(2.0f), 0xFFFFFFFF}, {}, 0x11223344, 8) == 0x11403344); // exact stays
    CHECK(run1("v_cvt_sr_bf16_f32", {0x3F808000, 0x7FFFFFFF}, {}, 0, 0) == 0x3F80);
    CHECK(run1("v_cvt_sr_bf16_f32", {0x3F808000, 0x80000000}, {}, 0, 8) == 0x3F810000);
    CHECK(run1("v_cvt_sr_f16_f32", {bits(1.0f), 0xFFFFFFFF}) == 0x3C00);
}

TEST_CASE("valu: floats to integers truncate and saturate") {
    const std::pair<float, std::uint32_t> to_u32[] = {{-1.5f, 0},
                                                      {0.99f, 0},
                                                      {2.5f, 2},
                                                      {2147483648.0f, 0x80000000},
                                                      {4294967040.0f, 0xFFFFFF00},
                                                      {4294967296.0f, 0xFFFFFFFF},
                                                      {INFINITY, 0xFFFFFFFF},
                                                      {NAN, 0}};
    for (const auto& [x, expected] : to_u32)
        CHECK(run1("v_cvt_u32_f32", {bits(x)}) == expected);
    const std::pair<float, std::int32_t> to_i32[] = {
        {-1.9f, -1},        {1.9f, 1}, {2147483648.0f, INT32_MAX}, {-2147483648.0f, INT32_MIN},
        {-3e9f, INT32_MIN}, {NAN, 0}};
    for (const auto& [x, expected] : to_i32)
        CHECK(run1("v_cvt_i32_f32", {bits(x)}) == static_cast<std::uint32_t>(expected));
    CHECK(run1("v_cvt_flr_i32_f32", {bits(-1.5f)}) == static_cast<std::uint32_t>(-2));
    CHECK(run1("v_cvt_rpi_i32_f32", {bits(1.5f)}) == 2);
    CHECK(run1("v_cvt_f32_u32", {0xFFFFFFFF}) == bits(4294967296.0f));
    FloatMode down;
    down.round32 = 3;
    CHECK(run1("v_cvt_f32_u32", {0xFFFFFFFF}, down) == bits(4294967040.0f));
    CHECK(run1("v_cvt_f32_i32", {0x80000000}) == bits(-2147483648.0f));
    CHECK(run1("v_cvt_f32_ubyte2", {0x00AB0000}) == bits(171.0f));
    CHECK(run1("v_cvt_off_f32_i4", {0xF8}) == bits(-0.5f));
    CHECK(run1("v_cvt_pk_u16_u32", {70000, 5}) == 0x0005FFFF);
    CHECK(run1("v_cvt_pk_i16_i32", {static_cast<std::uint32_t>(-40000), 40000}) == 0x7FFF8000);
    CHECK(run1("v_cvt_pknorm_i16_f32", {bits(1.0f), bits(-2.0f)}) == 0x80017FFF);
    CHECK(run1("v_cvt_pknorm_u16_f32", {bits(0.5f), bits(2.0f)}) == 0xFFFF8000);
    CHECK(run1("v_cvt_u16_f16", {0x7BFF}) == 65504);
    CHECK(run1("v_cvt_i16_f16", {0xFBFF}) == 0x8000);
    CHECK(run1("v_cvt_f16_i16", {0xFFFF}) == 0xBC00);
    CHECK(run1("v_sat_pk_u8_i16", {0x01008001}) == 0xFF00);
}

TEST_CASE("valu: FP64 conversions") {
    const auto run64 = [](const char* name, double x) {
        Call c;
        const auto b = std::bit_cast<std::uint64_t>(x);
        Register r(2);
        for (unsigned lane = 0; lane < 64; ++lane) {
            r(lane, 0) = static_cast<std::uint32_t>(b);
            r(lane, 1) = static_cast<std::uint32_t>(b >> 32);
        }
        c.operand(0, r);
        REQUIRE(c.run(name));
        return c.d(11);
    };
    CHECK(run64("v_cvt_i32_f64", -2.9) == static_cast<std::uint32_t>(-2));
    CHECK(run64("v_cvt_i32_f64", 1e10) == 0x7FFFFFFF);
    CHECK(run64("v_cvt_u32_f64", 4294967295.7) == 0xFFFFFFFF);
    CHECK(run64("v_cvt_u32_f64", -5.0) == 0);
    CHECK(run64("v_cvt_f32_f64", 1.0 + 0x1p-30) == bits(1.0f));
    CHECK(run64("v_cvt_f32_f64", 1e300) == bits(INFINITY));
    CHECK(run64("v_frexp_exp_i32_f64", 0x1p-1074) == static_cast<std::uint32_t>(-1073));
}
