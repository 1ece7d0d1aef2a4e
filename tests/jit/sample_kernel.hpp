// SPDX-License-Identifier: Apache-2.0
// A small gfx950 kernel written by hand: loads, a matrix instruction, LDS, a branch; and what it declares.
#pragma once

#include "jit/metadata.hpp"

#include <string>

namespace zyfa::jit::testing {

inline std::string sample_kernel() {
    return R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl sample
.p2align 8
.type sample,@function
sample:
  s_load_dwordx4 s[4:7], s[0:1], 0x0        ; input, output
  v_lshlrev_b32_e32 v1, 4, v0               ; 16 bytes per lane
  s_waitcnt lgkmcnt(0)
  global_load_dwordx4 v[4:7], v1, s[4:5]
  s_mov_b32 s8, 3
.Lagain:
  s_waitcnt vmcnt(0)
  ds_write_b128 v1, v[4:7]
  v_mfma_f32_32x32x16_bf16 a[0:15], v[4:7], v[4:7], a[0:15]
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 .Lagain
  s_nop 15
  v_accvgpr_read_b32 v8, a0
  global_store_dword v1, v8, s[6:7]
  s_endpgm
.Lsample_end:
.size sample, .Lsample_end-sample
.rodata
.p2align 6
.amdhsa_kernel sample
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 0
  .amdhsa_kernarg_size 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 16
  .amdhsa_reserve_vcc 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: sample
    .symbol: sample.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 32
    .agpr_count: 16
    .max_flat_workgroup_size: 256
...
.end_amdgpu_metadata
)";
}

inline DeclaredKernel sample_declaration() {
    return {.name = "sample",
            .kernarg_bytes = 16,
            .lds_bytes = 4096,
            .vgprs = 16,
            .agprs = 16,
            .sgprs = 22,
            .workgroup_size = 256};
}

} // namespace zyfa::jit::testing
