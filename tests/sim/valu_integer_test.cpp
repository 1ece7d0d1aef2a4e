// SPDX-License-Identifier: Apache-2.0
// Integer, bit and dot operations against plain statements of what they do.
#include <bit>
#include <random>

#include <doctest/doctest.h>

#include "tests/sim/valu_call.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

u32 draw(std::mt19937& random) {
    switch (random() % 4) {
    case 0:
        return static_cast<u32>(random()) & 0xFF;
    case 1:
        return 0xFFFFFF00u | (static_cast<u32>(random()) & 0xFF);
    default:
        return static_cast<u32>(random());
    }
}
i32 s(u32 x) {
    return static_cast<i32>(x);
}

} // namespace

TEST_CASE("valu: 32-bit integers") {
    std::mt19937 random(1);
    for (int n = 0; n < 2000; ++n) {
        const u32 a = draw(random), b = draw(random), c = draw(random);
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(c);
        CHECK(run1("v_add_u32", {a, b}) == a + b);
        CHECK(run1("v_subrev_u32", {a, b}) == b - a);
        CHECK(run1("v_mul_lo_u32", {a, b}) == a * b);
        CHECK(run1("v_mul_hi_u32", {a, b}) == static_cast<u32>(static_cast<u64>(a) * b >> 32));
        CHECK(run1("v_mul_hi_i32", {a, b}) == static_cast<u32>(static_cast<i64>(s(a)) * s(b) >> 32));
        CHECK(run1("v_mul_u32_u24", {a, b}) == (a & 0xFFFFFF) * (b & 0xFFFFFF));
        CHECK(run1("v_mul_i32_i24", {a, b}) ==
              static_cast<u32>(static_cast<i64>(s(a << 8) >> 8) * (s(b << 8) >> 8)));
        CHECK(run1("v_mad_u32_u24", {a, b, c}) == (a & 0xFFFFFF) * (b & 0xFFFFFF) + c);
        CHECK(run1("v_add3_u32", {a, b, c}) == a + b + c);
        CHECK(run1("v_lshl_add_u32", {a, b, c}) == (a << (b & 31)) + c);
        CHECK(run1("v_med3_i32", {a, b, c}) ==
              static_cast<u32>(std::max(std::min(s(a), s(b)), std::min(std::max(s(a), s(b)), s(c)))));
        CHECK(run1("v_max3_u32", {a, b, c}) == std::max({a, b, c}));
        CHECK(run1("v_xad_u32", {a, b, c}) == (a ^ b) + c);
        CHECK(run1("v_bfe_u32", {a, b, c}) == ((c & 31) == 0 ? 0u : a >> (b & 31) & ((1u << (c & 31)) - 1)));
        i64 field = 0;
        for (u32 bit = 0; bit < (c & 31); ++bit)
            field |= static_cast<i64>(static_cast<i64>(s(a)) >> ((b & 31) + bit) & 1) << bit;
        if ((c & 31) != 0 && (field >> ((c & 31) - 1) & 1) != 0)
            field -= i64{1} << (c & 31);
        CHECK(run1("v_bfe_i32", {a, b, c}) == static_cast<u32>(field));
        CHECK(run1("v_bfi_b32", {a, b, c}) == ((a & b) | (~a & c)));
        CHECK(run1("v_alignbit_b32", {a, b, c}) ==
              static_cast<u32>((static_cast<u64>(a) << 32 | b) >> (c & 31)));
        CHECK(run1("v_ffbh_u32", {a}) == (a ? static_cast<u32>(std::countl_zero(a)) : ~0u));
        CHECK(run1("v_ffbl_b32", {a}) == (a ? static_cast<u32>(std::countr_zero(a)) : ~0u));
        CHECK(run1("v_bcnt_u32_b32", {a, b}) == static_cast<u32>(std::popcount(a)) + b);
        CHECK(run1("v_ashrrev_i32", {a, b}) == static_cast<u32>(s(b) >> (a & 31)));
        u32 reversed = 0;
        for (u32 bit = 0; bit < 32; ++bit)
            reversed |= (a >> bit & 1) << (31 - bit);
        CHECK(run1("v_bfrev_b32", {a}) == reversed);
        u32 sad = c;
        for (u32 byte = 0; byte < 4; ++byte)
            sad += static_cast<u32>(std::abs(s(a >> 8 * byte & 255) - s(b >> 8 * byte & 255)));
        CHECK(run1("v_sad_u8", {a, b, c}) == sad);
        CHECK(run1("v_prng_b32", {a}) == ((a << 1) ^ (a >> 31 ? 0xC5 : 0)));
        i64 dot = s(c);
        for (u32 byte = 0; byte < 4; ++byte)
            dot += static_cast<std::int8_t>(a >> 8 * byte) * static_cast<std::int8_t>(b >> 8 * byte);
        CHECK(run1("v_dot4_i32_i8", {a, b, c}) == static_cast<u32>(dot));
        u64 dot8 = c;
        for (u32 nibble = 0; nibble < 8; ++nibble)
            dot8 += (a >> 4 * nibble & 15) * (b >> 4 * nibble & 15);
        CHECK(run1("v_dot8_u32_u4", {a, b, c}) == static_cast<u32>(dot8));
    }
    CHECK(run1("v_ffbh_i32", {0xFFFFFF00}) == 24);
    CHECK(run1("v_ffbh_i32", {0xFFFFFFFF}) == ~0u);
    CHECK(run1("v_bfm_b32", {4, 8}) == 0xF00);
}

