// SPDX-License-Identifier: Apache-2.0
// One vector per row for vector instructions in the encodings that kernels use (VOP1, 2, 3, C, DPP, SDWA),
// and for the memory forms that no other test has. Expected values: the operations of the CDNA4 ISA manual.
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

struct Row {
    const char* text;      ///< a is v[10:11], b is v[12:13], c is v[14:15]; the result v[20:21], at first 0
    std::uint64_t a, b, c; ///< the same in every lane
    std::uint64_t result;
};

constexpr std::uint64_t pair(std::uint32_t first, std::uint32_t second) {
    return first | std::uint64_t{second} << 32;
}
constexpr std::uint32_t one = 0x3f800000, two = 0x40000000, three = 0x40400000, minus_one = 0xbf800000,
                        half = 0x3f000000, nan = 0x7fc00000, infinity = 0x7f800000;

/// Reads the comparison's mask of this lane.
#define VCC "\n v_cndmask_b32_e64 v20, 0, 1, vcc"
#define S30 "\n v_cndmask_b32_e64 v20, 0, 1, s[30:31]"

const Row rows[] = {
    {"v_and_or_b32 v20, v10, v12, v14", 0xff00ff00, 0x0ff00ff0, 3, 0x0f000f03},
    {"v_lshrrev_b32_e32 v20, v10, v12", 36, 0xf0000000, 0, 0x0f000000},
    {"v_lshrrev_b32_e64 v20, 4, v12", 0, 0xf0000000, 0, 0x0f000000},
    {"v_xor_b32_e32 v20, v10, v12", 0xff00, 0x0ff0, 0, 0xf0f0},
    {"v_xor_b32_e64 v20, v10, 3", 0xff00, 0, 0, 0xff03},
    {"v_or_b32_e32 v20, v10, v12", 0xff00, 0x0ff0, 0, 0xfff0},
    {"v_or_b32_dpp v20, v10, v12 row_shr:1 row_mask:0x0 bank_mask:0xf", 0xff00, 0x0ff0, 0, 0},
    {"v_or_b32_dpp v20, v10, v12 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", 0xff00, 0x0ff0, 0, 0xfff0},
    {"v_sub_f32_e32 v20, v10, v12", one, three, 0, 0xc0000000},
    {"v_sub_f32_e64 v20, |v10|, -v12", minus_one, two, 0, three},
    {"v_subrev_f32_e32 v20, v10, v12", one, three, 0, two},
    {"v_subrev_f32_dpp v20, v10, v12 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", one, three, 0, two},
    {"v_sub_i32 v20, v10, v12", 3, 5, 0, 0xfffffffe},
    {"v_sub_i32 v20, v10, v12 clamp", 0x80000000, 1, 0, 0x80000000},
    {"v_min_u32_e32 v20, v10, v12", 0xffffffff, 7, 0, 7},
    {"v_mov_b64_e32 v[20:21], v[10:11]", 0x123456789abcdef0, 0, 0, 0x123456789abcdef0},
    {"v_rcp_iflag_f32_e32 v20, v10", two, 0, 0, half},
    {"v_pk_add_f32 v[20:21], v[10:11], v[12:13]", pair(one, two), pair(two, minus_one), 0, pair(three, one)},
    {"v_pk_add_f32 v[20:21], v[10:11], v[12:13] op_sel:[1,0] op_sel_hi:[0,1]", pair(one, two),
     pair(two, minus_one), 0, pair(0x40800000, 0)},
    {"v_pk_fma_f32 v[20:21], v[10:11], v[12:13], v[14:15]", pair(two, three), pair(two, one),
     pair(minus_one, two), pair(three, 0x40a00000)},
    {"v_pk_fma_f32 v[20:21], v[10:11], v[12:13], v[14:15] neg_lo:[0,0,1] neg_hi:[0,0,1]", pair(two, three),
     pair(two, one), pair(minus_one, two), pair(0x40a00000, one)},
    {"v_madmk_f16 v20, v10, 0xff, v12", 0x6400, 0, 0, 0x23f8}, // 0xff: also the number of a literal
    {"v_madak_f16 v20, v10, v12, 0xff", 0x3c00, 0, 0, 0xff},
    {"v_cvt_f32_bf16_e32 v20, v10", 0x1234c040, 0, 0, 0xc0400000},
    {"v_cvt_pk_f32_fp8_e32 v[20:21], v10", 0x0000b838, 0, 0, pair(one, minus_one)},
    {"v_cvt_pk_f32_fp8_sdwa v[20:21], v10 src0_sel:WORD_1", 0xb8380000, 0, 0, pair(one, minus_one)},
    {"v_cvt_scalef32_pk_bf16_fp8 v20, v10, v12", 0x0000b838, two, 0, 0xc0004000}, // times 2
    {"v_cvt_scalef32_pk_fp4_f32 v20, v10, v12, v14", two, 0x41400000, two,
     0x72}, // 1 and 6, in halves of 2 and 12
    // Comparisons, one relation a row, with NaN where it matters.
    {"v_cmp_eq_f32_e32 vcc, v10, v12" VCC, 0x80000000, 0, 0, 1}, // -0 == 0
    {"v_cmp_eq_f32_e64 s[30:31], v10, v12" S30, nan, nan, 0, 0},
    {"v_cmp_eq_u32_e32 vcc, v10, v12" VCC, 0x80000000, 0, 0, 0},
    {"v_cmp_eq_u32_e64 s[30:31], v10, v12" S30, 9, 9, 0, 1},
    {"v_cmp_ge_f32_e64 s[30:31], v10, -v12" S30, minus_one, one, 0, 1},
    {"v_cmp_ge_i32_e64 s[30:31], v10, v12" S30, 0xffffffff, 0, 0, 0},
    {"v_cmp_ge_u32_e64 s[30:31], v10, v12" S30, 0xffffffff, 0, 0, 1},
    {"v_cmp_gt_f32_e32 vcc, v10, v12" VCC, infinity, one, 0, 1},
    {"v_cmp_gt_f32_e64 s[30:31], v10, v12" S30, nan, one, 0, 0},
    {"v_cmp_gt_i32_e64 s[30:31], v10, v12" S30, 0, 0xffffffff, 0, 1},
    {"v_cmp_le_i32_e64 s[30:31], v10, v12" S30, 0xffffffff, 0, 0, 1},
    {"v_cmp_le_u32_e32 vcc, v10, v12" VCC, 0xffffffff, 0, 0, 0},
    {"v_cmp_le_u32_e64 s[30:31], v10, v12" S30, 4, 4, 0, 1},
    {"v_cmp_le_u64_e64 s[30:31], v[10:11], v[12:13]" S30, 1ull << 40, 1ull << 41, 0, 1},
    {"v_cmp_lt_f32_e32 vcc, v10, v12" VCC, one, two, 0, 1},
    {"v_cmp_lt_f32_e64 s[30:31], v10, v12" S30, two, two, 0, 0},
    {"v_cmp_neq_f32_e64 s[30:31], v10, v12" S30, nan, nan, 0, 1},
    {"v_cmp_nge_f32_e32 vcc, v10, v12" VCC, nan, one, 0, 1}, // not (a >= b): true with NaN
    {"v_cmp_u_f32_e64 s[30:31], v10, v12" S30, one, nan, 0, 1},
};

