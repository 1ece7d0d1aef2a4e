// SPDX-License-Identifier: Apache-2.0
// MODE's rounding and denormal fields, set by s_setreg: FP32 by its own, FP16 and FP64 by theirs (CDNA4 ISA,
// "MODE register": rounding 0 nearest even, 1 up, 2 down, 3 to zero; denormals bit 0 kept in sources, bit 1
// in results). Expected values are the host's under the same rounding.
#include "tests/sim/engine_lanes.hpp"

#include <cfenv>
#include <cmath>
#include <random>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

constexpr int host_rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/// f(a, b, c) under a rounding; volatile, so that it is not computed elsewhere.
template <class T, class F>
T rounded(unsigned mode, F f, T a, T b, T c) {
    volatile T x = a, y = b, z = c;
    const int before = std::fegetround();
    std::fesetround(host_rounding[mode]);
    volatile T result = f(x, y, z);
    std::fesetround(before);
    return result;
}

/// A double's FP16 neighbour in the direction; of normal results.
std::uint32_t half_of(double value, unsigned mode) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const double unit = std::ldexp(1.0, exponent - 11);
    const double steps = rounded<double>(
        mode, [](double x, double y, double) { return std::nearbyint(x / y); }, value, unit, 0);
    const double result = steps * unit; // exact
    int e = 0;
    const double fraction = std::frexp(std::fabs(result), &e);
    return (value < 0 ? 0x8000u : 0) | static_cast<std::uint32_t>(e + 14) << 10 |
           (static_cast<std::uint32_t>(fraction * 2048) & 0x3ff);
}
double from_half(std::uint32_t h) { // normal
    const double magnitude = std::ldexp(1024.0 + (h & 0x3ff), static_cast<int>(h >> 10 & 31) - 25);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

std::string set_mode(unsigned low_bit, unsigned width, unsigned value) {
    return "s_setreg_imm32_b32 hwreg(HW_REG_MODE," + std::to_string(low_bit) + "," + std::to_string(width) +
           "), " + std::to_string(value) + "\n";
}

} // namespace

TEST_CASE("engine: MODE's rounding fields govern FP32, and FP16 with FP64, in every direction") {
    std::mt19937 random(11);
    const auto single = [&] {
        return (static_cast<std::uint32_t>(random()) & 0x807fffffu) | (120 + random() % 14) << 23;
    };
    const auto half = [&] {
        return (static_cast<std::uint32_t>(random()) & 0x83ffu) | (12 + random() % 6) << 10;
    };
    std::vector<Register> in(13); // three FP32, three FP16, one that keeps pairs even, three FP64
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned n = 0; n < 3; ++n) {
            in[n][lane] = single();
            in[3 + n][lane] = half();
            in[7 + 2 * n][lane] = static_cast<std::uint32_t>(random());
            in[8 + 2 * n][lane] =
                (static_cast<std::uint32_t>(random()) & 0x800fffffu) | (1015 + random() % 14) << 20;
        }
    }
    for (unsigned mode = 0; mode < 4; ++mode) {
        const unsigned mode64 = (mode + 1) % 4;
        CAPTURE(mode);
        const auto r = run_lanes(set_mode(0, 4, mode | mode64 << 2) + R"(
            v_add_f32 v32, v1, v2
            v_mul_f32 v33, v1, v2
            v_fma_f32 v34, v1, v2, v3
            v_mov_b32 v14, v1
            v_mov_b32 v15, v2
            v_pk_add_f32 v[42:43], v[14:15], v[2:3]
            v_add_f16 v35, v4, v5
            v_mul_f16 v36, v4, v5
            v_fma_f16 v37, v4, v5, v6
            v_pk_mul_f16 v44, v4, v5 op_sel_hi:[0,0]
            v_add_f64 v[38:39], v[8:9], v[10:11]
            v_fma_f64 v[40:41], v[8:9], v[10:11], v[12:13]
            v_cvt_f32_f64 v45, v[8:9]
            v_cvt_f16_f32 v46, v1
        )",
                                 in, 15);
        for (unsigned lane = 0; lane < 64; ++lane) {
            CAPTURE(lane);
            const float a = std::bit_cast<float>(in[0][lane]), b = std::bit_cast<float>(in[1][lane]),
                        c = std::bit_cast<float>(in[2][lane]);
            const auto add = [](auto x, auto y, auto) { return x + y; };
            const auto fma = [](auto x, auto y, auto z) { return std::fma(x, y, z); };
            CHECK(r[0][lane] == bits(rounded(mode, add, a, b, c)));
            CHECK(r[1][lane] == bits(rounded(mode, [](float x, float y, float) { return x * y; }, a, b, c)));
            CHECK(r[2][lane] == bits(rounded(mode, fma, a, b, c)));
            CHECK(r[10][lane] == bits(rounded(mode, add, a, b, c)));
            CHECK(r[11][lane] == bits(rounded(mode, add, b, c, c)));
            const double f = from_half(in[3][lane]), g = from_half(in[4][lane]), h = from_half(in[5][lane]);
            CHECK((r[4][lane] & 0xffff) == half_of(f * g, mode64));
            CHECK(r[12][lane] == (half_of(f * g, mode64) * 0x10001u));
            if (std::fabs(f + g) > 0x1p-13) // else exact or subnormal
                CHECK((r[3][lane] & 0xffff) == half_of(f + g, mode64));
            if (std::fabs(f * g + h) > 0x1p-13)
                CHECK((r[5][lane] & 0xffff) == half_of(f * g + h, mode64));
            const auto wide = [&](const std::vector<Register>& from, unsigned n) {
                return std::bit_cast<double>(from[n][lane] | std::uint64_t{from[n + 1][lane]} << 32);
            };
            const double x = wide(in, 7), y = wide(in, 9), z = wide(in, 11);
            CHECK(wide(r, 6) == rounded(mode64, add, x, y, z));
            CHECK(wide(r, 8) == rounded(mode64, fma, x, y, z));
            std::fesetround(host_rounding[mode]);
            volatile double exact = x;
            volatile float narrowed = static_cast<float>(exact);
            std::fesetround(FE_TONEAREST);
            CHECK(r[13][lane] == bits(narrowed));
            CHECK((r[14][lane] & 0xffff) == half_of(a, mode64));
        }
    }
}

