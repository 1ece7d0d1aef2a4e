// SPDX-License-Identifier: Apache-2.0
// One vector per row for scalar instructions, from the operations of the CDNA4 ISA manual (SOP2, SOP1, SOPC,
// SOPK, SOPP): result and SCC.
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

constexpr std::uint64_t untouched = 0x1111111122222222;

struct Row {
    const char* text; ///< a is s[20:21], b is s[22:23], the result s[24:25]
    std::uint64_t a, b;
    bool scc; ///< before
    std::uint64_t result;
    bool scc_after;
};

constexpr std::uint64_t low(std::uint64_t value) {
    return (untouched & 0xffffffff00000000) | value;
}

const Row rows[] = {
    // Arithmetic: SCC is signed overflow (_i32), carry or borrow (_u32).
    {"s_add_i32 s24, s20, s22", 0x7fffffff, 1, false, low(0x80000000), true},
    {"s_add_i32 s24, s20, s22", 0xffffffff, 1, true, low(0), false},
    {"s_sub_i32 s24, s20, s22", 0x80000000, 1, false, low(0x7fffffff), true},
    {"s_sub_i32 s24, s20, s22", 0, 1, true, low(0xffffffff), false},
    {"s_sub_u32 s24, s20, s22", 0, 1, false, low(0xffffffff), true},
    {"s_sub_u32 s24, s20, s22", 7, 7, true, low(0), false},
    {"s_subb_u32 s24, s20, s22", 5, 4, true, low(0), false},
    {"s_subb_u32 s24, s20, s22", 4, 4, true, low(0xffffffff), true},
    {"s_addk_i32 s24, 0x7fff", 0, 0, false, low(0x22222222 + 0x7fff), false},
    {"s_addk_i32 s24, 0x8000", 0, 0, true, low(0x22222222 - 0x8000), false},
    {"s_movk_i32 s24, 0x8001", 0, 0, true, low(0xffff8001), true},
    {"s_mul_hi_u32 s24, s20, s22", 0xffffffff, 0xffffffff, true, low(0xfffffffe), true},
    {"s_lshl1_add_u32 s24, s20, s22", 0x80000001, 3, false, low(5), true},
    {"s_lshl1_add_u32 s24, s20, s22", 0x40000001, 3, true, low(0x80000005), false},
    {"s_min_u32 s24, s20, s22", 1, 0xffffffff, false, low(1), true},
    {"s_min_u32 s24, s20, s22", 0xffffffff, 1, true, low(1), false},
    // Bits: SCC says whether the result is not zero.
    {"s_and_b32 s24, s20, s22", 0xff00ff00, 0x0ff00ff0, false, low(0x0f000f00), true},
    {"s_and_b32 s24, s20, s22", 0xf0f0f0f0, 0x0f0f0f0f, true, low(0), false},
    {"s_xor_b32 s24, s20, s22", 0xff00ff00, 0x0ff00ff0, false, low(0xf0f0f0f0), true},
    {"s_xor_b32 s24, s20, s22", 9, 9, true, low(0), false},
    {"s_ashr_i32 s24, s20, s22", 0x80000000, 35, false, low(0xf0000000), true}, // shift by 35 mod 32
    {"s_lshr_b32 s24, s20, s22", 0x80000000, 35, false, low(0x10000000), true},
    {"s_lshr_b32 s24, s20, s22", 1, 1, true, low(0), false},
    {"s_bfm_b32 s24, s20, s22", 5, 3, true, low(0x1f << 3), true}, // no SCC
    {"s_bfm_b32 s24, s20, s22", 32, 0, false, low(0), false},      // width modulo 32
    {"s_bfm_b64 s[24:25], s20, s22", 40, 8, true, ((1ull << 40) - 1) << 8, true},
    {"s_ff1_i32_b32 s24, s20", 0x00050000, 0, true, low(16), true}, // first one from the low end; no SCC
    {"s_ff1_i32_b32 s24, s20", 0, 0, false, low(0xffffffff), false},
    {"s_ff1_i32_b64 s24, s[20:21]", 0x0000100000000000, 0, false, low(44), false},
    {"s_ff1_i32_b64 s24, s[20:21]", 0, 0, true, low(0xffffffff), true},
    // Comparisons.
    {"s_cmp_eq_i32 s20, s22", 5, 5, false, untouched, true},
    {"s_cmp_eq_i32 s20, s22", 5, 6, true, untouched, false},
    {"s_cmp_ge_i32 s20, s22", 0xffffffff, 0, true, untouched, false},
    {"s_cmp_ge_u32 s20, s22", 0xffffffff, 0, false, untouched, true},
    {"s_cmp_gt_i32 s20, s22", 0xffffffff, 0, true, untouched, false},
    {"s_cmp_gt_u32 s20, s22", 0xffffffff, 0, false, untouched, true},
    {"s_cmp_gt_u32 s20, s22", 3, 3, true, untouched, false},
    {"s_cmp_le_i32 s20, s22", 0xffffffff, 0, false, untouched, true},
    {"s_cmp_le_u32 s20, s22", 0xffffffff, 0, true, untouched, false},
    {"s_cmp_lt_i32 s20, s22", 0x80000000, 0x7fffffff, false, untouched, true},
    {"s_cmp_lg_u64 s[20:21], s[22:23]", 1ull << 40, 0, false, untouched, true},
    {"s_cmp_lg_u64 s[20:21], s[22:23]", 1ull << 40, 1ull << 40, true, untouched, false},
    {"s_cmpk_eq_u32 s20, 0xffff", 0xffff, 0, false, untouched, true}, // zero-extended
    {"s_cmpk_eq_u32 s20, 0xffff", 0xffffffff, 0, true, untouched, false},
    // Selection.
    {"s_cselect_b32 s24, s20, s22", 1, 2, true, low(1), true},
    {"s_cselect_b32 s24, s20, s22", 1, 2, false, low(2), false},
    {"s_cselect_b64 s[24:25], s[20:21], s[22:23]", 1ull << 40, 2ull << 40, true, 1ull << 40, true},
    {"s_cselect_b64 s[24:25], s[20:21], s[22:23]", 1ull << 40, 2ull << 40, false, 2ull << 40, false},
    // Branches and what changes nothing.
    {"s_cbranch_scc0 1f\n s_mov_b32 s24, 1\n 1:", 0, 0, false, untouched, false},
    {"s_cbranch_scc0 1f\n s_mov_b32 s24, 1\n 1:", 0, 0, true, low(1), true},
    {"s_mov_b64 vcc, 0\n s_cbranch_vccnz 1f\n s_mov_b32 s24, 1\n 1:", 0, 0, true, low(1), true},
    {"s_mov_b64 vcc, exec\n s_cbranch_vccnz 1f\n s_mov_b32 s24, 1\n 1:", 0, 0, true, untouched, true},
    {"s_setprio 3\n s_sleep 1\n s_setprio 0\n v_nop", 0, 0, true, untouched, true},
};

