// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic: FP16 against exact sums, division as compilers expand it, MODE and modifiers.
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "tests/sim/valu_call.hpp"
#include "tests/sim/valu_rounding.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

__extension__ using Quad = __float128;

std::uint32_t random_half(std::mt19937& random) {
    std::uint32_t h;
    do
        h = static_cast<std::uint32_t>(random()) & 0xFFFF;
    while ((h & 0x7C00) == 0x7C00);
    return h;
}

/// One lane's worth of registers that a sequence of operations works on.
class Sequence {
  public:
    template <class T>
    T run(const char* name, T a, T b, T c, bool mask_in = false) {
        FloatMode keep;
        keep.denorm32 = 3;
        Call call(keep);
        call.operand(0, spread(a)).operand(1, spread(b)).operand(2, spread(c));
        call.call.mask_in = mask_in ? ~0ull : 0;
        REQUIRE(call.run(name));
        mask_out = call.call.mask_out != 0;
        if constexpr (sizeof(T) == 8)
            return std::bit_cast<T>(call.d(0, 0) | static_cast<std::uint64_t>(call.d(0, 1)) << 32);
        else
            return std::bit_cast<T>(call.d(0));
    }
    bool mask_out = false;

  private:
    static Register spread(float x) { return Register(1, bits(x)); }
    static Register spread(double x) {
        Register r(2);
        const auto b = std::bit_cast<std::uint64_t>(x);
        for (unsigned lane = 0; lane < 64; ++lane) {
            r(lane, 0) = static_cast<std::uint32_t>(b);
            r(lane, 1) = static_cast<std::uint32_t>(b >> 32);
        }
        return r;
    }
};

/// LLVM's expansion of n / d (SIISelLowering, LowerFDIV32 with denormals on).
float divide(float n, float d) {
    Sequence s;
    const float ds = s.run("v_div_scale_f32", d, d, n), ns = s.run("v_div_scale_f32", n, d, n);
    const bool scaled = s.mask_out;
    const float r = s.run("v_rcp_f32", ds, 0.0f, 0.0f);
    const auto fma = [&](float a, float b, float c) { return s.run("v_fma_f32", a, b, c); };
    const float f0 = fma(-ds, r, 1.0f), f1 = fma(f0, r, r), m = ns * f1;
    const float f2 = fma(-ds, m, ns), f3 = fma(f2, f1, m), f4 = fma(-ds, f3, ns);
    return s.run("v_div_fixup_f32", s.run("v_div_fmas_f32", f4, f1, f3, scaled), d, n);
}
double divide(double n, double d) {
    Sequence s;
    const double ds = s.run("v_div_scale_f64", d, d, n), ns = s.run("v_div_scale_f64", n, d, n);
    const bool scaled = s.mask_out;
    const double r = s.run("v_rcp_f64", ds, 0.0, 0.0);
    const auto fma = [&](double a, double b, double c) { return s.run("v_fma_f64", a, b, c); };
    const double f0 = fma(-ds, r, 1.0), f1 = fma(r, f0, r), f2 = fma(-ds, f1, 1.0), f3 = fma(f1, f2, f1);
    const double m = ns * f3, f4 = fma(-ds, m, ns);
    return s.run("v_div_fixup_f64", s.run("v_div_fmas_f64", f4, f3, m, scaled), d, n);
}

} // namespace

