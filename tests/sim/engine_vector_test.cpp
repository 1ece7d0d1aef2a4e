// SPDX-License-Identifier: Apache-2.0
// Vector instructions through decoder and engine: encodings, operand kinds, modifiers, masks, DPP, SDWA,
// cross-lane moves.
#include "tests/sim/engine_lanes.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {
Register lane_plus(std::uint32_t offset) {
    return by_lane([=](unsigned lane) { return lane + offset; });
}
} // namespace

TEST_CASE("engine: sources of every kind") {
    const auto r = run_lanes(R"(
        s_mov_b32 s8, 0x40400000
        v_add_f32 v32, v1, v1
        v_add_f32 v33, s8, v1
        v_add_f32 v34, 0x40a00000, v1
        v_add_f32_e64 v35, -v1, 0.5
        v_add_f32_e64 v36, |v2|, -s8
        v_fma_f32 v37, v1, s8, -4.0
        v_add_u32 v38, -3, v3
        v_mul_f32_e64 v39, v1, s8 mul:2
        v_fmaak_f32 v40, v1, v1, 0x3f000000
        v_fmamk_f32 v41, v1, 0x41200000, v2
        v_pk_mul_f32 v[42:43], v[4:5], s[8:9] op_sel_hi:[1,0]
        v_lshlrev_b64 v[44:45], 4, v[4:5]
    )",
                             {all(bits(2)), all(bits(-7)), lane_plus(10), all(bits(3)), all(bits(5))}, 14);
    const unsigned lane = 17;
    CHECK(r[0][lane] == bits(4));
    CHECK(r[1][lane] == bits(5));
    CHECK(r[2][lane] == bits(7));
    CHECK(r[3][lane] == bits(-1.5));
    CHECK(r[4][lane] == bits(4));
    CHECK(r[5][lane] == bits(2));
    CHECK(r[6][lane] == lane + 7);
    CHECK(r[7][lane] == bits(12));
    CHECK(r[8][lane] == bits(4.5));
    CHECK(r[9][lane] == bits(13));
    CHECK(r[10][lane] == bits(9));
    CHECK(r[11][lane] == bits(15));
    const std::uint64_t shifted = (std::uint64_t{bits(5)} << 32 | bits(3)) << 4;
    CHECK(r[12][lane] == static_cast<std::uint32_t>(shifted));
    CHECK(r[13][lane] == static_cast<std::uint32_t>(shifted >> 32));
}

TEST_CASE("engine: EXEC masks lanes, compares write masks") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, 7
        v_mov_b32 v33, 0
        v_cmp_gt_u32 vcc, 20, v0
        s_mov_b64 s[8:9], exec
        s_and_saveexec_b64 s[10:11], vcc
        v_mov_b32 v32, 9
        s_mov_b64 exec, s[8:9]
        v_cndmask_b32 v33, v1, v2, vcc
        v_cmp_le_u32_e64 s[12:13], 60, v0
        v_cndmask_b32_e64 v34, v1, v2, s[12:13]
        v_mov_b32 v35, vcc_lo
        v_mov_b32 v36, s13
        v_cmpx_eq_u32 vcc, 5, v0
        v_mov_b32 v33, 77
        s_mov_b64 exec, s[8:9]
    )",
                             {all(1), all(2)}, 5);
    for (unsigned lane = 0; lane < 64; ++lane) {
        CHECK(r[0][lane] == (lane < 20 ? 9u : 7u));
        CHECK(r[1][lane] == (lane == 5 ? 77u : lane < 20 ? 2u : 1u));
        CHECK(r[2][lane] == (lane >= 60 ? 2u : 1u));
    }
    CHECK(r[3][0] == 0xfffffu);
    CHECK(r[4][0] == 0xf0000000u);
}

TEST_CASE("engine: carries pass through VCC and SGPR pairs") {
    const auto r = run_lanes(R"(
        v_add_co_u32 v32, vcc, v1, v2
        v_addc_co_u32 v33, vcc, v3, v3, vcc
        v_sub_co_u32 v34, s[8:9], v2, v1
        v_subb_co_u32_e64 v35, s[8:9], v3, v3, s[8:9]
        v_mad_u64_u32 v[36:37], s[10:11], v1, v1, v[2:3]
    )",
                             {all(0xffffffff), all(2), all(5)}, 6);
    CHECK(r[0][3] == 1);
    CHECK(r[1][3] == 11);
    CHECK(r[2][3] == 3);
    CHECK(r[3][3] == 0xffffffffu);
    const std::uint64_t product = 0xffffffffull * 0xffffffffull + (5ull << 32 | 2);
    CHECK(r[4][3] == static_cast<std::uint32_t>(product));
    CHECK(r[5][3] == static_cast<std::uint32_t>(product >> 32));
}