TEST_CASE("valu: saturation") {
    Call c;
    c.call.clamp = true;
    c.operand(0, broadcast(0x7FFFFFFFu)).operand(1, broadcast(1u)).operand(2, broadcast(0u));
    REQUIRE(c.run("v_add_i32"));
    CHECK(c.d(0) == 0x7FFFFFFF);
    REQUIRE(c.run("v_add_u32"));
    CHECK(c.d(0) == 0x80000000);
    c.operand(0, broadcast(1u)).operand(1, broadcast(2u));
    REQUIRE(c.run("v_sub_u32"));
    CHECK(c.d(0) == 0);
    REQUIRE(c.run("v_pk_sub_u16"));
    CHECK(c.d(0) == 0);
    c.operand(0, broadcast(0x7FFF8000u)).operand(1, broadcast(0x0001FFFFu));
    REQUIRE(c.run("v_pk_add_i16"));
    CHECK(c.d(0) == 0x7FFF8000);
}

TEST_CASE("valu: carries and wide multiplies") {
    Call c;
    c.operand(0, broadcast(0xFFFFFFFFu)).operand(1, broadcast(1u));
    c.call.exec = 0xFF;
    REQUIRE(c.run("v_add_co_u32"));
    CHECK(c.d(0) == 0);
    CHECK(c.call.mask_out == 0xFF);
    c.call.exec = ~0ull;
    c.call.mask_in = 0xF0;
    REQUIRE(c.run("v_addc_co_u32"));
    CHECK(c.d(0) == 0);
    CHECK(c.d(4) == 1);
    c.operand(0, broadcast(0u));
    REQUIRE(c.run("v_subb_co_u32"));
    CHECK(c.d(0) == 0xFFFFFFFF);
    CHECK(c.d(4) == 0xFFFFFFFE);
    CHECK(c.call.mask_out == ~0ull);

    std::mt19937 random(2);
    for (int n = 0; n < 500; ++n) {
        const u32 a = draw(random), b = draw(random);
        const u64 addend = static_cast<u64>(draw(random)) << 32 | draw(random);
        Register wide(2);
        for (unsigned lane = 0; lane < 64; ++lane) {
            wide(lane, 0) = static_cast<u32>(addend);
            wide(lane, 1) = static_cast<u32>(addend >> 32);
        }
        Call m;
        m.operand(0, broadcast(a)).operand(1, broadcast(b)).operand(2, wide);
        REQUIRE(m.run("v_mad_u64_u32"));
        const u128 sum = static_cast<u128>(static_cast<u64>(a) * b) + addend;
        CHECK((m.d(3, 0) | static_cast<u64>(m.d(3, 1)) << 32) == static_cast<u64>(sum));
        CHECK((m.call.mask_out == ~0ull) == (sum >> 64 != 0));
        REQUIRE(m.run("v_mad_i64_i32"));
        const i128 signed_sum = static_cast<i128>(static_cast<i64>(s(a)) * s(b)) + static_cast<i64>(addend);
        CHECK((m.d(3, 0) | static_cast<u64>(m.d(3, 1)) << 32) == static_cast<u64>(signed_sum));
        CHECK((m.call.mask_out == ~0ull) == ((signed_sum >> 64 & 1) != 0));
    }
}

TEST_CASE("valu: lanes below") {
    Call c;
    c.operand(0, broadcast(0xFFFFFFFFu)).operand(1, broadcast(0u));
    REQUIRE(c.run("v_mbcnt_lo_u32_b32"));
    CHECK(c.d(5) == 5);
    CHECK(c.d(40) == 32);
    REQUIRE(c.run("v_mbcnt_hi_u32_b32"));
    CHECK(c.d(5) == 0);
    CHECK(c.d(40) == 8);
}

TEST_CASE("valu: v_perm_b32 selectors") {
    const u32 s0 = 0x87654321, s1 = 0xF0E1D2C3;
    for (u32 selector = 0; selector < 16; ++selector) {
        const u64 data = static_cast<u64>(s0) << 32 | s1;
        u32 expected = 0xFF;
        if (selector < 8)
            expected = static_cast<u32>(data >> 8 * selector) & 255;
        else if (selector < 12)
            expected = data >> (16 * (selector - 8) + 15) & 1 ? 255 : 0;
        else if (selector == 12)
            expected = 0;
        CAPTURE(selector);
        // Bytes 3 and 1 zero, byte 2 the one looked at, byte 0 the top byte of s0.
        CHECK(run1("v_perm_b32", {s0, s1, 0x0C000C07u | selector << 16}) == (expected << 16 | 0x87));
        CHECK(run1("v_perm_b32", {s0, s1, selector * 0x01010101u}) == expected * 0x01010101u);
    }
}