TEST_CASE("valu: FP16 arithmetic rounds once") {
    std::mt19937 random(1);
    std::size_t wrong = 0;
    for (int i = 0; i < 30000; ++i) {
        const std::uint32_t a = random_half(random), b = random_half(random), c = random_half(random);
        const long double x = fp16.value(a), y = fp16.value(b), z = fp16.value(c);
        // Exact in long double up to 64 bits; FP16 sums of products need up to 81, hence the split below.
        wrong += run1("v_add_f16", {a, b}) != nearest_code(fp16, x + y, false) && x + y != 0;
        wrong += run1("v_sub_f16", {a, b}) != nearest_code(fp16, x - y, false) && x - y != 0;
        wrong += run1("v_mul_f16", {a, b}) != nearest_code(fp16, x * y, false);
        const Quad exact = static_cast<Quad>(x) * static_cast<Quad>(y) + static_cast<Quad>(z);
        long double sum = static_cast<long double>(exact);
        if (static_cast<Quad>(sum) != exact) // never at a tie then: nudge toward the exact value
            sum = std::nextafter(sum, static_cast<Quad>(sum) < exact ? HUGE_VALL : -HUGE_VALL);
        wrong += (run1("v_fma_f16", {a, b, c}) & 0xFFFF) != nearest_code(fp16, sum, false) && sum != 0;
    }
    CHECK(wrong == 0);
    CHECK(run1("v_add_f16", {0x7BFF, 0x7BFF}) == 0x7C00);
    FloatMode ovfl;
    ovfl.fp16_ovfl = true;
    CHECK(run1("v_add_f16", {0x7BFF, 0x7BFF}, ovfl) == 0x7BFF);
    CHECK(run1("v_add_f16", {0x7C00, 0x3C00}, ovfl) == 0x7C00); // a true infinity stays
    FloatMode flush;
    flush.denorm64 = 0;
    CHECK(run1("v_add_f16", {0x0001, 0x0001}, flush) == 0);
    CHECK(run1("v_add_f16", {0x0001, 0x0001}) == 2);
}

TEST_CASE("valu: which half FP16 operations read, write and keep") {
    // v_fma_f16 keeps the other half, v_add_f16 clears it (LLVM zeroesHigh16BitsOfDest).
    CHECK(run1("v_fma_f16", {0x3C00, 0x3C00, 0x3C00}, {}, 0xAAAABBBB) == 0xAAAA4000);
    CHECK(run1("v_fma_f16", {0x3C00, 0x40003C00, 0x3C00}, {}, 0xAAAABBBB, 8 | 2) == 0x4200BBBB);
    CHECK(run1("v_add_f16", {0x3C00, 0x3C00}, {}, 0xAAAABBBB) == 0x4000);
    CHECK(run1("v_cvt_f32_f16", {0x3C004000}, {}, 0, 1) == bits(1.0f));
    CHECK(run1("v_pack_b32_f16", {0x11112222, 0x33334444}, {}, 0, 1) == 0x44441111);
}

TEST_CASE("valu: packed FP16 picks halves and signs") {
    Call c;
    c.operand(0, broadcast(0x40003C00u)).operand(1, broadcast(0x44004200u)); // (1, 2), (3, 4), low first
    c.call.op_sel = 2;                                                       // low result: s0 low, s1 high
    c.call.op_sel_hi = 1;                                                    // high result: s0 high, s1 low
    c.call.neg_hi = 2;                                                       // and s1 negated there
    REQUIRE(c.run("v_pk_add_f16"));
    CHECK(c.d(5) == 0xBC004500); // 1 + 4, 2 - 3
}

TEST_CASE("valu: v_fma_mix takes FP16 or FP32 per source") {
    Call c;
    c.operand(0, broadcast(0x40000000u))
        .operand(1, broadcast(0x42003C00u))
        .operand(2, broadcast(0xBF800000u));
    c.call.op_sel_hi = 2; // source 1 is FP16 ...
    c.call.op_sel = 2;    // ... its high half, 3
    c.call.neg_hi = 4;    // |source 2|
    REQUIRE(c.run("v_fma_mix_f32"));
    CHECK(c.d(0) == bits(7.0f));
    c.d = Register(4, 0x12345678);
    REQUIRE(c.run("v_fma_mixhi_f16"));
    CHECK(c.d(0) == 0x47005678);
}

