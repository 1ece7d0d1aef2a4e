// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/hip/kernels.hpp"

#include <cstring>

#include "jit/assembler.hpp"

namespace zyfa::sim::hip::test {
namespace {

struct Argument {
    unsigned offset, size;
    const char* kind;
};

std::string text_of(const std::string& name, const std::string& body, unsigned lds) {
    return ".globl " + name + "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n" + body +
           "s_endpgm\n.L" + name + "_end:\n.size " + name + ", .L" + name + "_end-" + name +
           "\n.rodata\n.p2align 6\n.amdhsa_kernel " + name + "\n.amdhsa_group_segment_fixed_size " +
           std::to_string(lds) +
           "\n.amdhsa_kernarg_size 256\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_user_sgpr_count 2\n"
           ".amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 1\n"
           ".amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_system_vgpr_workitem_id 2\n.amdhsa_next_free_vgpr "
           "32\n"
           ".amdhsa_next_free_sgpr 32\n.amdhsa_accum_offset 32\n.end_amdhsa_kernel\n.text\n";
}

std::string metadata_of(const std::string& name, const std::vector<Argument>& arguments, unsigned lds) {
    std::string text = "  - .name: " + name + "\n    .symbol: " + name +
                       ".kd\n    .kernarg_segment_size: 256\n    .kernarg_segment_align: 8\n"
                       "    .group_segment_fixed_size: " +
                       std::to_string(lds) +
                       "\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 32\n"
                       "    .vgpr_count: 32\n    .agpr_count: 0\n    .max_flat_workgroup_size: 256\n";
    if (!arguments.empty())
        text += "    .args:\n";
    for (const Argument& a : arguments) {
        text += "      - .offset: " + std::to_string(a.offset) +
                "\n        .size: " + std::to_string(a.size) + "\n        .value_kind: " + a.kind + "\n";
        if (std::strcmp(a.kind, "global_buffer") == 0)
            text += "        .address_space: global\n";
    }
    return text;
}

const char* const scale = R"(
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_load_dwordx2 s[8:9], s[0:1], 0x10
v_and_b32 v0, 0x3ff, v0
s_lshl_b32 s10, s2, 6
v_add_u32 v1, s10, v0
s_waitcnt lgkmcnt(0)
v_cmp_gt_u32 vcc, s8, v1
s_and_saveexec_b64 s[12:13], vcc
v_lshlrev_b32 v2, 2, v1
global_load_dword v3, v2, s[4:5]
s_waitcnt vmcnt(0)
v_mul_f32 v3, s9, v3
global_store_dword v2, v3, s[6:7]
)";

const char* const echo = R"(
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_and_b32 v0, 0x3ff, v0
v_lshlrev_b32 v1, 2, v0
s_or_b32 s6, s2, s3
s_cmp_eq_u32 s6, 0
s_cbranch_scc0 .Lecho_done
global_load_dword v2, v1, s[0:1]
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_dword v1, v2, s[4:5]
.Lecho_done:
)";

const char* const spin = R"(
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32 v0, 0
s_waitcnt lgkmcnt(0)
.Lspin_again:
global_load_dword v1, v0, s[4:5] sc0 sc1
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s8, v1
s_cmp_eq_u32 s8, 0
s_cbranch_scc1 .Lspin_again
global_store_dword v0, v1, s[6:7]
)";

const char* const wild = R"(
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32 v1, 7
s_waitcnt lgkmcnt(0)
s_add_u32 s4, s4, s6
s_addc_u32 s5, s5, s7
v_mov_b32 v0, 0
global_store_dword v0, v1, s[4:5]
)";

} // namespace

std::vector<std::byte> assemble(const std::string& text) {
    static const auto assembler = jit::make_llvm_assembler();
    return assembler->assemble(text, "gfx950", "test").elf;
}

const std::vector<std::byte>& code_object() {
    static const std::vector<std::byte> elf = [] {
        // Code object version 5: hidden arguments follow the explicit ones at 8-byte alignment (LLVM:
        // AMDGPUUsage, "AMDHSA Code Object V5 Kernel Argument Metadata").
        const std::vector<Argument> echo_arguments{{0, 8, "global_buffer"},
                                                   {8, 4, "hidden_block_count_x"},
                                                   {12, 4, "hidden_block_count_y"},
                                                   {16, 4, "hidden_block_count_z"},
                                                   {20, 2, "hidden_group_size_x"},
                                                   {22, 2, "hidden_group_size_y"},
                                                   {24, 2, "hidden_group_size_z"},
                                                   {26, 2, "hidden_remainder_x"},
                                                   {28, 2, "hidden_remainder_y"},
                                                   {30, 2, "hidden_remainder_z"},
                                                   {48, 8, "hidden_global_offset_x"},
                                                   {56, 8, "hidden_global_offset_y"},
                                                   {64, 8, "hidden_global_offset_z"},
                                                   {72, 2, "hidden_grid_dims"},
                                                   {128, 4, "hidden_dynamic_lds_size"}};
        return assemble(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n.text\n" +
            text_of("scale", scale, 0) + text_of("echo", echo, 512) + text_of("spin", spin, 0) +
            text_of("wild", wild, 0) + text_of("broken", ".long 0xbfbf0000\n", 0) +
            ".data\n.globl counter\n.type counter,@object\n.size counter, 4\n.p2align 4\ncounter: .long 41\n"
            ".globl table\n.type table,@object\n.size table, 16\n.p2align 4\ntable: .long 1, 2, 3, 4\n"
            ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx950\n"
            "amdhsa.kernels:\n" +
            metadata_of(
                "scale",
                {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}, {16, 4, "by_value"}, {20, 4, "by_value"}},
                0) +
            metadata_of("echo", echo_arguments, 512) +
            metadata_of("spin", {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}}, 0) +
            metadata_of("wild", {{0, 8, "global_buffer"}, {8, 8, "by_value"}}, 0) +
            metadata_of("broken", {}, 0) + "...\n.end_amdgpu_metadata\n");
    }();
    return elf;
}

std::vector<std::byte> foreign_code_object() {
    std::vector<std::byte> elf = code_object();
    elf[48] = std::byte{0x4c}; // e_flags: EF_AMDGPU_MACH_AMDGCN_GFX942
    return elf;
}

} // namespace zyfa::sim::hip::test