TEST_CASE("valu: v_bitop3 evaluates its truth table") {
    std::mt19937 random(3);
    for (u32 table = 0; table < 256; ++table) {
        const u32 a = static_cast<u32>(random()), b = static_cast<u32>(random()),
                  d = static_cast<u32>(random());
        u32 expected = 0;
        for (u32 bit = 0; bit < 32; ++bit)
            expected |= (table >> ((a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (d >> bit & 1)) & 1) << bit;
        Call c;
        c.operand(0, broadcast(a)).operand(1, broadcast(b)).operand(2, broadcast(d));
        c.call.control = table;
        REQUIRE(c.run("v_bitop3_b32"));
        CHECK(c.d(0) == expected);
        c.d = Register(4, 0xABCD0000);
        c.call.op_sel = 0;
        REQUIRE(c.run("v_bitop3_b16"));
        CHECK(c.d(0) == (0xABCD0000 | (expected & 0xFFFF)));
    }
}

TEST_CASE("valu: sums of absolute differences over sliding windows") {
    Call c;
    Register window(2), sums(4);
    for (unsigned lane = 0; lane < 64; ++lane) {
        window(lane, 0) = 0x04030201;
        window(lane, 1) = 0x08070605;
        for (unsigned r = 0; r < 4; ++r)
            sums(lane, r) = 1000 * r;
    }
    c.operand(0, window).operand(1, broadcast(0x04030001u)).operand(2, sums);
    REQUIRE(c.run("v_mqsad_u32_u8")); // byte 1 of the reference is 0 and does not count
    CHECK(c.d(7, 0) == 0);
    CHECK(c.d(7, 1) == 1003);
    CHECK(c.d(7, 2) == 2006);
    CHECK(c.d(7, 3) == 3009);
    sums = Register(4);
    c.operand(2, sums);
    REQUIRE(c.run("v_qsad_pk_u16_u8"));
    CHECK(c.d(7, 0) == (2u | (1 + 3 + 1 + 1) << 16));
}

TEST_CASE("valu: comparisons") {
    const auto mask = [](const char* name, u32 a, u32 b) {
        Call c;
        c.operand(0, broadcast(a)).operand(1, broadcast(b));
        c.call.exec = 0x10;
        REQUIRE(c.run(name));
        return c.call.mask_out != 0;
    };
    CHECK(mask("v_cmp_lt_i32", 0xFFFFFFFF, 0));
    CHECK_FALSE(mask("v_cmp_lt_u32", 0xFFFFFFFF, 0));
    CHECK(mask("v_cmp_lt_i16", 0x1234FFFF, 0x56780000));
    const u32 nan = 0x7FC00000, one = bits(1.0f), two = bits(2.0f);
    struct Case {
        const char* name;
        bool less, equal, greater, unordered;
    };
    for (const Case& k : {Case{"lt", true, false, false, false}, Case{"eq", false, true, false, false},
                          Case{"le", true, true, false, false}, Case{"gt", false, false, true, false},
                          Case{"lg", true, false, true, false}, Case{"ge", false, true, true, false},
                          Case{"o", true, true, true, false}, Case{"u", false, false, false, true},
                          Case{"nge", true, false, false, true}, Case{"nlg", false, true, false, true},
                          Case{"ngt", true, true, false, true}, Case{"nle", false, false, true, true},
                          Case{"neq", true, false, true, true}, Case{"nlt", false, true, true, true},
                          Case{"tru", true, true, true, true}, Case{"f", false, false, false, false}}) {
        const std::string name = "v_cmp_" + std::string(k.name) + "_f32";
        CAPTURE(name);
        CHECK(mask(name.c_str(), one, two) == k.less);
        CHECK(mask(name.c_str(), one, one) == k.equal);
        CHECK(mask(name.c_str(), two, one) == k.greater);
        CHECK(mask(name.c_str(), nan, one) == k.unordered);
    }
}

TEST_CASE("valu: dot products of halves") {
    Call c;
    c.operand(0, broadcast(0x40003C00u)).operand(1, broadcast(0x44004200u)).operand(2, broadcast(0.5f));
    REQUIRE(c.run("v_dot2_f32_f16"));
    CHECK(c.d(0) == bits(1.0f * 3.0f + 2.0f * 4.0f + 0.5f));
    c.operand(0, broadcast(0x40003F80u)).operand(1, broadcast(0x40804040u));
    REQUIRE(c.run("v_dot2_f32_bf16"));
    CHECK(c.d(0) == bits(11.5f));
    c.d = Register(4, bits(1.0f));
    REQUIRE(c.run("v_dot2c_f32_bf16"));
    CHECK(c.d(0) == bits(12.0f));
}