TEST_CASE("valu: division as compilers expand it is correctly rounded") {
    std::mt19937 random(2);
    std::size_t wrong = 0;
    for (int i = 0; i < 3000; ++i) {
        const float n = value(static_cast<std::uint32_t>(random())),
                    d = value(static_cast<std::uint32_t>(random()));
        const float expected = n / d, r = divide(n, d);
        wrong += std::isnan(expected) ? !std::isnan(r) : r != expected;
    }
    CHECK(wrong == 0);
    for (int i = 0; i < 3000; ++i) {
        const auto draw = [&] {
            return std::bit_cast<double>(static_cast<std::uint64_t>(random()) << 32 | random());
        };
        const double n = draw(), d = draw(), expected = n / d, r = divide(n, d);
        wrong += std::isnan(expected) ? !std::isnan(r) : r != expected;
    }
    CHECK(wrong == 0);
    CHECK(divide(1.0f, 0.0f) == INFINITY);
    CHECK(divide(-1.0f, INFINITY) == 0.0f);
    CHECK(divide(0x1p-149f, 0x1p-149f) == 1.0f);
    CHECK(divide(0x1.fffffep127f, 0x1p-126f) == INFINITY);
    CHECK(divide(0x1p-126f, 0x1.8p1f) == 0x1p-126f / 0x1.8p1f);
}

TEST_CASE("valu: MODE decides about denormals and rounding") {
    const std::uint32_t tiny = 1, small = 0x00800000;
    FloatMode flush;
    flush.denorm32 = 0;
    FloatMode keep;
    keep.denorm32 = 3;
    FloatMode flush_out;
    flush_out.denorm32 = 1;
    CHECK(run1("v_add_f32", {tiny, tiny}, keep) == 2);
    CHECK(run1("v_add_f32", {tiny, small}, flush) == small);
    CHECK(run1("v_add_f32", {tiny, small}, flush_out) == small + 1);
    CHECK(run1("v_mul_f32", {small, bits(-0.5f)}, flush_out) == 0x80000000);
    CHECK(run1("v_max_f32", {tiny, 0x80000000}, flush) == 0);
    CHECK(run1("v_mov_b32", {tiny}, flush) == tiny);
    FloatMode up;
    up.round32 = 1;
    CHECK(run1("v_add_f32", {bits(1.0f), bits(0x1p-30f)}, up) == bits(1.0f) + 1);
    up.round32 = 3;
    CHECK(run1("v_fma_f32", {bits(3.0f), bits(1.0f), bits(-0x1p-40f)}, up) == bits(3.0f) - 1);
    CHECK(run1("v_add_f32", {bits(INFINITY), bits(-INFINITY)}) == 0x7FC00000);
    CHECK(run1("v_add_f32", {bits(1.0f), 0x7F800123}) == 0x7FC00123); // quieted operand
}

TEST_CASE("valu: output modifiers") {
    Call c;
    c.mode.denorm32 = 0;
    c.operand(0, broadcast(3.0f)).operand(1, broadcast(-1.0f));
    c.call.omod = 3;
    REQUIRE(c.run("v_add_f32"));
    CHECK(c.d(0) == bits(1.0f));
    c.mode.denorm32 = 3; // ignored while denormals are on
    REQUIRE(c.run("v_add_f32"));
    CHECK(c.d(0) == bits(2.0f));
    c.call.omod = 0;
    c.call.clamp = true;
    REQUIRE(c.run("v_add_f32"));
    CHECK(c.d(0) == bits(1.0f));
    c.operand(0, broadcast(0x7FC00000u));
    REQUIRE(c.run("v_add_f32"));
    CHECK(std::isnan(value(c.d(0))));
    c.mode.dx10_clamp = true;
    REQUIRE(c.run("v_add_f32"));
    CHECK(c.d(0) == 0);
}