TEST_CASE("engine: conversions of the fact sheet's vectors") {
    const auto r = run_lanes(
        R"(
        v_mov_b32 v32, 0xaabbccdd
        s_mov_b32 s8, 0x40e00000
        v_cvt_pk_u8_f32 v32, s8, 2, v32
        v_mov_b32 v33, 0x11223344
        v_cvt_pk_fp8_f32 v33, 1.0, 2.0
        v_mov_b32 v34, 0x11223344
        v_cvt_pk_fp8_f32 v34, 1.0, 2.0 op_sel:[0,0,1]
        v_cvt_pk_bf16_f32 v35, v1, v2
        v_exp_f32 v36, v3
        v_max3_f32 v37, v4, 1.0, 2.0
        v_rcp_f32 v38, v5
        v_cvt_pk_u8_f32 v39, v6, 0, 0
    )",
        {all(0x3f808001), all(0x7f7fffff), all(bits(-127.f)), all(0x7fc00000), all(1), all(bits(2.5f))}, 8);
    CHECK(r[0][9] == 0xaa07ccddu);
    CHECK(r[1][9] == 0x11224038u);
    CHECK(r[2][9] == 0x40383344u);
    CHECK(r[3][9] == 0x7f803f81u);
    CHECK(r[4][9] == 0);
    CHECK(r[5][9] == bits(2));
    CHECK(r[6][9] == 0x7f800000u);
    CHECK(r[7][9] == 2);
}

TEST_CASE("engine: FP16_OVFL set through MODE clamps FP8 conversions") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, 0
        v_mov_b32 v33, 0
        v_cvt_pk_fp8_f32 v32, v1, v2
        s_setreg_imm32_b32 hwreg(HW_REG_MODE,23,1), 1
        v_cvt_pk_fp8_f32 v33, v1, v2
        s_getreg_b32 s8, hwreg(HW_REG_MODE,23,1)
        v_mov_b32 v34, s8
    )",
                             {all(bits(480)), all(bits(-500))}, 3);
    CHECK(r[0][0] == 0xff7fu);
    CHECK(r[1][0] == 0xfe7eu);
    CHECK(r[2][0] == 1);
}

TEST_CASE("engine: permlane swaps") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, v1
        v_mov_b32 v33, v2
        s_nop 1
        v_permlane32_swap_b32 v32, v33
        v_mov_b32 v34, v1
        v_mov_b32 v35, v2
        s_nop 1
        v_permlane16_swap_b32 v34, v35
    )",
                             {lane_plus(0), lane_plus(100)}, 4);
    for (unsigned lane = 0; lane < 64; ++lane) {
        CHECK(r[0][lane] == (lane < 32 ? lane : lane - 32 + 100));
        CHECK(r[1][lane] == (lane < 32 ? lane + 32 : lane + 100));
        const bool odd = (lane / 16) % 2 == 1;
        CHECK(r[2][lane] == (odd ? lane - 16 + 100 : lane));
        CHECK(r[3][lane] == (odd ? lane + 100 : lane + 16));
    }
}

TEST_CASE("engine: lanes are read and written by number") {
    const auto r = run_lanes(R"(
        v_readfirstlane_b32 s8, v1
        s_mov_b32 s9, 37
        v_readlane_b32 s10, v1, s9
        v_readlane_b32 s11, v1, 5
        v_mov_b32 v32, s8
        v_mov_b32 v33, s10
        v_mov_b32 v34, s11
        v_mov_b32 v35, 0
        v_writelane_b32 v35, s10, 7
        s_mov_b64 s[12:13], exec
        s_mov_b32 exec_lo, 0xf0
        s_mov_b32 exec_hi, 0
        v_readfirstlane_b32 s14, v1
        s_mov_b64 exec, s[12:13]
        v_mov_b32 v36, s14
        v_mov_b32 v37, v1
        v_mov_b32 v38, v2
        v_swap_b32 v37, v38
    )",
                             {lane_plus(1000), lane_plus(2000)}, 7);
    CHECK(r[0][1] == 1000);
    CHECK(r[1][1] == 1037);
    CHECK(r[2][1] == 1005);
    CHECK(r[3][7] == 1037);
    CHECK(r[3][8] == 0);
    CHECK(r[4][0] == 1004);
    CHECK(r[5][6] == 2006);
    CHECK(r[6][6] == 1006);
}

