// SPDX-License-Identifier: Apache-2.0
// Mnemonics, without encoding suffix, of AITER's 1,439 gfx950 kernels (github.com/ROCm/aiter, hsa/gfx950),
// disassembled with LLVM 22.
#pragma once

namespace zyfa::sim::test {

// clang-format off
inline constexpr const char* mnemonics_in_use[] = {
    "buffer_atomic_add_f32", "buffer_atomic_pk_add_bf16", "buffer_atomic_pk_add_f16", "buffer_load_dword",
    "buffer_load_dwordx2", "buffer_load_dwordx4", "buffer_load_short_d16", "buffer_store_dword",
    "buffer_store_dwordx2", "buffer_store_dwordx4", "ds_bpermute_b32", "ds_read_b128", "ds_read_b32",
    "ds_read_b64", "ds_read_b64_tr_b16", "ds_read_b64_tr_b4", "ds_read_b64_tr_b8", "ds_read_u8",
    "ds_write_b128", "ds_write_b16", "ds_write_b32", "ds_write_b64", "ds_write_b8", "global_atomic_add_f32",
    "global_atomic_cmpswap_x2", "global_atomic_pk_add_bf16", "global_atomic_pk_add_f16",
    "global_load_dword", "global_load_dwordx2", "global_load_dwordx4", "global_load_lds_dword",
    "global_load_lds_dwordx4", "global_load_ubyte", "global_store_dwordx2", "s_add_i32", "s_add_u32",
    "s_addc_u32", "s_addk_i32", "s_and_b32", "s_ashr_i32", "s_atomic_dec", "s_barrier", "s_bfm_b32",
    "s_bfm_b64", "s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccnz", "s_cmp_eq_i32",
    "s_cmp_eq_u32", "s_cmp_ge_i32", "s_cmp_ge_u32", "s_cmp_gt_i32", "s_cmp_gt_u32", "s_cmp_le_i32",
    "s_cmp_le_u32", "s_cmp_lg_u32", "s_cmp_lg_u64", "s_cmp_lt_i32", "s_cmp_lt_u32", "s_cmpk_eq_u32",
    "s_cselect_b32", "s_cselect_b64", "s_endpgm", "s_ff1_i32_b32", "s_ff1_i32_b64", "s_load_dword",
    "s_load_dwordx2", "s_load_dwordx8", "s_lshl1_add_u32", "s_lshl_b32", "s_lshr_b32", "s_min_u32",
    "s_mov_b32", "s_mov_b64", "s_movk_i32", "s_mul_hi_u32", "s_mul_i32", "s_nop", "s_or_b32",
    "s_set_gpr_idx_off", "s_set_gpr_idx_on", "s_setprio", "s_setvskip", "s_sleep", "s_store_dword",
    "s_sub_i32", "s_sub_u32", "s_subb_u32", "s_waitcnt", "s_xor_b32", "v_accvgpr_read_b32",
    "v_accvgpr_write_b32", "v_add3_u32", "v_add_co_u32", "v_add_f32", "v_add_i32", "v_add_u32",
    "v_addc_co_u32", "v_and_b32", "v_and_or_b32", "v_bfe_u32", "v_bfm_b32", "v_cmp_class_f32",
    "v_cmp_eq_f32", "v_cmp_eq_u32", "v_cmp_ge_f32", "v_cmp_ge_i32", "v_cmp_ge_u32", "v_cmp_gt_f32",
    "v_cmp_gt_i32", "v_cmp_le_i32", "v_cmp_le_u32", "v_cmp_le_u64", "v_cmp_lt_f32", "v_cmp_lt_i32",
    "v_cmp_lt_u32", "v_cmp_neq_f32", "v_cmp_nge_f32", "v_cmp_u_f32", "v_cndmask_b32", "v_cvt_f32_bf16",
    "v_cvt_f32_f16", "v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_i32_f32", "v_cvt_pk_bf16_f32",
    "v_cvt_pk_f16_f32", "v_cvt_pk_f32_fp8", "v_cvt_pk_fp8_f32", "v_cvt_pk_u8_f32", "v_cvt_pkrtz_f16_f32",
    "v_cvt_scalef32_pk_bf16_fp8", "v_cvt_scalef32_pk_fp4_f32", "v_cvt_u32_f32", "v_exp_f32", "v_fma_f32",
    "v_log_f32", "v_lshl_add_u32", "v_lshlrev_b32", "v_lshrrev_b32", "v_max3_f32", "v_max_f32",
    "v_mbcnt_hi_u32_b32", "v_mbcnt_lo_u32_b32", "v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_16x16x16_bf16",
    "v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x32_bf16", "v_mfma_f32_16x16x32_f16",
    "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_32x32x16_bf16", "v_mfma_f32_32x32x16_f16",
    "v_mfma_f32_32x32x64_f8f6f4", "v_mfma_f32_32x32x8_bf16", "v_mfma_i32_16x16x32_i8",
    "v_mfma_i32_32x32x32_i8", "v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4",
    "v_min_u32", "v_mov_b32", "v_mov_b64", "v_mul_f32", "v_mul_hi_u32", "v_mul_i32_i24", "v_mul_lo_u32",
    "v_mul_u32_u24", "v_nop", "v_or_b32", "v_perm_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32",
    "v_pk_add_f32", "v_pk_fma_f32", "v_pk_mul_f32", "v_rcp_f32", "v_rcp_iflag_f32", "v_readfirstlane_b32",
    "v_readlane_b32", "v_smfmac_f32_16x16x128_fp8_fp8", "v_sub_f32", "v_sub_i32", "v_sub_u32",
    "v_subrev_f32", "v_subrev_u32", "v_swap_b32", "v_writelane_b32", "v_xor_b32"};
// clang-format on

} // namespace zyfa::sim::test
