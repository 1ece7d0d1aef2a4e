// SPDX-License-Identifier: Apache-2.0
// Good inputs for the simulator's readers.
#include <cstring>
#include <string>
#include <string_view>

#include <zlib.h>
#include <zstd.h>

#include "jit/assembler.hpp"
#include "sim/elf.hpp"
#include "tests/fuzz/seeds.hpp"

namespace zyfa::fuzz {

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

template <class T>
void append(Bytes& to, T value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), data, data + sizeof value);
}

const char* const source = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.amdhsa_code_object_version 5
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], 0
  s_getpc_b64 s[8:9]
  s_add_u32 s8, s8, table@rel32@lo+4
  s_addc_u32 s9, s9, table@rel32@hi+12
  v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], 0
  v_add_f32_dpp v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf
  v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD
  v_mov_b32 v4, 0x12345678
  buffer_load_dwordx4 v[8:11], v1, s[8:11], 0 offen offset:16
  ds_read_b64_tr_b16 v[12:13], v1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 80
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 64
.end_amdhsa_kernel
.data
.globl table
.protected table
.p2align 3
.type table,@object
table:
  .quad table
.size table, 8
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 80
    .agpr_count: 16
    .max_flat_workgroup_size: 256
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
)";

/// One of each encoding, and of the operands that are printed by tables of their own.
const char* const encodings = R"(.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
  s_mov_b32 s4, 0x12345678
  s_movk_i32 s5, 0x1234
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s4
  s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0xf0
  s_getreg_b32 s6, hwreg(HW_REG_XCC_ID)
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_sleep 3
  s_cbranch_scc1 0
  s_bitcmp1_b32 s4, 3
  s_add_u32 s7, s4, 0xabcdef
  s_buffer_load_dwordx4 s[8:11], s[12:15], s4
  s_atomic_cmpswap s[4:5], s[8:9], 0x10 glc
  v_cvt_f32_bf16_sdwa v1, v2 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:WORD_1
  v_cmp_eq_f32_sdwa s[4:5], v2, v3 src0_sel:BYTE_0 src1_sel:BYTE_3
  v_mov_b32_dpp v1, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
  v_add_f32_dpp v1, v2, v3 row_bcast:31 row_mask:0xa bank_mask:0xf
  v_readlane_b32 s4, v1, s5
  v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9] op_sel:[1,0,0] op_sel_hi:[0,1,1]
  v_mad_u64_u32 v[2:3], s[4:5], v6, v7, v[8:9]
  v_div_scale_f64 v[2:3], vcc, v[4:5], v[6:7], v[8:9]
  v_cvt_scalef32_pk_f32_fp8 v[2:3], v4, v5 op_sel:[1,0]
  v_permlane32_swap_b32 v1, v2
  v_accvgpr_write_b32 a1, v2
  v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:9], v[12:15], v[0:3], v20, v21 op_sel_hi:[0,0,0] cbsz:2 blgp:4
  v_smfmac_f32_16x16x64_bf16 a[0:3], v[4:7], v[8:15], v16
  ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM,"01pip")
  ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:2
  ds_gws_init v0 offset:4 gds
  ds_read_b96_tr_b6 v[0:2], v4
  flat_atomic_add_f64 v[0:1], v[2:3]
  global_load_lds_dwordx4 v1, s[4:5] offset:-16
  scratch_store_dwordx3 off, v[2:4], s4 offset:16
  buffer_atomic_cmpswap_x2 v[0:3], v4, s[8:11], 0 idxen sc0
  tbuffer_load_format_xyzw v[0:3], v4, s[8:11], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] idxen
  s_endpgm
)";

/// The code of an assembled text.
Bytes code_of(const char* text) {
    const auto assembler = jit::make_llvm_assembler();
    if (!assembler)
        return {};
    const Bytes elf = assembler->assemble(text, "gfx950", "seed").elf;
    Bytes code;
    for (const sim::ElfSegment& segment : sim::parse_elf(elf).segments)
        if (segment.executable)
            code.insert(code.end(), elf.begin() + static_cast<std::ptrdiff_t>(segment.offset),
                        elf.begin() + static_cast<std::ptrdiff_t>(segment.offset + segment.file_size));
    return code;
}

