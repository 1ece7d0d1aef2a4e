; SPDX-License-Identifier: Apache-2.0
; A hand-written kernel for gfx950: y[i] = 2 x[i] over FP32, one element per work-item. It lacks a wait: the loaded value
; is used while the load may still be under way. With FIXED defined, the wait is there.
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl double_all
.p2align 8
.type double_all,@function
double_all:
  s_load_dwordx4 s[4:7], s[0:1], 0x0        ; x, y
  v_lshlrev_b32_e32 v1, 2, v0               ; 4 bytes per work-item
  s_lshl_b32 s8, s2, 8                      ; 64 work-items per workgroup
  v_add_u32_e32 v1, s8, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
.ifdef FIXED
  s_waitcnt vmcnt(0)
.endif
  v_add_f32_e32 v2, v2, v2
  global_store_dword v1, v2, s[6:7]
  s_endpgm
.Lend:
.size double_all, .Lend-double_all
.rodata
.p2align 6
.amdhsa_kernel double_all
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: double_all
    .symbol: double_all.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 4
    .agpr_count: 0
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