TEST_CASE("valu: rounding to integers and taking floats apart") {
    FloatMode keep;
    keep.denorm32 = 3;
    std::mt19937 random(3);
    std::size_t wrong = 0;
    for (int i = 0; i < 20000; ++i) {
        const float x = value((static_cast<std::uint32_t>(random()) & 0x807FFFFF) |
                              (100 + static_cast<std::uint32_t>(random()) % 60) << 23) +
                        (random() % 3 == 0 ? 0.5f : 0.0f);
        const std::uint32_t b = bits(x);
        wrong += run1("v_floor_f32", {b}) != bits(std::floor(x));
        wrong += run1("v_ceil_f32", {b}) != bits(std::ceil(x));
        wrong += run1("v_trunc_f32", {b}) != bits(std::trunc(x));
        wrong += run1("v_rndne_f32", {b}) != bits(std::nearbyint(x));
        int e;
        wrong += run1("v_frexp_mant_f32", {b}) != bits(std::frexp(x, &e));
        wrong += run1("v_frexp_exp_i32_f32", {b}) != static_cast<std::uint32_t>(e);
        const int power = static_cast<int>(random() % 300) - 150;
        wrong +=
            run1("v_ldexp_f32", {b, static_cast<std::uint32_t>(power)}, keep) != bits(std::ldexp(x, power));
    }
    CHECK(wrong == 0);
    CHECK(run1("v_fract_f32", {bits(-0x1p-40f)}) == 0x3F7FFFFF);
    CHECK(run1("v_fract_f32", {bits(2.25f)}) == bits(0.25f));
    CHECK(run1("v_ldexp_f32", {bits(0x1.8p0f), static_cast<std::uint32_t>(-149)}, keep) ==
          2); // one rounding, tie to even
    CHECK(run1("v_ldexp_f32", {bits(1.0f), 100000}, keep) == bits(INFINITY));
    Sequence s;
    for (int i = 0; i < 3000; ++i) {
        const double x = std::bit_cast<double>((static_cast<std::uint64_t>(random()) << 32 | random()) &
                                               0xBFFFFFFFFFFFFFFFull) *
                         0x1p+0;
        CHECK(s.run("v_floor_f64", x, 0.0, 0.0) == std::floor(x));
        CHECK(s.run("v_rndne_f64", x, 0.0, 0.0) == std::nearbyint(x));
    }
    Call l;
    Register half_tiny(2);
    for (unsigned lane = 0; lane < 64; ++lane)
        half_tiny(lane, 1) = 0x3FF80000; // 1.5
    l.operand(0, half_tiny).operand(1, broadcast(static_cast<std::uint32_t>(-1074)));
    REQUIRE(l.run("v_ldexp_f64"));
    CHECK(l.d(0, 0) == 2);
    CHECK(l.d(0, 1) == 0);
}

TEST_CASE("valu: classes") {
    const std::pair<std::uint32_t, std::uint32_t> cases[] = {
        {0x7F800001, 1},  {0x7FC00000, 2}, {0xFF800000, 4},   {0xBF800000, 8},   {0x80000001, 16},
        {0x80000000, 32}, {0, 64},         {0x00000001, 128}, {0x3F800000, 256}, {0x7F800000, 512}};
    for (const auto& [x, bit] : cases)
        for (std::uint32_t mask = 1; mask < 1024; mask *= 2) {
            Call c;
            c.operand(0, broadcast(x)).operand(1, broadcast(mask));
            REQUIRE(c.run("v_cmp_class_f32"));
            CHECK((c.call.mask_out != 0) == (mask == bit));
        }
}

TEST_CASE("valu: reduction constants of 2/pi") {
    // The first 53 bits after the point, as a fraction.
    Sequence s;
    Call c;
    Register one(2);
    for (unsigned lane = 0; lane < 64; ++lane)
        one(lane, 1) = 0x3FF00000;
    c.operand(0, one).operand(1, broadcast(0u));
    REQUIRE(c.run("v_trig_preop_f64"));
    const double r = std::bit_cast<double>(c.d(0, 0) | static_cast<std::uint64_t>(c.d(0, 1)) << 32);
    CHECK(std::fabs(r - 0.63661977236758134308) <= 0x1p-53);
    CHECK(r <= 0.63661977236758134308);
}