TEST_CASE("engine: DPP controls") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, 99
        v_mov_b32 v33, 99
        v_mov_b32 v34, 99
        v_mov_b32 v35, 99
        v_mov_b32 v36, 99
        v_mov_b32 v37, 99
        v_mov_b32 v38, 99
        s_nop 1
        v_mov_b32_dpp v32, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v33, v1 row_shr:1 row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v34, v1 row_shl:2 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_mov_b32_dpp v35, v1 row_ror:4 row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v36, v1 row_bcast:15 row_mask:0xa bank_mask:0xf
        v_mov_b32_dpp v37, v1 row_newbcast:3 row_mask:0xf bank_mask:0x3
        v_mov_b32_dpp v38, v1 row_half_mirror row_mask:0xf bank_mask:0xf
        v_add_u32_dpp v39, v1, v2 row_mirror row_mask:0xf bank_mask:0xf
    )",
                             {lane_plus(0), lane_plus(1000)}, 8);
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned row = lane / 16 * 16, at = lane % 16;
        CHECK(r[0][lane] == (lane ^ 3));
        CHECK(r[1][lane] == (at == 0 ? 99 : lane - 1));
        CHECK(r[2][lane] == (at >= 14 ? 0 : lane + 2));
        CHECK(r[3][lane] == row + (at + 12) % 16);
        CHECK(r[4][lane] == (lane / 16 % 2 == 1 ? row - 1 : 99));
        CHECK(r[5][lane] == (at < 8 ? row + 3 : 99));
        CHECK(r[6][lane] == (lane ^ 7));
        CHECK(r[7][lane] == row + 15 - at + lane + 1000);
    }
}

TEST_CASE("engine: SDWA selects parts of sources and destinations") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, 0x55667788
        v_mov_b32 v33, 0x55667788
        v_mov_b32 v34, 0x55667788
        v_add_u32_sdwa v32, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:BYTE_3
        v_add_u32_sdwa v33, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:BYTE_0
        v_mov_b32_sdwa v34, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1
        v_cvt_pk_f32_fp8_sdwa v[36:37], v3 src0_sel:WORD_1
        v_cmp_eq_u32_sdwa s[8:9], v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_3
        v_mov_b32 v35, s8
    )",
                             {all(0x0000f0a1), all(0x03000002), all(0x40383040)}, 6);
    CHECK(r[0][4] == 0x5566a488u);
    CHECK(r[1][4] == 0xf0a30000u);
    CHECK(r[2][4] == 0xfffffff0u);
    CHECK(r[3][4] == 0);
    CHECK(r[4][4] == bits(1));
    CHECK(r[5][4] == bits(2));
}

TEST_CASE("engine: VGPRs go on through the accumulation registers, under one of the two names") {
    // AITER's BF16 kernels: an accum_offset of 160 and v160 to v255.
    const KernelShape shape{.vgprs = 8, .agprs = 8};
    const std::string store = "s_load_dwordx2 s[4:5], s[0:1], 0\nv_mov_b32 v12, 7\nv_lshlrev_b32 v1, 2, v0\n"
                              "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v12, s[4:5]\n";
    Machine machine;
    std::uint32_t* out = machine.buffer<std::uint32_t>(64);
    machine.load(store, shape);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, out);
    CHECK_MESSAGE(!result.fault, text(result));
    CHECK(out[63] == 7);

    machine.load("v_mov_b32 v16, 7\n", shape); // beyond both
    CHECK(machine.run({1, 1, 1}, {64, 1, 1}, out).fault);
    machine.load("v_mov_b32 v12, 7\nv_accvgpr_write_b32 a0, v12\n", shape);
    const LaunchResult both = machine.run({1, 1, 1}, {64, 1, 1}, out);
    REQUIRE(both.fault);
    CHECK(both.fault->text.find("accum_offset") != std::string::npos);
}

TEST_CASE("engine: accumulation registers") {
    KernelShape shape;
    shape.agprs = 8;
    const auto r = run_lanes(R"(
        v_accvgpr_write_b32 a3, v1
        v_accvgpr_write_b32 a4, 5
        s_nop 1
        v_accvgpr_mov_b32 a5, a3
        v_accvgpr_read_b32 v32, a5
        v_accvgpr_read_b32 v33, a4
    )",
                             {lane_plus(3)}, 2, shape);
    CHECK(r[0][11] == 14);
    CHECK(r[1][11] == 5);
}

TEST_CASE("engine: registers can be indexed through M0") {
    const auto r = run_lanes(R"(
        s_mov_b32 s8, 2
        s_set_gpr_idx_on s8, gpr_idx(SRC0)
        v_mov_b32 v32, v1
        s_set_gpr_idx_off
        s_set_gpr_idx_on s8, gpr_idx(DST)
        v_mov_b32 v31, v2
        s_set_gpr_idx_off
        v_mov_b32 v34, v1
    )",
                             {all(11), all(22), all(33)}, 3);
    CHECK(r[0][0] == 33);
    CHECK(r[1][0] == 22);
    CHECK(r[2][0] == 11);
}

TEST_CASE("engine: VSKIP skips vector instructions") {
    const auto r = run_lanes(R"(
        v_mov_b32 v32, 1
        s_setvskip 1, 0
        v_mov_b32 v32, 2
        s_setvskip 0, 0
        v_mov_b32 v33, 3
    )",
                             {}, 2);
    CHECK(r[0][0] == 1);
    CHECK(r[1][0] == 3);
}