std::string set(const char* first, const char* second, std::uint64_t value) {
    return std::string("s_mov_b32 ") + first + ", " + std::to_string(value & 0xffffffff) + "\ns_mov_b32 " +
           second + ", " + std::to_string(value >> 32) + "\n";
}

} // namespace

TEST_CASE("engine: scalar instructions, results and SCC") {
    std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n";
    unsigned offset = 0;
    for (const Row& row : rows) {
        body += set("s20", "s21", row.a) + set("s22", "s23", row.b) + set("s24", "s25", untouched) +
                "s_mov_b32 s26, " + (row.scc ? "0" : "1") + "\ns_cmp_eq_u32 s26, 0\n" + row.text +
                "\ns_cselect_b32 s26, 1, 0\nv_mov_b32 v2, s24\nv_mov_b32 v3, s25\nv_mov_b32 v4, s26\n"
                "global_store_dwordx3 v1, v[2:4], s[4:5] offset:" +
                std::to_string(offset) + "\n";
        offset += 12;
    }
    Machine machine;
    std::uint32_t* out = machine.buffer<std::uint32_t>(3 * std::size(rows));
    machine.load(body);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (std::size_t n = 0; n < std::size(rows); ++n) {
        CAPTURE(rows[n].text);
        CAPTURE(n);
        CHECK((out[3 * n] | std::uint64_t{out[3 * n + 1]} << 32) == rows[n].result);
        CHECK((out[3 * n + 2] != 0) == rows[n].scc_after);
    }
}
