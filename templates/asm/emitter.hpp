// SPDX-License-Identifier: Apache-2.0
// Instruction builders: one method per gfx950 instruction that the templates use. Each checks what the
// encoding allows, and appends a record with text, pipe, reads and writes to a stream.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "templates/asm/instruction.hpp"
#include "templates/asm/operand.hpp"

namespace zyfa::templates::isa {

/// Matrix instructions (passes: LLVM's wait states for gfx950, and paper Section III-A; 1 pass = 4 cycles).
struct MatrixOp {
    const char* mnemonic;
    std::uint16_t opcode;
    std::uint8_t passes, a_registers, b_registers, d_registers;
    const char* modifiers = ""; ///< operand formats: cbsz of A, blgp of B; 0 is FP8 E4M3, 4 is FP4 E2M1
};
inline constexpr MatrixOp mfma_32x32x16_bf16{"v_mfma_f32_32x32x16_bf16", 1, 8, 4, 4, 16};
inline constexpr MatrixOp mfma_16x16x32_bf16{"v_mfma_f32_16x16x32_bf16", 2, 4, 4, 4, 4};
inline constexpr MatrixOp mfma_32x32x64_fp8{"v_mfma_f32_32x32x64_f8f6f4", 3, 16, 8, 8, 16};
inline constexpr MatrixOp mfma_scale_32x32x64_fp8{"v_mfma_scale_f32_32x32x64_f8f6f4", 4, 16, 8, 8, 16};
inline constexpr MatrixOp mfma_16x16x128_fp8{"v_mfma_f32_16x16x128_f8f6f4", 5, 8, 8, 8, 4};
/// A in FP4, B in FP8
inline constexpr MatrixOp mfma_16x16x128_fp4_fp8{"v_mfma_f32_16x16x128_f8f6f4", 5, 8, 4, 8, 4, " cbsz:4"};
/// A in FP8, B in FP4
inline constexpr MatrixOp mfma_16x16x128_fp8_fp4{"v_mfma_f32_16x16x128_f8f6f4", 5, 8, 8, 4, 4, " blgp:4"};

/// Which lane a DPP source comes from, within rows of 16 lanes (CDNA4 ISA, DPP_CTRL).
enum class Dpp : std::uint8_t {
    xor_1,    ///< quad_perm:[1,0,3,2]
    xor_2,    ///< quad_perm:[2,3,0,1]
    xor_7,    ///< row_half_mirror
    xor_15,   ///< row_mirror
    rotate_4, ///< row_ror:4
    rotate_8, ///< row_ror:8, which is xor 8
};

/// Where a v_cmp puts its lane mask.
using MaskTarget = Source;

class Emitter {
  public:
    explicit Emitter(Stream& out) : out_(&out) {}
    Stream& stream() { return *out_; }

    using Note = std::string_view;

    void label(std::string name) { out_->label(std::move(name)); }
    void remark(std::string text) { out_->remark(std::move(text)); }
    void directive(std::string text) { out_->directive(std::move(text)); }