std::string set(unsigned reg, std::uint64_t value) {
    return "v_mov_b32 v" + std::to_string(reg) + ", " + std::to_string(value & 0xffffffff) + "\nv_mov_b32 v" +
           std::to_string(reg + 1) + ", " + std::to_string(value >> 32) + "\n";
}

} // namespace

TEST_CASE("engine: vector instructions in the encodings in use") {
    std::string body = "s_load_dwordx2 s[4:5], s[0:1], 0\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n";
    unsigned offset = 0;
    for (const Row& row : rows) {
        body += "s_mov_b64 vcc, 0\ns_mov_b64 s[30:31], 0\n"; // what the row before has left proves nothing
        body += set(10, row.a) + set(12, row.b) + set(14, row.c) + set(20, 0) + row.text +
                "\ns_nop 4\nglobal_store_dwordx2 v1, v[20:21], s[4:5] offset:" + std::to_string(offset) +
                "\n";
        offset += 8;
    }
    Machine machine;
    std::uint64_t* out = machine.buffer<std::uint64_t>(std::size(rows));
    machine.load(body);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (std::size_t n = 0; n < std::size(rows); ++n) {
        CAPTURE(rows[n].text);
        CHECK(out[n] == rows[n].result);
    }
}

TEST_CASE("engine: buffer forms in use") {
    // Descriptor: base from the argument, 1024 bytes, raw. Lane n works on the 16 bytes from 16 n on.
    Machine machine;
    std::uint32_t* data = machine.buffer<std::uint32_t>(256);
    std::uint32_t* out = machine.buffer<std::uint32_t>(256);
    for (std::uint32_t n = 0; n < 64; ++n) {
        data[4 * n] = 0x3f800000;     // 1
        data[4 * n + 1] = 0x3f803f80; // 1, 1 in BF16
        data[4 * n + 2] = 0x3c003c00; // 1, 1 in FP16
        data[4 * n + 3] = 0x89ab0000 + n;
    }
    machine.load(R"(
        s_load_dwordx4 s[4:7], s[0:1], 0
        v_lshlrev_b32 v1, 4, v0
        s_waitcnt lgkmcnt(0)
        s_mov_b64 s[8:9], s[4:5]
        s_movk_i32 s10, 0x400
        s_mov_b32 s11, 0x00020000
        v_mov_b32 v2, 0x40000000
        v_mov_b32 v3, 0x40003f80
        v_mov_b32 v4, 0x40003c00
        buffer_load_dwordx2 v[8:9], v1, s[8:11], 0 offen offset:8
        v_mov_b32 v10, 0x12345678
        buffer_load_short_d16 v10, v1, s[8:11], 0 offen offset:14
        s_waitcnt vmcnt(0)
        buffer_atomic_add_f32 v2, v1, s[8:11], 0 offen
        buffer_atomic_pk_add_bf16 v3, v1, s[8:11], 0 offen offset:4
        buffer_atomic_pk_add_f16 v4, v1, s[8:11], 0 offen offset:8
        s_waitcnt vmcnt(0)
        s_mov_b64 s[8:9], s[6:7]
        buffer_store_dword v10, v1, s[8:11], 0 offen
        buffer_store_dwordx2 v[8:9], v1, s[8:11], 0 offen offset:4
        v_add_u32 v1, 0x400, v1
        buffer_store_dword v10, v1, s[8:11], 0 offen
    )");
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, data, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (std::uint32_t n = 0; n < 64; ++n) {
        CAPTURE(n);
        CHECK(data[4 * n] == 0x40400000);     // 1 + 2
        CHECK(data[4 * n + 1] == 0x40404000); // 1 + 2, 1 + 1
        CHECK(data[4 * n + 2] == 0x42004000);
        CHECK(out[4 * n] == 0x123489ab); // the low half loaded, the high half kept
        CHECK(out[4 * n + 1] == 0x3c003c00);
        CHECK(out[4 * n + 2] == 0x89ab0000 + n);
        CHECK(out[4 * n + 3] == 0);
    }
}

