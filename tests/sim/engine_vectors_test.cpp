// SPDX-License-Identifier: Apache-2.0
// Instructions of compiled code one by one, with results worked out by hand from the CDNA4 ISA manual's
// operations. engine_vector_test.cpp, engine_scalar_test.cpp and engine_memory_test.cpp have those of
// hand-written kernels; coverage_test.cpp counts.
#include "tests/sim/engine_lanes.hpp"

using namespace zyfa::sim;
using namespace zyfa::sim::test;

namespace {

/// a, b and c stand in v[2:3], v[4:5], v[6:7], and in s[12:13], s[14:15]; v[8:9] is an address, v12 is 0. The
/// result is v[32:33], or s[16:17] if the body names s16; both start as zeros.
struct Vector {
    const char* body;
    std::uint64_t a, b, c, expected;
};

// clang-format off
const Vector vectors[] = {
    // Vector integers
    {"v_add_u16 v32, v2, v4", 0xffffull, 2, 0, 1},
    {"v_sub_u16 v32, v2, v4", 1, 2, 0, 0xffffull},
    {"v_mul_lo_u16 v32, v2, v4", 0x1234ull, 0x10ull, 0, 0x2340ull},
    {"v_lshlrev_b16 v32, v2, v4", 4, 0x1234ull, 0, 0x2340ull},
    {"v_lshrrev_b16 v32, v2, v4", 4, 0x1234ull, 0, 0x123ull},
    {"v_ashrrev_i64 v[32:33], v2, v[4:5]", 4, 0x8000000000000010ull, 0, 0xf800000000000001ull},
    {"v_lshrrev_b64 v[32:33], v2, v[4:5]", 4, 0x8000000000000010ull, 0, 0x800000000000001ull},
    {"v_lshl_add_u64 v[32:33], v[2:3], v4, v[6:7]", 0xffffffffull, 3, 0x100000010ull, 0x900000008ull},
    {"v_lshl_or_b32 v32, v2, v4, v6", 0x11ull, 8, 0x22ull, 0x1122ull},
    {"v_or3_b32 v32, v2, v4, v6", 0x11ull, 0x200ull, 0x4000ull, 0x4211ull},
    {"v_not_b32 v32, v2", 0x12345678ull, 0, 0, 0xedcba987ull},
    {"v_max_i32 v32, v2, v4", 0xfffffffbull, 3, 0, 3},
    {"v_min_i32 v32, v2, v4", 0xfffffffbull, 3, 0, 0xfffffffbull},
    {"v_max_u32 v32, v2, v4", 0xfffffffbull, 3, 0, 0xfffffffbull},
    {"v_pk_add_u16 v32, v2, v4", 0xffff0001ull, 0x20003ull, 0, 0x10004ull},
    {"v_pk_sub_i16 v32, v2, v4", 0x10005ull, 0x20003ull, 0, 0xffff0002ull},
    {"v_pk_mul_lo_u16 v32, v2, v4", 0x30102ull, 0x40020010ull, 0, 0xc0061020ull},
    {"v_pk_lshlrev_b16 v32, v2, v4", 0x40008ull, 0x12341234ull, 0, 0x23403400ull},
    {"v_pk_mov_b32 v[32:33], v[2:3], v[4:5] op_sel:[1,0]", 0x1111111122222222ull, 0x3333333344444444ull, 0, 0x4444444411111111ull},
    {"s_mov_b64 vcc, -1\ns_nop 4\nv_subbrev_co_u32 v32, vcc, v2, v4, vcc", 5, 3, 0, 0xfffffffdull},
    {"v_mov_b32 v32, v6\nv_dot4c_i32_i8 v32, v2, v4", 0x102ff03ull, 0x2020202ull, 0x64ull, 0x6eull},
    // Vector floats
    {"v_ceil_f64 v[32:33], v[2:3]", 0x3ff8000000000000ull, 0, 0, 0x4000000000000000ull},
    {"v_trunc_f64 v[32:33], v[2:3]", 0xbff8000000000000ull, 0, 0, 0xbff0000000000000ull},
    {"v_max_f64 v[32:33], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0xc000000000000000ull, 0, 0x3ff0000000000000ull},
    {"v_min_f64 v[32:33], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0xc000000000000000ull, 0, 0xc000000000000000ull},
    {"v_rsq_f64 v[32:33], v[2:3]", 0x4010000000000000ull, 0, 0, 0x3fe0000000000000ull},
    {"v_mov_b32 v32, v6\nv_mov_b32 v33, v7\nv_fmac_f64 v[32:33], v[2:3], v[4:5]", 0x3ff8000000000000ull, 0xc000000000000000ull, 0x4024000000000000ull, 0x401c000000000000ull},
    {"v_mov_b32 v32, v6\nv_fmac_f32 v32, v2, v4", 0x3fc00000ull, 0xc0000000ull, 0x41200000ull, 0x40e00000ull},
    {"v_cvt_f64_f32 v[32:33], v2", 0x3fc00000ull, 0, 0, 0x3ff8000000000000ull},
    {"v_cvt_f64_i32 v[32:33], v2", 0xfffffffdull, 0, 0, 0xc008000000000000ull},
    {"v_cvt_f64_u32 v[32:33], v2", 0xffffffffull, 0, 0, 0x41efffffffe00000ull},
    {"v_cvt_f32_ubyte0 v32, v2", 0x1020380ull, 0, 0, 0x43000000ull},
    {"v_cvt_f32_ubyte1 v32, v2", 0x1020380ull, 0, 0, 0x40400000ull},
    // Comparisons: true in every lane, or in none
    {"v_cmp_class_f64 s[16:17], v[2:3], v4", 0x3ff0000000000000ull, 0x100ull, 0, 0xffffffffffffffffull},
    {"v_cmp_class_f64 s[16:17], v[2:3], v4", 0xbff0000000000000ull, 0x100ull, 0, 0},
    {"v_cmp_eq_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x3ff0000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_eq_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x4000000000000000ull, 0, 0},
    {"v_cmp_ge_f64 s[16:17], v[2:3], v[4:5]", 0x4000000000000000ull, 0x3ff0000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_ge_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x4000000000000000ull, 0, 0},
    {"v_cmp_lt_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x4000000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_lt_f64 s[16:17], v[2:3], v[4:5]", 0x4000000000000000ull, 0x3ff0000000000000ull, 0, 0},
    {"v_cmp_ngt_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x4000000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_ngt_f64 s[16:17], v[2:3], v[4:5]", 0x4000000000000000ull, 0x3ff0000000000000ull, 0, 0},
    {"v_cmp_ngt_f64 s[16:17], v[2:3], v[4:5]", 0x7ff8000000000000ull, 0x3ff0000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_o_f64 s[16:17], v[2:3], v[4:5]", 0x3ff0000000000000ull, 0x4000000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_o_f64 s[16:17], v[2:3], v[4:5]", 0x7ff8000000000000ull, 0x4000000000000000ull, 0, 0},
    {"v_cmp_eq_u16 s[16:17], v2, v4", 0x10005ull, 5, 0, 0xffffffffffffffffull},
    {"v_cmp_eq_u16 s[16:17], v2, v4", 6, 5, 0, 0},
    {"v_cmp_ne_u16 s[16:17], v2, v4", 0x10005ull, 5, 0, 0},
    {"v_cmp_ne_u16 s[16:17], v2, v4", 6, 5, 0, 0xffffffffffffffffull},
    {"v_cmp_ne_u32 s[16:17], v2, v4", 0x10005ull, 5, 0, 0xffffffffffffffffull},
    {"v_cmp_ne_u32 s[16:17], v2, v4", 5, 5, 0, 0},
    {"v_cmp_eq_u64 s[16:17], v[2:3], v[4:5]", 0x8000000000000001ull, 0x8000000000000001ull, 0, 0xffffffffffffffffull},
    {"v_cmp_eq_u64 s[16:17], v[2:3], v[4:5]", 0x8000000000000001ull, 1, 0, 0},
    {"v_cmp_ge_u64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0xffffffffffffffffull},
    {"v_cmp_ge_u64 s[16:17], v[2:3], v[4:5]", 1, 0x8000000000000000ull, 0, 0},
    {"v_cmp_lt_u64 s[16:17], v[2:3], v[4:5]", 1, 0x8000000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_lt_u64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0},
    {"v_cmp_ne_u64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0xffffffffffffffffull},
    {"v_cmp_ne_u64 s[16:17], v[2:3], v[4:5]", 1, 1, 0, 0},
    {"v_cmp_gt_i64 s[16:17], v[2:3], v[4:5]", 1, 0x8000000000000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_gt_i64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0},
    {"v_cmp_le_i64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0xffffffffffffffffull},
    {"v_cmp_le_i64 s[16:17], v[2:3], v[4:5]", 1, 0x8000000000000000ull, 0, 0},
    {"v_cmp_lt_i64 s[16:17], v[2:3], v[4:5]", 0x8000000000000000ull, 1, 0, 0xffffffffffffffffull},
    {"v_cmp_lt_i64 s[16:17], v[2:3], v[4:5]", 1, 1, 0, 0},
    {"v_cmp_le_f32 s[16:17], v2, v4", 0x3f800000ull, 0x3f800000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_le_f32 s[16:17], v2, v4", 0x40000000ull, 0x3f800000ull, 0, 0},
    {"v_cmp_nle_f32 s[16:17], v2, v4", 0x40000000ull, 0x3f800000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_nle_f32 s[16:17], v2, v4", 0x3f800000ull, 0x3f800000ull, 0, 0},
    {"v_cmp_nlt_f32 s[16:17], v2, v4", 0x3f800000ull, 0x3f800000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_nlt_f32 s[16:17], v2, v4", 0x3f800000ull, 0x40000000ull, 0, 0},
    {"v_cmp_o_f32 s[16:17], v2, v4", 0x3f800000ull, 0x40000000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_nle_f32 s[16:17], v2, v4", 0x7fc00000ull, 0x3f800000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_o_f32 s[16:17], v2, v4", 0x7fc00000ull, 0x3f800000ull, 0, 0},
    {"v_cmp_lt_f16 s[16:17], v2, v4", 0x3c00ull, 0x4000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_lt_f16 s[16:17], v2, v4", 0x4000ull, 0x3c00ull, 0, 0},
    {"v_cmp_o_f16 s[16:17], v2, v4", 0x3c00ull, 0x4000ull, 0, 0xffffffffffffffffull},
    {"v_cmp_o_f16 s[16:17], v2, v4", 0x7e00ull, 0x4000ull, 0, 0},
    // Scalar instructions
    {"s_and_b64 s[16:17], s[12:13], s[14:15]", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xf000f000f0f0000ull},
    {"s_or_b64 s[16:17], s[12:13], s[14:15]", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xfff0fff0ffff1234ull},
    {"s_xor_b64 s[16:17], s[12:13], s[14:15]", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xf0f0f0f0f0f01234ull},
    {"s_andn2_b64 s[16:17], s[12:13], s[14:15]", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xf000f00000001234ull},
    {"s_orn2_b64 s[16:17], s[12:13], s[14:15]", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xff0fff0f0f0fffffull},
    {"s_lshl_b64 s[16:17], s[12:13], s14", 0xff00ff000f0f1234ull, 8, 0, 0xff000f0f123400ull},
    {"s_lshr_b64 s[16:17], s[12:13], s14", 0xff00ff000f0f1234ull, 8, 0, 0xff00ff000f0f12ull},
    {"s_bcnt1_i32_b64 s16, s[12:13]", 0xff00ff000f0f1234ull, 0, 0, 0x1dull},
    {"s_brev_b32 s16, s12", 0x12ull, 0, 0, 0x48000000ull},
    {"s_max_u32 s16, s12, s14", 0xfffffffbull, 3, 0, 0xfffffffbull},
    {"s_min_i32 s16, s12, s14", 0xfffffffbull, 3, 0, 0xfffffffbull},
    {"s_cmpk_gt_u32 s12, 0x5\ns_cselect_b32 s16, 1, 0", 6, 0, 0, 1},
    {"s_cmpk_gt_u32 s12, 0x5\ns_cselect_b32 s16, 1, 0", 5, 0, 0, 0},
    {"s_mov_b64 exec, s[14:15]\ns_andn2_saveexec_b64 s[18:19], s[12:13]\ns_mov_b64 s[16:17], exec\ns_mov_b64 exec, -1", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xf000f00000001234ull},
    {"s_mov_b64 exec, s[14:15]\ns_or_saveexec_b64 s[18:19], s[12:13]\ns_mov_b64 s[16:17], exec\ns_mov_b64 exec, -1", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xfff0fff0ffff1234ull},
    {"s_mov_b64 exec, s[14:15]\ns_xor_saveexec_b64 s[18:19], s[12:13]\ns_mov_b64 s[16:17], exec\ns_mov_b64 exec, -1", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xf0f0f0f0f0f01234ull},
    {"s_mov_b64 exec, s[14:15]\ns_or_saveexec_b64 s[16:17], s[12:13]\ns_mov_b64 exec, -1", 0xff00ff000f0f1234ull, 0xff00ff0ffff0000ull, 0, 0xff00ff0ffff0000ull},
    {"s_mov_b64 exec, 0\ns_mov_b32 s16, 1\ns_cbranch_execz 1\ns_mov_b32 s16, 2\ns_mov_b64 exec, -1", 0, 0, 0, 1},
    {"s_mov_b64 exec, -1\ns_mov_b32 s16, 1\ns_cbranch_execnz 1\ns_mov_b32 s16, 2\ns_mov_b64 exec, -1", 0, 0, 0, 1},
    {"s_mov_b64 exec, -1\ns_mov_b32 s16, 1\ns_cbranch_execz 1\ns_mov_b32 s16, 2\ns_mov_b64 exec, -1", 0, 0, 0, 2},
    {"s_mov_b64 exec, 0\ns_mov_b32 s16, 1\ns_cbranch_execnz 1\ns_mov_b32 s16, 2\ns_mov_b64 exec, -1", 0, 0, 0, 2},
    {"s_getpc_b64 s[18:19]\ns_add_u32 s20, s18, 20\ns_addc_u32 s21, s19, 0\ns_swappc_b64 s[22:23], s[20:21]\ns_mov_b32 s22, 7\ns_nop 0\ns_sub_u32 s16, s22, s18", 0, 0, 0, 0xcull},
    {"s_getpc_b64 s[18:19]\ns_add_u32 s20, s18, 20\ns_addc_u32 s21, s19, 0\ns_mov_b32 s16, 1\ns_setpc_b64 s[20:21]\ns_mov_b32 s16, 2", 0, 0, 0, 1},
    // Memory: to and from; atomics by 64 lanes on one place
    {"scratch_store_dwordx2 off, v[2:3], off offset:4\ns_waitcnt vmcnt(0) lgkmcnt(0)\nscratch_load_dwordx2 v[32:33], off, off offset:4", 0x8877665544332211ull, 0, 0, 0x8877665544332211ull},
    {"scratch_store_dwordx3 off, v[2:4], off\ns_waitcnt vmcnt(0) lgkmcnt(0)\nscratch_load_dwordx2 v[32:33], off, off offset:4", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708088776655ull},
    {"scratch_store_dwordx4 off, v[2:5], off\ns_waitcnt vmcnt(0) lgkmcnt(0)\nscratch_load_dwordx4 v[36:39], off, off\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v32, v36\nv_mov_b32 v33, v39", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x1020304044332211ull},
    {"scratch_store_dword off, v4, off\nscratch_store_byte off, v2, off offset:1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nscratch_load_dword v32, off, off", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x50601180ull},
    {"scratch_store_dword off, v4, off\nscratch_store_short off, v2, off offset:2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nscratch_load_dword v32, off, off", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x22117080ull},
    {"flat_store_dwordx2 v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dwordx2 v[32:33], v[8:9]", 0x8877665544332211ull, 0, 0, 0x8877665544332211ull},
    {"flat_store_dwordx4 v[8:9], v[2:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dwordx4 v[36:39], v[8:9]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v32, v37\nv_mov_b32 v33, v38", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708088776655ull},
    {"flat_store_dwordx4 v[8:9], v[2:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dwordx3 v[36:38], v[8:9]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v32, v36\nv_mov_b32 v33, v38", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708044332211ull},
    {"flat_store_dwordx2 v[8:9], v[4:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_store_byte v[8:9], v2 offset:1\nflat_store_byte_d16_hi v[8:9], v2 offset:4\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dwordx2 v[32:33], v[8:9]", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x1020303350601180ull},
    {"flat_store_dwordx2 v[8:9], v[4:5]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_store_short v[8:9], v2 offset:2\nflat_store_short_d16_hi v[8:9], v2 offset:4\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dwordx2 v[32:33], v[8:9]", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x1020443322117080ull},
    {"flat_store_dwordx2 v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_ubyte v32, v[8:9] offset:7\nflat_load_sbyte v33, v[8:9] offset:7", 0x8877665544332211ull, 0, 0, 0xffffff8800000088ull},
    {"flat_store_dwordx2 v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_ushort v32, v[8:9] offset:6\nflat_load_sshort v33, v[8:9] offset:6", 0x8877665544332211ull, 0, 0, 0xffff887700008877ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_add v[8:9], v2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 3, 0, 0x64ull, 0x124ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_add_x2 v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x100000001ull, 0, 0xffffffffull, 0x410000003full},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_or v[8:9], v2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x30ull, 0, 5, 0x35ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_smin v[8:9], v2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0xfffffff0ull, 0, 5, 0xfffffff0ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_cmpswap v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x500000009ull, 0, 5, 9},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nflat_atomic_cmpswap v[8:9], v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x600000009ull, 0, 5, 5},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_atomic_add_x2 v12, v[2:3], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x100000001ull, 0, 0xffffffffull, 0x410000003full},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_atomic_or v12, v2, s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x30ull, 0, 5, 0x35ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_atomic_smin v12, v2, s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0xfffffff0ull, 0, 5, 0xfffffff0ull},
    {"global_store_dwordx4 v12, v[2:5], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx3 v[36:38], v12, s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v32, v36\nv_mov_b32 v33, v38", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708044332211ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_byte v12, v2, s[6:7] offset:1\nglobal_store_short v12, v2, s[6:7] offset:4\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0x8877665544332211ull, 0, 0x1020304050607080ull, 0x1020221150601180ull},
    {"global_store_dwordx2 v12, v[2:3], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_ushort v32, v12, s[6:7] offset:6\nglobal_load_sbyte v33, v12, s[6:7] offset:7", 0x8877665544332211ull, 0, 0, 0xffffff8800008877ull},
    {"v_mov_b32 v10, v6\nv_mov_b32 v11, v7\nglobal_store_dwordx2 v12, v[10:11], s[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nbuffer_wbl2 sc1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nbuffer_inv sc1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_load_dwordx2 v[32:33], v12, s[6:7] sc1", 0, 0, 0x1020304050607080ull, 0x1020304050607080ull},
    {"ds_write_b32 v12, v6\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_max_u32 v12, v2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v32, v12", 0xfffffff0ull, 0, 5, 0xfffffff0ull},
    {"ds_write_b32 v12, v6\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_max_rtn_u32 v32, v12, v2", 4, 0, 5, 5},
    {"ds_write_b32 v12, v6\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b64 exec, 1\nds_xor_b32 v12, v2\ns_mov_b64 exec, -1\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v32, v12", 0x30ull, 0, 0x11ull, 0x21ull},
    {"ds_write_b32 v12, v6\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b64 exec, 1\nds_xor_rtn_b32 v32, v12, v2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v33, v12\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_readfirstlane_b32 s18, v32\nv_readfirstlane_b32 s19, v33\ns_mov_b64 exec, -1\nv_mov_b32 v32, s18\nv_mov_b32 v33, s19", 0x30ull, 0, 0x11ull, 0x2100000011ull},
    {"ds_write2st64_b32 v12, v2, v4 offset0:1 offset1:3\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v32, v12 offset:256\nds_read_b32 v33, v12 offset:768", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708044332211ull},
    {"ds_write2st64_b64 v12, v[2:3], v[4:5] offset0:1 offset1:2\ns_waitcnt vmcnt(0) lgkmcnt(0)\nds_read_b32 v32, v12 offset:516\nds_read_b32 v33, v12 offset:1024", 0x8877665544332211ull, 0x1020304050607080ull, 0, 0x5060708088776655ull},
    // 128 and 64 products of ones
    {"v_mov_b32 v16, v2\nv_mov_b32 v17, v2\nv_mov_b32 v18, v2\nv_mov_b32 v19, v2\nv_mov_b32 v20, v2\nv_mov_b32 v21, v2\nv_mov_b32 v22, v2\nv_mov_b32 v23, v2\nv_mov_b32 v24, v2\nv_mov_b32 v25, v2\nv_mov_b32 v26, v2\nv_mov_b32 v27, v2\nv_mov_b32 v28, v2\nv_mov_b32 v29, v2\nv_mov_b32 v30, v2\nv_mov_b32 v31, v2\ns_nop 1\nv_mfma_f32_16x16x128_f8f6f4 v[36:39], v[16:23], v[24:31], 0\ns_nop 15\nv_mov_b32 v32, v36\nv_mov_b32 v33, v39", 0x38383838ull, 0, 0, 0x4300000043000000ull},
    {"v_mov_b32 v16, v2\nv_mov_b32 v17, v2\nv_mov_b32 v18, v2\nv_mov_b32 v19, v2\nv_mov_b32 v20, v2\nv_mov_b32 v21, v2\nv_mov_b32 v22, v2\nv_mov_b32 v23, v2\nv_mov_b32 v24, v2\nv_mov_b32 v25, v2\nv_mov_b32 v26, v2\nv_mov_b32 v27, v2\nv_mov_b32 v28, v2\nv_mov_b32 v29, v2\nv_mov_b32 v30, v2\nv_mov_b32 v31, v2\ns_nop 1\nv_mfma_f32_32x32x64_f8f6f4 v[36:51], v[16:23], v[24:31], 0\ns_nop 15\ns_nop 3\nv_mov_b32 v32, v36\nv_mov_b32 v33, v51", 0x38383838ull, 0, 0, 0x4280000042800000ull},
};
// clang-format on

std::string move(char file, unsigned number, std::uint64_t value) {
    const std::string op = file == 'v' ? "v_mov_b32 v" : "s_mov_b32 s";
    return op + std::to_string(number) + ", " + std::to_string(value & 0xffffffff) + "\n" + op +
           std::to_string(number + 1) + ", " + std::to_string(value >> 32) + "\n";
}

} // namespace

TEST_CASE("engine: instructions of compiled code, each with its vector") {
    const KernelShape shape{.lds = 4096, .scratch = 64};
    for (const Vector& v : vectors) {
        const std::string body = v.body;
        CAPTURE(body);
        std::string text = move('v', 2, v.a) + move('v', 4, v.b) + move('v', 6, v.c) + move('s', 12, v.a) +
                           move('s', 14, v.b) + move('s', 16, 0) + move('v', 32, 0) +
                           "v_mov_b32 v8, s6\nv_mov_b32 v9, s7\nv_mov_b32 v12, 0\ns_nop 4\n" + body +
                           "\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_nop 4\n";
        if (body.find("s16") != std::string::npos || body.find("s[16:17]") != std::string::npos)
            text += "v_mov_b32 v32, s16\nv_mov_b32 v33, s17\n";
        const std::vector<Register> r = run_lanes(text, {}, 2, shape);
        for (const unsigned lane : {0u, 63u})
            CHECK((r[0][lane] | std::uint64_t{r[1][lane]} << 32) == v.expected);
    }
}