    // ---- vector, FP32 (2 cycles: add, mul, fma; 4: the rest; 8: transcendental)
    void v_add_f32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_add_f32", 2, d, a, b, n); }
    void v_sub_f32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_sub_f32", 2, d, a, b, n); }
    void v_mul_f32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_mul_f32", 2, d, a, b, n); }
    void v_max_f32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_max_f32", 4, d, a, b, n); }
    void v_fma_f32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_fma_f32", 2, d, {a, b, c}, n);
    }
    void v_max3_f32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_max3_f32", 4, d, {a, b, c}, n);
    }
    /// NaN propagates (IEEE 754-2019 maximum), where v_max3_f32 ignores it.
    void v_maximum3_f32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_maximum3_f32", 4, d, {a, b, c}, n);
    }
    void v_med3_f32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_med3_f32", 4, d, {a, b, c}, n);
    }
    void v_min_f32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_min_f32", 4, d, a, b, n); }
    void v_floor_f32(VReg d, Source a, Note n = {}) { vop1("v_floor_f32", 4, d, a, n); }
    void v_ldexp_f32(VReg d, Source a, Source b, Note n = {}) { vop3("v_ldexp_f32", 4, d, {a, b}, n); }
    void v_fract_f32(VReg d, Source a, Note n = {}) { vop1("v_fract_f32", 4, d, a, n); }
    void v_exp_f32(VReg d, Source a, Note n = {}) { trans("v_exp_f32", d, a, n); }
    void v_log_f32(VReg d, Source a, Note n = {}) { trans("v_log_f32", d, a, n); }
    void v_rcp_f32(VReg d, Source a, Note n = {}) { trans("v_rcp_f32", d, a, n); }
    void v_cvt_pk_bf16_f32(VReg d, Source lo, Source hi, Note n = {}) {
        vop3("v_cvt_pk_bf16_f32", 4, d, {lo, hi}, n);
    }
    /// Byte `byte` of d = a rounded and clamped to 0..255 (NaN: 0), the other bytes from c.
    void v_cvt_pk_u8_f32(VReg d, Source a, unsigned byte, Source c, Note n = {}) {
        vop3("v_cvt_pk_u8_f32", 4, d, {a, byte, c}, n);
    }
    /// d = FP16 of a and b, rounded to nearest even.
    void v_cvt_pk_f16_f32(VReg d, Source lo, Source hi, Note n = {}) {
        vop3("v_cvt_pk_f16_f32", 4, d, {lo, hi}, n);
    }
    /// d = a * (the low or high FP16 half of b) + c, rounded once
    void v_fma_mix_f32(VReg d, Source a, VReg b, bool high, Source c, Note n = {}) {
        vop3("v_fma_mix_f32", 4, d, {a, b, c}, n,
             high ? " op_sel:[0,1,0] op_sel_hi:[0,1,0]" : " op_sel_hi:[0,1,0]");
    }
    /// The low or high half of d = e4m3 codes of a and b; the other half stays.
    void v_cvt_pk_fp8_f32(VReg d, Source a, Source b, bool high, Note n = {});
    /// The same of a and b divided by the power of two in the exponent field of `scale`.
    void v_cvt_scalef32_pk_fp8_f32(VReg d, Source a, Source b, Source scale, bool high, Note n = {});
    // ---- vector, integer and bits
    void v_mov_b32(VReg d, Source a, Note n = {}) { vop1("v_mov_b32", 4, d, a, n); }
    void v_add_u32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_add_u32", 4, d, a, b, n); }
    void v_sub_u32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_sub_u32", 4, d, a, b, n); }
    void v_subrev_u32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_subrev_u32", 4, d, a, b, n); }
    void v_min_i32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_min_i32", 4, d, a, b, n); }
    void v_and_b32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_and_b32", 4, d, a, b, n); }
    void v_or_b32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_or_b32", 4, d, a, b, n); }
    void v_xor_b32(VReg d, Source a, VReg b, Note n = {}) { vop2("v_xor_b32", 4, d, a, b, n); }
    void v_lshlrev_b32(VReg d, Source shift, VReg b, Note n = {}) {
        vop2("v_lshlrev_b32", 4, d, shift, b, n);
    }
    void v_lshrrev_b32(VReg d, Source shift, VReg b, Note n = {}) {
        vop2("v_lshrrev_b32", 4, d, shift, b, n);
    }
    /// a + b, saturated at 2^32 - 1
    void v_add_u32_clamp(VReg d, Source a, VReg b, Note n = {}) {
        vop3("v_add_u32_e64", 4, d, {a, b}, n, " clamp");
    }
    void v_mad_u32_u24(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_mad_u32_u24", 4, d, {a, b, c}, n);
    }
    void v_mul_lo_u32(VReg d, Source a, Source b, Note n = {}) { vop3("v_mul_lo_u32", 8, d, {a, b}, n); }
    void v_mul_hi_u32(VReg d, Source a, Source b, Note n = {}) { vop3("v_mul_hi_u32", 8, d, {a, b}, n); }
    void v_lshl_add_u32(VReg d, Source a, Source shift, Source c, Note n = {}) {
        vop3("v_lshl_add_u32", 4, d, {a, shift, c}, n);
    }
    void v_lshl_or_b32(VReg d, Source a, Source shift, Source c, Note n = {}) {
        vop3("v_lshl_or_b32", 4, d, {a, shift, c}, n);
    }
    void v_max3_u32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_max3_u32", 4, d, {a, b, c}, n);
    }
    void v_and_or_b32(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_and_or_b32", 4, d, {a, b, c}, n);
    }
    /// d = (mask & a) | (~mask & b)
    void v_bfi_b32(VReg d, Source mask, Source a, Source b, Note n = {}) {
        vop3("v_bfi_b32", 4, d, {mask, a, b}, n);
    }
    // ---- vector, packed 16-bit
    void v_pk_maximum3_f16(VReg d, VReg a, VReg b, VReg c, Note n = {}) {
        vop3("v_pk_maximum3_f16", 4, d, {a, b, c}, n);
    }
    void v_pk_sub_u16_clamp(VReg d, Source a, Source b, Note n = {}) {
        vop3("v_pk_sub_u16", 4, d, {a, b}, n, " clamp");
    }
    void v_pk_min_u16(VReg d, Source a, Source b, Note n = {}) { vop3("v_pk_min_u16", 4, d, {a, b}, n); }
    void v_pk_sub_i16(VReg d, Source a, Source b, Note n = {}) { vop3("v_pk_sub_i16", 4, d, {a, b}, n); }
    /// The shift is an inline constant, which has a low half only: op_sel_hi takes it for both halves.
    void v_pk_lshrrev_b16(VReg d, unsigned shift, VReg b, Note n = {}) {
        vop3("v_pk_lshrrev_b16", 4, d, {shift, b}, n, " op_sel_hi:[0,1]");
    }
    void v_pk_mul_lo_u16(VReg d, Source a, Source b, Note n = {}) {
        vop3("v_pk_mul_lo_u16", 4, d, {a, b}, n);
    }
    void v_pk_mad_u16(VReg d, Source a, Source b, Source c, Note n = {}) {
        vop3("v_pk_mad_u16", 4, d, {a, b, c}, n);
    }
    // ---- vector, masks and lanes
    /// v_cmp_<test> into VCC or an SGPR pair; test is "lt_f32", "ge_i32", ...
    void v_cmp(std::string_view test, MaskTarget mask, Source a, VReg b, Note n = {});
    /// d = mask ? on : off per lane
    void v_cndmask_b32(VReg d, Source off, Source on, Source mask, Note n = {});
    void v_readfirstlane_b32(SReg d, VReg a, Note n = {});
    void v_readlane_b32(SReg d, VReg a, unsigned lane, Note n = {});
    /// Upper half of a <-> lower half of b (CDNA4 ISA).
    void v_permlane32_swap_b32(VReg a, VReg b, Note n = {});

    /// Odd rows of 16 lanes of a <-> even rows of b (CDNA4 ISA).
    void v_permlane16_swap_b32(VReg a, VReg b, Note n = {});
    // a from other lanes of its row of 16
    void v_add_f32_dpp(VReg d, VReg a, VReg b, Dpp lane, Note n = {}) {
        dpp("v_add_f32_dpp", 2, d, a, b, lane, n);
    }
    void v_max_f32_dpp(VReg d, VReg a, VReg b, Dpp lane, Note n = {}) {
        dpp("v_max_f32_dpp", 4, d, a, b, lane, n);
    }
    /// d += a * b
    void v_fmac_f32_dpp(VReg d, VReg a, VReg b, Dpp lane, Note n = {});

    // ---- matrix
    void mfma(const MatrixOp& op, VReg d, VReg a, VReg b, Source c, Note n = {});
    /// Block scales: E8M0, byte `byte_a` of scale_a for the rows of A, byte_b of scale_b for the columns of
    /// B. For 32x32x64, lanes 0-31 scale the first 32 of the reduction, lanes 32-63 the others.
    void mfma_scale(const MatrixOp& op, VReg d, VReg a, VReg b, Source c, VReg scale_a, unsigned byte_a,
                    VReg scale_b, unsigned byte_b, Note n = {});

    // ---- LDS
    void ds_read_b128(VReg d, VReg address, unsigned offset, Note n = {}) {
        ds_read("ds_read_b128", 4, d, address, offset, n);
    }
    void ds_read_b64(VReg d, VReg address, unsigned offset, Note n = {}) {
        ds_read("ds_read_b64", 2, d, address, offset, n);
    }
    void ds_read_b64_tr_b16(VReg d, VReg address, unsigned offset, Note n = {}) {
        ds_read("ds_read_b64_tr_b16", 2, d, address, offset, n);
    }
    void ds_read_b64_tr_b8(VReg d, VReg address, unsigned offset, Note n = {}) {
        ds_read("ds_read_b64_tr_b8", 2, d, address, offset, n);
    }
    void ds_write_b128(VReg address, VReg data, unsigned offset, Note n = {}) {
        ds_write("ds_write_b128", 4, address, data, offset, n);
    }
    void ds_write_b64(VReg address, VReg data, unsigned offset, Note n = {}) {
        ds_write("ds_write_b64", 2, address, data, offset, n);
    }

    // ---- memory; the resource is a 4-SGPR buffer descriptor, soffset an SGPR or 0
    void buffer_load_dword(VReg d, VReg offset, SReg resource, Source soffset, unsigned immediate,
                           Note n = {}) {
        buffer_load("buffer_load_dword", 1, d, offset, resource, soffset, immediate, n);
    }
    void buffer_load_dwordx4(VReg d, VReg offset, SReg resource, Source soffset, unsigned immediate,
                             Note n = {}) {
        buffer_load("buffer_load_dwordx4", 4, d, offset, resource, soffset, immediate, n);
    }
    /// 16 bytes per lane to LDS at M0 + immediate + 16 * lane; `written` is the token of the LDS region.
    void buffer_load_dwordx4_lds(VReg offset, SReg resource, Source soffset, unsigned immediate,
                                 Units written, Note n = {});
    void buffer_store_dwordx4(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                              Note n = {}) {
        buffer_store("buffer_store_dwordx4", 4, data, offset, resource, soffset, immediate, n);
    }
    void buffer_store_dwordx2(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                              Note n = {}) {
        buffer_store("buffer_store_dwordx2", 2, data, offset, resource, soffset, immediate, n);
    }
    void buffer_store_dword(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                            Note n = {}) {
        buffer_store("buffer_store_dword", 1, data, offset, resource, soffset, immediate, n);
    }
    /// Atomic at device scope, nothing returned. (LLVM AMDGPUUsage, memory model gfx942: agent scope needs no
    /// bit.)
    void buffer_atomic_add(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                           Note n = {}) {
        buffer_store("buffer_atomic_add", 1, data, offset, resource, soffset, immediate, n);
    }
    void buffer_atomic_umax(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                            Note n = {}) {
        buffer_store("buffer_atomic_umax", 1, data, offset, resource, soffset, immediate, n);
    }
    /// At device scope: memory = memory >= data ? 0 : memory + 1; data becomes what memory held.
    void buffer_atomic_inc(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                           Note n = {});
    /// 16 bytes per lane, written through to where every XCD sees them (LLVM AMDGPUUsage, memory model
    /// gfx942: store at agent scope).
    void buffer_store_dwordx4_agent(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                                    Note n = {}) {
        buffer_store("buffer_store_dwordx4", 4, data, offset, resource, soffset, immediate, n, " sc1");
    }
    /// What this wave has stored is visible to the whole device once vmcnt is 0 (ibid.: release, agent).
    void buffer_wbl2_agent(Note n = {}) { plain("buffer_wbl2 sc1", Kind::vmem_store, n); }
    /// Loads behind it see what other workgroups have released (ibid.: acquire, agent).
    void buffer_inv_agent(Note n = {}) { plain("buffer_inv sc1", Kind::vmem_store, n); }
    void s_load(SReg d, SReg base, unsigned offset, Note n = {}); ///< s_load_dword{,x2,x4,x8,x16} by width

    // ---- scalar; scc says what the instruction does to it
    void s_mov_b32(Source d, Source a, Note n = {}) { sop("s_mov_b32", d, {a}, Scc::keeps, n); }
    void s_mov_b64(Source d, Source a, Note n = {}) { sop("s_mov_b64", d, {a}, Scc::keeps, n); }
    void s_add_u32(Source d, Source a, Source b, Note n = {}) { sop("s_add_u32", d, {a, b}, Scc::writes, n); }
    void s_addc_u32(Source d, Source a, Source b, Note n = {}) { sop("s_addc_u32", d, {a, b}, Scc::both, n); }
    void s_sub_u32(Source d, Source a, Source b, Note n = {}) { sop("s_sub_u32", d, {a, b}, Scc::writes, n); }
    void s_subb_u32(Source d, Source a, Source b, Note n = {}) { sop("s_subb_u32", d, {a, b}, Scc::both, n); }
    void s_add_i32(Source d, Source a, Source b, Note n = {}) { sop("s_add_i32", d, {a, b}, Scc::writes, n); }
    void s_sub_i32(Source d, Source a, Source b, Note n = {}) { sop("s_sub_i32", d, {a, b}, Scc::writes, n); }
    void s_mul_i32(Source d, Source a, Source b, Note n = {}) { sop("s_mul_i32", d, {a, b}, Scc::keeps, n); }
    void s_mul_hi_u32(Source d, Source a, Source b, Note n = {}) {
        sop("s_mul_hi_u32", d, {a, b}, Scc::keeps, n);
    }
    void s_min_i32(Source d, Source a, Source b, Note n = {}) { sop("s_min_i32", d, {a, b}, Scc::writes, n); }
    void s_max_i32(Source d, Source a, Source b, Note n = {}) { sop("s_max_i32", d, {a, b}, Scc::writes, n); }
    void s_min_u32(Source d, Source a, Source b, Note n = {}) { sop("s_min_u32", d, {a, b}, Scc::writes, n); }
    void s_max_u32(Source d, Source a, Source b, Note n = {}) { sop("s_max_u32", d, {a, b}, Scc::writes, n); }
    void s_and_b32(Source d, Source a, Source b, Note n = {}) { sop("s_and_b32", d, {a, b}, Scc::writes, n); }
    void s_or_b32(Source d, Source a, Source b, Note n = {}) { sop("s_or_b32", d, {a, b}, Scc::writes, n); }
    void s_or_b64(Source d, Source a, Source b, Note n = {}) { sop("s_or_b64", d, {a, b}, Scc::writes, n); }
    void s_andn2_b32(Source d, Source a, Source b, Note n = {}) {
        sop("s_andn2_b32", d, {a, b}, Scc::writes, n);
    }
    void s_lshl_b32(Source d, Source a, Source b, Note n = {}) {
        sop("s_lshl_b32", d, {a, b}, Scc::writes, n);
    }
    void s_lshr_b32(Source d, Source a, Source b, Note n = {}) {
        sop("s_lshr_b32", d, {a, b}, Scc::writes, n);
    }
    void s_ashr_i32(Source d, Source a, Source b, Note n = {}) {
        sop("s_ashr_i32", d, {a, b}, Scc::writes, n);
    }
    void s_andn2_b64(Source d, Source a, Source b, Note n = {}) {
        sop("s_andn2_b64", d, {a, b}, Scc::writes, n);
    }
    /// bits that are set
    void s_bcnt1_i32_b64(Source d, Source a, Note n = {}) { sop("s_bcnt1_i32_b64", d, {a}, Scc::writes, n); }
    void s_lshl_b64(Source d, Source a, Source b, Note n = {}) {
        sop("s_lshl_b64", d, {a, b}, Scc::writes, n);
    }
    void s_bcnt1_i32_b32(Source d, Source a, Note n = {}) { sop("s_bcnt1_i32_b32", d, {a}, Scc::writes, n); }
    void s_cselect_b32(Source d, Source on, Source off, Note n = {}) {
        sop("s_cselect_b32", d, {on, off}, Scc::reads, n);
    }
    /// s_cmp_<test>; test is "eq_u32", "lt_i32", ...
    void s_cmp(std::string_view test, Source a, Source b, Note n = {});
    void s_bitcmp1_b32(Source a, Source bit, Note n = {});

    // ---- control
    void s_branch(const std::string& target, Note n = {}) { branch("s_branch", target, {}, false, n); }
    void s_cbranch_scc0(const std::string& t, Note n = {}) { branch("s_cbranch_scc0", t, scc, true, n); }
    void s_cbranch_scc1(const std::string& t, Note n = {}) { branch("s_cbranch_scc1", t, scc, true, n); }
    void s_cbranch_vccnz(const std::string& t, Note n = {}) {
        branch("s_cbranch_vccnz", t, vcc.units, true, n);
    }
    void s_cbranch_vccz(const std::string& t, Note n = {}) {
        branch("s_cbranch_vccz", t, vcc.units, true, n);
    }
    void s_barrier(Note n = {}) { plain("s_barrier", Kind::barrier, n); }
    void s_setprio(unsigned priority, Note n = {}) {
        plain("s_setprio " + std::to_string(priority), Kind::other, n);
    }
    void s_endpgm(Note n = {}) { plain("s_endpgm", Kind::end, n); }
    /// Explicit wait; -1 leaves a counter alone. The wait pass adds those that operands need.
    void s_waitcnt(int vm, int lgkm, Note n = {});

  private:
    enum class Scc : std::uint8_t { keeps, reads, writes, both };
    static constexpr Units scc{scc_unit, 1};

    Instruction& emit(std::string text, Kind kind, Note note);
    void vop1(std::string_view op, unsigned cycles, VReg d, const Source& a, Note n);
    void vop2(std::string_view op, unsigned cycles, VReg d, const Source& a, VReg b, Note n);
    void vop3(std::string_view op, unsigned cycles, VReg d, std::initializer_list<Source> sources, Note n,
              std::string_view modifiers = {});
    void dpp(std::string_view op, unsigned cycles, VReg d, VReg a, VReg b, Dpp lane, Note n);
    void trans(std::string_view op, VReg d, const Source& a, Note n);
    void ds_read(std::string_view op, unsigned dwords, VReg d, VReg address, unsigned offset, Note n);
    void ds_write(std::string_view op, unsigned dwords, VReg address, VReg data, unsigned offset, Note n);
    void buffer_load(std::string_view op, unsigned dwords, VReg d, VReg offset, SReg resource,
                     const Source& soffset, unsigned immediate, Note n);
    void buffer_store(std::string_view op, unsigned dwords, VReg data, VReg offset, SReg resource,
                      const Source& soffset, unsigned immediate, Note n, std::string_view modifiers = {});
    void sop(std::string_view op, const Source& d, std::initializer_list<Source> sources, Scc scc_use,
             Note n);
    void branch(std::string_view op, const std::string& target, Units condition, bool conditional, Note n);
    void plain(std::string text, Kind kind, Note n) { emit(std::move(text), kind, n); }

    Stream* out_;
};

} // namespace zyfa::templates::isa
