// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/kernel_file.hpp"

#include <algorithm>

namespace zyfa::templates::isa {

namespace {

std::string line(const std::string& key, std::uint64_t value) {
    return "  .amdhsa_" + key + " " + std::to_string(value) + "\n";
}

std::string descriptor(const KernelFile& file) {
    // AGPRs start at accum_offset, a multiple of 4 (LLVM AMDGPUUsage, compute_pgm_rsrc3)
    const std::uint32_t accum_offset = std::max(4u, (file.vgprs + 3) / 4 * 4);
    const std::uint32_t total = file.agprs ? accum_offset + file.agprs : file.vgprs;
    std::string out = ".rodata\n.p2align 6\n.amdhsa_kernel " + file.name + "\n";
    out += line("group_segment_fixed_size", file.lds_bytes);
    out += line("private_segment_fixed_size", 0);
    out += line("kernarg_size", file.kernarg_bytes);
    out += line("user_sgpr_kernarg_segment_ptr", 1);
    out += line("user_sgpr_count", 2);
    out += line("system_sgpr_workgroup_id_x", 1);
    out += line("system_sgpr_workgroup_id_y", file.workgroup_yz);
    out += line("system_sgpr_workgroup_id_z", file.workgroup_yz);
    out += line("system_vgpr_workitem_id", 0);
    out += line("next_free_vgpr", total);
    out += line("next_free_sgpr", file.sgprs);
    out += line("accum_offset", accum_offset);
    out += line("reserve_vcc", 1);
    out += line("float_round_mode_32", 0);
    out += line("float_round_mode_16_64", 0);
    out += line("float_denorm_mode_32", file.denorm_mode_32);
    out += line("float_denorm_mode_16_64", 3);
    out += line("dx10_clamp", 0);
    out += line("ieee_mode", 0);
    out += line("fp16_overflow", 0);
    out += line("tg_split", 0);
    return out + ".end_amdhsa_kernel\n";
}

/// An entry of the metadata's list of kernels.
std::string metadata(const KernelFile& file) {
    auto field = [](const char* key, std::uint64_t value) {
        return "    ." + std::string(key) + ": " + std::to_string(value) + "\n";
    };
    std::string out = "  - .name: " + file.name + "\n    .symbol: " + file.name + ".kd\n";
    out += field("kernarg_segment_size", file.kernarg_bytes) + field("kernarg_segment_align", 8);
    out += field("group_segment_fixed_size", file.lds_bytes) + field("private_segment_fixed_size", 0);
    out += field("wavefront_size", 64) + field("sgpr_count", file.sgprs + 2);
    out += field("vgpr_count", file.vgprs) + field("agpr_count", file.agprs);
    out += field("max_flat_workgroup_size", file.workgroup_size);
    out += "    .args:\n";
    for (const Argument& argument : file.arguments) {
        out += "      - .name: " + argument.name + "\n        .offset: " + std::to_string(argument.offset) +
               "\n        .size: " + std::to_string(argument.size) + "\n        .value_kind: " +
               (argument.pointer ? "global_buffer\n        .address_space: global\n" : "by_value\n");
    }
    return out;
}

std::string code(const KernelFile& file) {
    std::string out = file.register_maps + "\n.text\n.globl " + file.name + "\n.p2align 8\n.type " +
                      file.name + ",@function\n" + file.name + ":\n";
    out += to_text(file.code);
    out += ".L" + file.name + "_end:\n.size " + file.name + ", .L" + file.name + "_end-" + file.name + "\n\n";
    return out + descriptor(file);
}

} // namespace

std::string to_text(const KernelFile& file) {
    return to_text(std::span(&file, 1));
}

std::string to_text(std::span<const KernelFile> files) {
    std::string out;
    for (const std::string& text : files.front().heading)
        out += "// " + text + "\n";
    out += "\n.amdgcn_target \"amdgcn-amd-amdhsa--gfx950\"\n.amdhsa_code_object_version 5\n\n";
    for (const KernelFile& file : files)
        out += code(file);
    out += ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\n"
           "amdhsa.target: amdgcn-amd-amdhsa--gfx950\namdhsa.kernels:\n";
    for (const KernelFile& file : files)
        out += metadata(file);
    return out + "...\n.end_amdgpu_metadata\n";
}

} // namespace zyfa::templates::isa