TEST_CASE("engine: global and LDS forms in use") {
    Machine machine;
    std::uint32_t* data = machine.buffer<std::uint32_t>(256);
    std::uint32_t* out = machine.buffer<std::uint32_t>(1024);
    for (std::uint32_t n = 0; n < 256; ++n)
        data[n] = n % 4 == 3 ? 0x3f803f80 : 0x01000000 * (n % 4) + n;
    machine.load(R"(
        s_load_dwordx4 s[4:7], s[0:1], 0
        v_lshlrev_b32 v1, 4, v0
        v_lshlrev_b32 v2, 1, v0
        s_waitcnt lgkmcnt(0)
        global_load_dwordx4 v[4:7], v1, s[4:5]
        global_load_dwordx2 v[8:9], v1, s[4:5] offset:4
        global_load_ubyte v10, v1, s[4:5] offset:7
        s_mov_b32 m0, 1024
        global_load_lds_dwordx4 v1, s[4:5]
        s_waitcnt vmcnt(0)
        ds_write_b16 v2, v0 offset:2048
        ds_read_b128 v[12:15], v1 offset:1024
        ds_read_u16 v16, v2 offset:2048
        v_mov_b32 v20, 0x40004000
        global_atomic_pk_add_bf16 v1, v20, s[4:5] offset:12
        v_mov_b64 v[22:23], 77
        v_mov_b64 v[24:25], v[4:5]
        global_atomic_cmpswap_x2 v[26:27], v1, v[22:25], s[4:5] sc0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_lshlrev_b32 v1, 6, v0
        global_store_dwordx4 v1, v[4:7], s[6:7]
        global_store_dwordx2 v1, v[8:9], s[6:7] offset:16
        global_store_dword v1, v10, s[6:7] offset:24
        global_store_dword v1, v16, s[6:7] offset:28
        global_store_dwordx4 v1, v[12:15], s[6:7] offset:32
        global_store_dwordx2 v1, v[26:27], s[6:7] offset:48
    )",
                 {.lds = 4096});
    const std::vector<std::uint32_t> before(data, data + 256);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, data, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    for (std::uint32_t n = 0; n < 64; ++n) {
        CAPTURE(n);
        for (std::uint32_t i = 0; i < 4; ++i) {
            CHECK(out[16 * n + i] == before[4 * n + i]);
            CHECK(out[16 * n + 8 + i] == before[4 * n + i]); // through LDS
        }
        CHECK(out[16 * n + 4] == before[4 * n + 1]);
        CHECK(out[16 * n + 5] == before[4 * n + 2]);
        CHECK(out[16 * n + 6] == 1); // the top byte of the second word
        CHECK(out[16 * n + 7] == n);
        CHECK(out[16 * n + 12] == before[4 * n]);
        CHECK(out[16 * n + 13] == before[4 * n + 1]);
        CHECK(data[4 * n] == 77);
        CHECK(data[4 * n + 1] == 0);
        CHECK(data[4 * n + 3] == 0x40404040); // 1 + 2
    }
}
