// SPDX-License-Identifier: Apache-2.0
#include "tests/tuner/copy_template.hpp"

#include <cstring>

namespace zyfa::test {

using templates::KernargField;
using templates::Kernel;
using templates::LaunchPlan;
using templates::ParameterSpec;

namespace {

/// Instructions between loading V's 16 bytes (v[4:7]) and storing them at byte v1 of O (s[6:7]).
std::string misdeed(const std::string& fault) {
    if (fault == "syntax")
        return "  v_no_such_instruction v0 ; not of any processor\n";
    if (fault == "silent")
        return "  s_endpgm\n";
    if (fault == "wild")
        return "  v_mov_b32_e32 v8, 0x1000\n"
               "  v_mov_b32_e32 v9, 0\n"
               "  global_store_dword v[8:9], v4, off\n"
               "  s_waitcnt vmcnt(0)\n";
    if (fault == "below")
        return "  v_mov_b32_e32 v8, 0\n"
               "  global_store_dword v8, v4, s[6:7] offset:-256\n";
    if (fault == "input")
        return "  v_mov_b32_e32 v8, 0\n"
               "  global_store_dword v8, v8, s[4:5]\n";
    if (fault == "bits")
        return "  v_xor_b32_e32 v4, 0x4000, v4\n";
    if (fault == "stale")
        return "  global_load_dword v8, v1, s[6:7]\n"
               "  s_waitcnt vmcnt(0)\n"
               "  v_and_b32_e32 v8, 1, v8\n"
               "  v_xor_b32_e32 v4, v4, v8\n";
    if (fault == "hang")
        return ".Lforever:\n"
               "  s_branch .Lforever\n";
    return {};
}

std::string delay(std::int64_t turns) {
    if (turns == 0)
        return {};
    return "  s_mov_b32 s12, " + std::to_string(turns) +
           "\n"
           ".Ldelay:\n"
           "  s_nop 15\n"
           "  s_sub_u32 s12, s12, 1\n"
           "  s_cmp_lg_u32 s12, 0\n"
           "  s_cbranch_scc1 .Ldelay\n";
}

std::string flip(std::int64_t row) {
    if (row < 0)
        return {};
    return "  v_mov_b32_e32 v8, " + std::to_string(row * 256) +
           "\n"
           "  v_cmp_eq_u32_e32 vcc, v1, v8\n"
           "  v_cndmask_b32_e64 v8, 0, 1, vcc\n"
           "  v_xor_b32_e32 v4, v4, v8\n";
}

} // namespace

bool CopyTemplate::serves(const Problem& problem, std::string* why) const {
    if (problem.seq_kv == 1 && problem.heads_kv == 1 && problem.batch == 1 && !problem.lse)
        return true;
    if (why)
        *why = "one key";
    return false;
}

std::vector<ParameterSpec> CopyTemplate::space(const Problem&) const {
    return {{"delay", "turns of an empty loop", delays, false},
            {"fault", "what the kernel does wrong", faults, false},
            {"row", "row whose first element is off by its low bit", rows, false}};
}

Schedule CopyTemplate::default_schedule(const Problem&) const {
    return {"copy", {{"delay", delays.front()}, {"fault", faults.front()}, {"row", rows.front()}}};
}

std::optional<std::string> CopyTemplate::reject(const Problem&, const Schedule& schedule) const {
    if (schedule.integer("delay") < 0)
        return "delay is " + std::to_string(schedule.integer("delay")) + "; accepted: 0 or more";
    return std::nullopt;
}

Kernel CopyTemplate::instantiate(const ProblemClass&, const Schedule& schedule) const {
    Kernel kernel;
    kernel.name = "copy";
    kernel.workgroup_size = 64;
    kernel.kernarg_bytes = 24;
    kernel.assembly = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl copy
.p2align 8
.type copy,@function
copy:
  s_load_dwordx4 s[4:7], s[0:1], 0x0        ; V, O
  s_load_dword s8, s[0:1], 0x10             ; bytes of O
  s_lshl_b32 s9, s2, 10                     ; 1,024 bytes per workgroup
  v_lshlrev_b32_e32 v1, 4, v0
  v_and_b32_e32 v2, 0xf0, v1                ; byte in V's row
  v_add_u32_e32 v1, s9, v1                  ; byte in O
)" + delay(schedule.integer("delay")) +
                      R"(  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32_e32 vcc, s8, v1
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz .Lend
  global_load_dwordx4 v[4:7], v2, s[4:5]
  s_waitcnt vmcnt(0)
)" + misdeed(schedule.text("fault")) +
                      flip(schedule.integer("row")) +
                      R"(  global_store_dwordx4 v1, v[4:7], s[6:7]
.Lend:
  s_endpgm
.Lcopy_end:
.size copy, .Lcopy_end-copy
.rodata
.p2align 6
.amdhsa_kernel copy
  .amdhsa_group_segment_fixed_size 0
  .amdhsa_private_segment_fixed_size 0
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 16
  .amdhsa_reserve_vcc 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: copy
    .symbol: copy.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 16
    .agpr_count: 0
    .max_flat_workgroup_size: 64
...
.end_amdgpu_metadata
)";
    return kernel;
}

LaunchPlan CopyTemplate::plan(const Problem& problem, const Schedule&, const templates::DeviceShape&) const {
    const auto bytes = static_cast<std::uint32_t>(problem.heads_q * problem.seq_q * 256);
    LaunchPlan plan;
    plan.kernel = "copy";
    plan.grid = {(bytes + 1023) / 1024, 1, 1};
    plan.block = {64, 1, 1};
    plan.kernarg.resize(24);
    std::memcpy(plan.kernarg.data() + 16, &bytes, sizeof bytes);
    plan.patches = {{KernargField::v, 0}, {KernargField::o, 8}};
    return plan;
}

Schedule CopyTemplate::schedule(std::int64_t delay, const std::string& fault, std::int64_t row) {
    return {"copy", {{"delay", delay}, {"fault", fault}, {"row", row}}};
}

Problem one_key(std::int64_t heads_q, std::int64_t seq_q) {
    return Problem::contiguous(DType::bf16, 1, heads_q, 1, seq_q, 1, 128, 128, Mask::none,
                               Problem::Layout::bhsd, false);
}

} // namespace zyfa::test