TEST_CASE("engine: MODE's denormal fields govern sources and results of FP32, and of FP16 with FP64") {
    // A subnormal plus zero: kept in sources, and again in results. A normal times one half: results alone.
    for (unsigned keep = 0; keep < 4; ++keep) {
        const unsigned keep64 = 3 - keep;
        CAPTURE(keep);
        const auto r =
            run_lanes(set_mode(4, 4, keep | keep64 << 2) + R"(
            v_add_f32 v32, v1, v2
            v_mul_f32 v33, v3, v4
            v_mul_f32 v34, v1, v5
            v_add_f16 v35, v6, v7
            v_mul_f16 v36, v8, v9
            v_mul_f16 v37, v6, v10
            v_add_f64 v[38:39], v[12:13], 0
            v_mul_f64 v[40:41], v[14:15], 0.5
            v_mov_b32 v16, 0
            v_mov_b32 v17, 0x45000000
            v_mul_f64 v[42:43], v[12:13], v[16:17]
            v_fma_f32 v44, v1, 1.0, v2
        )",
                      {all(0x80012345), all(0), all(0x80800000), all(bits(0.5f)), all(bits(0x1p60f)),
                       all(0x8123), all(0), all(0x8400), all(0x3800), all(0x6400), all(0), all(0x12345),
                       all(0x80000000), all(0), all(0x80100000)},
                      13);
        const bool source = (keep & 1) != 0, result = (keep & 2) != 0;
        const bool source64 = (keep64 & 1) != 0, result64 = (keep64 & 2) != 0;
        // -0 + 0 is 0; a result that is flushed keeps its sign.
        CHECK(r[0][0] == (!source ? 0 : result ? 0x80012345u : 0x80000000u));
        CHECK(r[12][0] == (!source ? 0 : result ? 0x80012345u : 0x80000000u));
        CHECK(r[1][0] == (result ? 0x80400000u : 0x80000000u));
        CHECK(r[2][0] == (source ? bits(std::bit_cast<float>(0x80012345u) * 0x1p60f) : 0x80000000u));
        CHECK((r[3][0] & 0xffff) == (!source64 ? 0 : result64 ? 0x8123u : 0x8000u));
        CHECK((r[4][0] & 0xffff) == (result64 ? 0x8200u : 0x8000u));
        CHECK((r[5][0] & 0xffff) == (source64 ? 0xa48cu : 0x8000u)); // -291 2^-24 times 1024
        CHECK(r[7][0] == (!source64 ? 0 : 0x80000000u));
        CHECK(r[6][0] == (source64 && result64 ? 0x12345u : 0));
        CHECK(r[9][0] == (result64 ? 0x80080000u : 0x80000000u));
        CHECK((r[11][0] != 0x80000000u) == source64);
    }
}

TEST_CASE("engine: MODE as the kernel descriptor has it") {
    KernelShape keeps;
    keeps.keep_denormals = true;
    CHECK(run_lanes("v_add_f32 v32, v1, v1", {all(1)}, 1, keeps)[0][0] == 2);
    CHECK(run_lanes("v_add_f32 v32, v1, v1", {all(1)})[0][0] == 0);
}