Bytes code_object() {
    const auto assembler = jit::make_llvm_assembler();
    return assembler ? assembler->assemble(source, "gfx950", "seed").elf : Bytes{};
}

/// LLVM, ClangOffloadBundler.rst: magic, count, then offset, size and target of each entry.
Bytes bundle(const Bytes& elf) {
    const std::string_view host = "host-x86_64-unknown-linux--", device = "hipv4-amdgcn-amd-amdhsa--gfx950";
    Bytes result = bytes_of("__CLANG_OFFLOAD_BUNDLE__");
    append(result, std::uint64_t{2});
    for (const std::string_view target : {host, device}) {
        append(result, std::uint64_t{256});
        append(result, std::uint64_t{target == device ? elf.size() : 0});
        append(result, std::uint64_t{target.size()});
        const Bytes name = bytes_of(target);
        result.insert(result.end(), name.begin(), name.end());
    }
    result.resize(256);
    result.insert(result.end(), elf.begin(), elf.end());
    return result;
}

/// Version 2 with zstd (method 1) or zlib (method 0): magic, version, method, sizes, hash.
Bytes compressed(const Bytes& content, bool zstd) {
    Bytes packed;
    if (zstd) {
        packed.resize(ZSTD_compressBound(content.size()));
        packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 3));
    } else {
        uLongf size = compressBound(content.size());
        packed.resize(size);
        compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                 reinterpret_cast<const Bytef*>(content.data()), content.size());
        packed.resize(size);
    }
    Bytes result = bytes_of("CCOB");
    append(result, std::uint16_t{2});
    append(result, static_cast<std::uint16_t>(zstd ? 1 : 0));
    append(result, static_cast<std::uint32_t>(24 + packed.size()));
    append(result, static_cast<std::uint32_t>(content.size()));
    append(result, std::uint64_t{0});
    result.insert(result.end(), packed.begin(), packed.end());
    return result;
}

} // namespace

std::vector<Seed> code_object_seeds() {
    return {{"small", code_object()}};
}

std::vector<Seed> instruction_seeds() {
    return {{"small", code_of(source)}, {"encodings", code_of(encodings)}};
}

std::vector<Seed> bundle_seeds() {
    const Bytes elf = code_object(), plain = bundle(elf);
    return {{"elf", elf},
            {"bundle", plain},
            {"zstd", compressed(plain, true)},
            {"zlib", compressed(plain, false)}};
}

std::vector<Seed> launch_seeds() {
    return {{"scale", bytes_of(R"({"kernel": "scale", "grid": [4, 2], "block": [256], "dynamic_lds": 1024,
 "kernargs": [{"buffer": "x", "buffer_offset": 4}, {"type": "f32", "value": 0.5}, {"type": "hex", "value": "00ff"},
              {"type": "i64", "value": -1, "offset": 64}, {"descale_of": "q"}], "kernarg_bytes": 128,
 "buffers": {"x": {"size": 4096, "generator": {"kind": "ramp", "type": "f32", "step": 2, "modulo": 7, "repeat": 2}},
             "q": {"size": 64, "generator": {"kind": "gaussian", "type": "bf16", "sd": 2}, "as": "e4m3", "scale": "auto"},
             "d": {"descale_of": "q"}, "y": {"size": 16, "fill": 255}},
 "outputs": [{"buffer": "y", "type": "f32", "tolerance": 1e-3, "print": 4}]})")},
            {"attention",
             bytes_of(R"({"kernel": "a", "buffers": {"q": {"size": 8}, "k": {"size": 8}, "v": {"size": 8},
 "o": {"size": 8}, "lse": {"size": 8}}, "attention": {"dtype": "e4m3", "heads_q": 4, "heads_kv": 2, "seq_q": 10,
 "seq_kv": 20, "mask": "none", "layout": "bshd", "softmax_scale": 0.1, "q": {"offset": 4, "strides": [1, 2, 3]},
 "lse": {"strides": [4, 5]}, "relative_rms": 0.01, "lse_max_abs": "inf", "probabilities": "e4m3"}})")}};
}

} // namespace zyfa::fuzz
