// SPDX-License-Identifier: Apache-2.0
#include "cli/microbench_kernels.hpp"

#include <fmt/core.h>

namespace zyfa::cli::microbench {

namespace {

/// Kernel arguments: operands, LDS addresses, times (32 bytes per wave), zeros.
constexpr const char* prologue = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl {0}
.p2align 8
.type {0},@function
{0}:
  s_load_dwordx8 s[8:15], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s3, v1
  v_and_b32 v0, 63, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[20:21], s[14:15]
  v_lshlrev_b32 v1, 8, v0
  v_lshlrev_b32 v2, 2, v0
  global_load_dword v8, v2, s[10:11]
)";

constexpr const char* epilogue = R"(finish:
  s_memtime s[26:27]
  s_memrealtime s[30:31]
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s4, s2, 8
  s_lshl_b32 s5, s3, 5
  s_add_u32 s4, s4, s5
  v_mov_b32 v0, s4
  v_mov_b32 v2, s24
  v_mov_b32 v3, s25
  v_mov_b32 v4, s26
  v_mov_b32 v5, s27
  global_store_dwordx4 v0, v[2:5], s[12:13]
  v_mov_b32 v6, s28
  v_mov_b32 v7, s29
  v_mov_b32 v8, s30
  v_mov_b32 v9, s31
  global_store_dwordx4 v0, v[6:9], s[12:13] offset:16
  s_endpgm
.Lend:
.size {0}, .Lend-{0}
.rodata
.p2align 6
.amdhsa_kernel {0}
  .amdhsa_group_segment_fixed_size 98304
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset 256
  .amdhsa_float_denorm_mode_32 0
  .amdhsa_ieee_mode 0
  .amdhsa_dx10_clamp 0
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: {0}
    .symbol: {0}.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 98304
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 256
    .agpr_count: 0
    .max_flat_workgroup_size: 512
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 24, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
)";

std::string loop(const Role& role, const std::string& label) {
    if (role.block.empty())
        return "  s_endpgm\n";
    // Both waves of a SIMD are at the loop when the first reading is taken.
    return fmt::format("  s_movk_i32 s22, {1}\n"
                       "  s_memtime s[24:25]\n  s_memrealtime s[28:29]\n  s_waitcnt lgkmcnt(0)\n"
                       "  .p2align 6\n{0}:\n{2}"
                       "  s_sub_u32 s22, s22, 1\n  s_cmp_lg_u32 s22, 0\n  s_cbranch_scc1 {0}\n"
                       "  s_nop 15\n  s_nop 7\n  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_branch finish\n",
                       label, role.repeats, role.block);
}

void replace(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

std::string registers(unsigned first, unsigned words) {
    return words == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + words - 1);
}

} // namespace

std::string assembly(const Kernel& kernel) {
    std::string text = fmt::format(fmt::runtime(prologue), kernel.name);
    for (unsigned n = 0; n < 16; ++n)
        text += fmt::format("  global_load_dwordx4 v[{}:{}], v1, s[8:9] offset:{}\n", 64 + 4 * n, 67 + 4 * n,
                            16 * n);
    for (unsigned n = 10; n < 64; ++n)
        text += fmt::format("  v_mov_b32 v{}, 0\n", n);
    for (unsigned n = 128; n < 256; ++n)
        text += fmt::format("  v_mov_b32 v{}, 0\n", n);
    text += "  s_waitcnt vmcnt(0)\n  s_barrier\n  s_cmp_lt_u32 s3, 4\n  s_cbranch_scc0 second\n";
    text += loop(kernel.first, "first_loop") + "second:\n" + loop(kernel.second, "second_loop");
    return text + fmt::format(fmt::runtime(epilogue), kernel.name);
}

Role independent(const std::string& pattern, unsigned words, std::uint32_t copies, std::uint32_t repeats,
                 bool fixed) {
    Role role{.block = {}, .instructions = copies, .repeats = repeats};
    const bool matrix = pattern.find("v_mfma") != std::string::npos;
    for (std::uint32_t n = 0; n < copies; ++n) {
        std::string line = pattern;
        const unsigned set = fixed ? 0 : n;
        const unsigned results = matrix ? 16 : words;
        replace(line, "{d}",
                registers(matrix ? 128 + 16 * (n % 8) : 128 + words * (n % (64 / words)), results));
        replace(line, "{D}", registers(128 + 4 * (n % 16), 4)); // of a 16 x 16 product
        replace(line, "{a}", registers(64 + words * (2 * set % (64 / words)), words));
        replace(line, "{b}", registers(64 + words * ((2 * set + 1) % (64 / words)), words));
        role.block += "  " + line + "\n";
    }
    return role;
}

} // namespace zyfa::cli::microbench
