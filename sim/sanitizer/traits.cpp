// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/traits.hpp"

#include "sim/wave.hpp"

#include <algorithm>
#include <string_view>

namespace zyfa::sim::sanitizer {

namespace {

using std::string_view;

class Builder {
  public:
    explicit Builder(const Instruction& i) : i_(i), name_(i.mnemonic != nullptr ? i.mnemonic : "") {
        t_.instruction = &i;
    }

    Traits run() {
        switch (i_.kind) {
        case InstructionClass::valu:
        case InstructionClass::transcendental:
        case InstructionClass::packed_fp32:
            vector();
            break;
        case InstructionClass::matrix:
            matrix();
            break;
        case InstructionClass::lds:
        case InstructionClass::vmem:
        case InstructionClass::flat:
        case InstructionClass::smem:
            memory();
            break;
        case InstructionClass::waitcnt: {
            // SIMM16: vmcnt {[15:14],[3:0]}, lgkmcnt [11:8] (CDNA4 ISA, S_WAITCNT).
            t_.flags |= trait::waits;
            t_.vm = static_cast<std::uint8_t>((i_.imm & 15) | (i_.imm >> 14 & 3) << 4);
            t_.lgkm = i_.imm >> 8 & 15;
            break;
        }
        case InstructionClass::salu:
        case InstructionClass::branch:
        case InstructionClass::control:
            scalar();
            break;
        case InstructionClass::barrier:
        case InstructionClass::unknown:
            break;
        }
        return t_;
    }

  private:
    void read(unsigned first, unsigned count, Role role) {
        if (t_.read_count < std::size(t_.reads))
            t_.reads[t_.read_count++] = {static_cast<std::uint16_t>(first), static_cast<std::uint8_t>(count),
                                         role};
    }
    void write(unsigned first, unsigned count) {
        if (t_.write_count < std::size(t_.writes))
            t_.writes[t_.write_count++] = {static_cast<std::uint16_t>(first),
                                           static_cast<std::uint8_t>(count), Role::operand};
    }
    static unsigned unit(const Operand& o) {
        return o.kind == OperandKind::vgpr ? o.index : sgpr_unit + o.index;
    }
    void read(const Operand& o, Role role) {
        if (o.kind == OperandKind::vgpr || o.kind == OperandKind::sgpr)
            read(unit(o), o.words, role);
        else if (o.kind == OperandKind::special && o.index == scalar_code::vccz)
            read(sgpr_unit + scalar_code::vcc, 2, role);
        else if (o.kind == OperandKind::special && o.index == scalar_code::scc)
            read(scc_unit, 1, role);
    }
    void write(const Operand& o) {
        if (o.kind != OperandKind::vgpr && o.kind != OperandKind::sgpr)
            return;
        write(unit(o), o.words);
        if (o.kind == OperandKind::sgpr && t_.is(trait::valu))
            t_.flags |= trait::writes_sgpr_valu;
    }
    bool starts(string_view prefix) const { return name_.starts_with(prefix); }
    bool ends(string_view suffix) const { return name_.ends_with(suffix); }
    bool has(string_view part) const { return name_.find(part) != string_view::npos; }

    void vector() {
        t_.flags |= trait::valu;
        const bool swap = (i_.flags & flag::writes_source) != 0;
        if (i_.kind == InstructionClass::transcendental)
            t_.flags |= trait::trans;
        if (starts("v_permlane"))
            t_.flags |= trait::permlane_swap;
        if (starts("v_read"))
            t_.flags |= trait::lane_read;
        if (name_ == "v_writelane_b32")
            t_.flags |= trait::lane_write;
        if (starts("v_dot"))
            t_.flags |= trait::dot;
        if (starts("v_div_fmas"))
            t_.flags |= trait::div_fmas;
        if ((i_.flags & flag::dpp) != 0)
            t_.flags |= trait::dpp;
        if ((i_.flags & flag::writes_exec) != 0)
            t_.flags |= trait::valu_exec;
        for (unsigned n = 0; n < 3; ++n) {
            const bool selects = n == 1 && (name_ == "v_readlane_b32" || name_ == "v_writelane_b32");
            read(i_.src[n], selects ? Role::lane_select : Role::operand);
        }
        read(i_.src[3], Role::mask);
        const bool vector_result = i_.dst.kind == OperandKind::vgpr;
        const bool sdwa = (i_.flags & flag::sdwa) != 0;
        const unsigned sdwa_selector = i_.control >> 8 & 7, sdwa_unused = i_.control >> 11 & 3;
        const bool high_half = !sdwa && i_.valu != nullptr && i_.kind != InstructionClass::packed_fp32 &&
                               !starts("v_pk_") && !starts("v_dot") && (i_.modifiers.op_sel & 8) != 0;
        // Conversions to FP8, BF8 and FP4 choose a byte with op_sel[3:2]; those to FP4 with stochastic
        // rounding need the wait whichever byte it is (LLVM 22 GCNHazardRecognizer,
        // getDstSelForwardingOperand).
        const bool chosen_byte = to_byte() && ((i_.modifiers.op_sel & 12) != 0 || has("_sr_pk_fp4_"));
        if ((sdwa && vector_result && sdwa_selector < 6) || high_half || chosen_byte)
            t_.flags |= trait::partial_write;
        if (starts("v_cvt_pk_fp8_") || starts("v_cvt_pk_bf8_"))
            t_.flags |= trait::packed_fp8;
        const bool keeps = (i_.valu != nullptr && i_.valu->reads_d) ||
                           (sdwa && sdwa_selector < 6 && sdwa_unused == 2) || (i_.flags & flag::dpp) != 0 ||
                           name_ == "v_writelane_b32" || high_half;
        if (vector_result && (keeps || swap))
            read(i_.dst, i_.valu != nullptr && i_.valu->reads_d ? Role::operand
                         : swap                                 ? Role::operand
                                                                : Role::old);
        write(i_.dst);
        if (swap)
            write(i_.src[0]);
        write(i_.sdst);
        vector_flow();
    }

    /// A conversion to one FP8 or BF8 code or to two of FP4.
    bool to_byte() const {
        return starts("v_cvt_") && (has("_sr_fp8_") || has("_sr_bf8_") || has("_pk_fp4_"));
    }
    /// Which bytes of its destination a conversion to less than 32 bits writes (CDNA4 ISA, OPSEL of
    /// V_CVT_PK_FP8_F32 and its kin: the others stay); 0: no such conversion.
    unsigned converted_bytes() const {
        if (i_.valu == nullptr || !i_.valu->reads_d || !starts("v_cvt_") || name_ == "v_cvt_pkaccum_u8_f32")
            return 0;
        if (to_byte())
            return 1u << (i_.modifiers.op_sel >> 2 & 3);
        return (i_.modifiers.op_sel & 8) != 0 ? 0b1100 : 0b0011;
    }

    void vector_flow() {
        const auto any = [&](std::initializer_list<string_view> names) {
            return std::find(names.begin(), names.end(), name_) != names.end();
        };
        if (any({"v_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_mov_b64"}))
            t_.flow = Flow::copy;
        else if (any({"v_and_b32"}))
            t_.flow = Flow::bits_and;
        else if (any({"v_or_b32", "v_or3_b32"}))
            t_.flow = Flow::bits_or;
        else if (any({"v_xor_b32", "v_not_b32", "v_xnor_b32", "v_bfi_b32", "v_and_or_b32", "v_bitop3_b32"}))
            t_.flow = Flow::bytes;
        else if (any({"v_add_u32", "v_sub_u32", "v_subrev_u32", "v_add3_u32", "v_mul_lo_u32"}))
            t_.flow = Flow::sum;
        else if (any({"v_mad_u64_u32", "v_mad_i64_i32", "v_lshl_add_u64"}))
            t_.flow = Flow::wide_sum;
        else if (any({"v_lshlrev_b32"}))
            t_.flow = Flow::shift_left_reversed;
        else if (any({"v_lshrrev_b32", "v_ashrrev_i32"}))
            t_.flow = Flow::shift_right_reversed;
        else if (any({"v_bfe_u32", "v_bfe_i32"}))
            t_.flow = Flow::extract;
        else if (any({"v_perm_b32"}))
            t_.flow = Flow::permute;
        else if (any({"v_alignbit_b32", "v_alignbyte_b32"}))
            t_.flow = Flow::align;
        else if (any({"v_cndmask_b32"}))
            t_.flow = Flow::select;
        else if (starts("v_cvt_f32_ubyte")) {
            t_.flow = Flow::byte;
            t_.flow_argument = static_cast<std::uint8_t>(name_.back() - '0');
        } else if (const unsigned bytes = converted_bytes(); bytes != 0) {
            t_.flow = Flow::part;
            t_.flow_argument = static_cast<std::uint8_t>(bytes);
        } else if (starts("v_pk_") && i_.kind != InstructionClass::packed_fp32)
            t_.flow = Flow::halves;
        else if (i_.valu != nullptr && !starts("v_cvt_pk") && !starts("v_cvt_scale") &&
                 (i_.valu->s0 == OperandType::f16 || ends("_u16") || ends("_i16") || ends("_b16")))
            t_.flow = Flow::half;
    }

    void matrix() {
        t_.flags |= trait::matrix;
        const MfmaOp& op = *i_.mfma;
        if (op.xdl)
            t_.flags |= trait::xdl;
        if (op.sparse)
            t_.flags |= trait::sparse;
        if (has("_f64"))
            t_.flags |= trait::double_matrix;
        t_.passes = static_cast<std::uint8_t>(mfma_passes(op, i_.control & 0xff, i_.control >> 16 & 0xff));
        read(i_.src[0], Role::matrix_a);
        read(i_.src[1], Role::matrix_a);
        read(i_.src[2], op.sparse ? Role::matrix_a : Role::matrix_c);
        if (op.sparse)
            read(i_.dst, Role::matrix_c);
        if (op.scaled) {
            read(i_.src[3], Role::matrix_a);
            read(i_.sdst, Role::matrix_a);
        }
        write(i_.dst);
    }

    void memory() {
        const bool scalar = i_.kind == InstructionClass::smem;
        const bool is_store = (i_.flags & flag::store) != 0, is_atomic = (i_.flags & flag::atomic) != 0;
        if (!scalar)
            t_.flags |= trait::memory;
        if (is_store || is_atomic)
            t_.flags |= trait::store;
        if (i_.kind == InstructionClass::lds) {
            t_.counter = name_ == "ds_nop" ? Counter::none : Counter::lds;
            const bool permutes = name_ == "ds_bpermute_b32" || name_ == "ds_permute_b32";
            if (name_ == "ds_swizzle_b32") {
                read(i_.src[0], Role::operand);
            } else if (permutes) {
                read(i_.src[0], Role::address);
                read(i_.src[1], Role::operand);
            } else if (name_ == "ds_append" || name_ == "ds_consume") {
                read(sgpr_unit + scalar_code::m0, 1, Role::descriptor);
            } else if (t_.counter == Counter::lds) {
                t_.flags |= trait::needs_address;
                read(i_.src[0], Role::address);
                read(i_.src[1], Role::data);
                read(i_.src[2], Role::data);
            }
            write(i_.dst);
            return;
        }
        if (scalar) {
            t_.counter = name_.find("dcache") != string_view::npos || starts("s_atc") ? Counter::none
                                                                                      : Counter::scalar;
            if ((i_.flags & (flag::load | flag::store | flag::atomic)) != 0) {
                t_.flags |= trait::needs_address;
                read(i_.src[0], Role::descriptor);
                read(i_.src[3], Role::descriptor);
                read(i_.src[1], Role::data);
            }
            write(i_.dst);
            return;
        }
        t_.flags |= trait::vmem;
        if ((i_.flags & (flag::load | flag::store | flag::atomic)) == 0) { // cache control
            if (name_ == "buffer_wbl2")
                t_.counter = Counter::vm;
            return;
        }
        t_.flags |= trait::needs_address;
        t_.counter = i_.kind == InstructionClass::flat ? Counter::flat : Counter::vm;
        read(i_.src[0], Role::address);
        read(i_.src[1], Role::data);
        read(i_.src[2], Role::descriptor);
        read(i_.src[3], Role::descriptor);
        if ((i_.flags & flag::lds) != 0) {
            t_.flags |= trait::lds_dma;
            read(sgpr_unit + scalar_code::m0, 1, Role::descriptor);
        }
        const bool buffer = starts("buffer");
        if (is_store && i_.src[1].words > 2 && !(buffer && i_.src[3].kind == OperandKind::sgpr))
            t_.flags |= trait::wide_store;
        write(i_.dst);
    }

    void scalar() {
        if (i_.kind == InstructionClass::salu)
            t_.flags |= trait::salu;
        if (name_ == "s_nop")
            t_.wait_states = static_cast<std::uint8_t>((i_.imm & 15) + 1);
        if (starts("s_setreg") || starts("s_getreg")) {
            t_.flags |= starts("s_setreg") ? trait::setreg : trait::getreg;
            t_.hardware_register = i_.imm & 63;
        }
        if (name_ == "s_sendmsg")
            t_.flags |= trait::sendmsg;
        if (starts("s_movrel")) {
            t_.flags |= trait::movrel;
            read(sgpr_unit + scalar_code::m0, 1, Role::operand);
            return; // what it reads or writes is known only at run time
        }
        const bool wide = ends("_b64") || ends("_u64") || ends("_i64");
        for (const Operand& o : i_.src)
            read(o, Role::operand);
        if (starts("s_bitset"))
            read(i_.dst, Role::operand);
        if (starts("s_cmov"))
            read(i_.dst, Role::old);
        write(i_.dst);
        if (has("saveexec") || has("wrexec")) {
            read(sgpr_unit + scalar_code::exec, 2, Role::operand);
            write(sgpr_unit + scalar_code::exec, 2);
        }
        if (starts("s_set_gpr_idx"))
            write(sgpr_unit + scalar_code::m0, 1);
        if (starts("s_cbranch_scc"))
            read(scc_unit, 1, Role::condition);
        else if (starts("s_cbranch_vcc"))
            read(sgpr_unit + scalar_code::vcc, 2, Role::condition);
        else if (starts("s_cbranch_exec"))
            read(sgpr_unit + scalar_code::exec, 2, Role::condition);
        if (starts("s_addc") || starts("s_subb") || starts("s_cselect") || starts("s_cmov")) {
            read(scc_unit, 1, Role::mask);
            t_.flags |= trait::reads_scc;
        }
        const auto sets = [&] {
            if (i_.kind != InstructionClass::salu)
                return false;
            for (const char* prefix :
                 {"s_mov", "s_cmov", "s_cselect", "s_brev", "s_ff", "s_flbit", "s_sext", "s_bitset", "s_bfm",
                  "s_mul", "s_pack", "s_getpc", "s_getreg", "s_setreg", "s_set_gpr", "s_bitreplicate"})
                if (starts(prefix))
                    return false;
            return true;
        };
        if (sets()) {
            t_.flags |= trait::sets_scc;
            write(scc_unit, 1);
        }
        scalar_flow(wide);
    }

    void scalar_flow(bool) {
        const string_view base = name_.substr(0, name_.rfind('_'));
        if (has("saveexec") || has("wrexec"))
            t_.flow = Flow::exec_logic;
        else if (base == "s_mov")
            t_.flow = Flow::copy;
        else if (base == "s_and" || base == "s_andn2" || base == "s_nand")
            t_.flow = Flow::bits_and;
        else if (base == "s_or" || base == "s_orn2" || base == "s_nor")
            t_.flow = Flow::bits_or;
        else if (base == "s_xor" || base == "s_xnor" || base == "s_not")
            t_.flow = Flow::bytes;
        else if (base == "s_cselect")
            t_.flow = Flow::select;
        else if (base == "s_lshl")
            t_.flow = Flow::shift_left;
        else if (base == "s_lshr" || base == "s_ashr")
            t_.flow = Flow::shift_right;
        else if (base == "s_bfe")
            t_.flow = Flow::extract;
        else if (name_ == "s_add_u32" || name_ == "s_add_i32" || name_ == "s_sub_u32" || name_ == "s_sub_i32")
            t_.flow = Flow::sum;
        else if (starts("s_pack"))
            t_.flow = Flow::halves;
        if (base == "s_andn2" || base == "s_orn2")
            t_.flags |= trait::negated;
    }

    const Instruction& i_;
    const string_view name_;
    Traits t_;
};

} // namespace

Traits traits_of(const Instruction& instruction) {
    return Builder(instruction).run();
}

std::vector<Traits> traits_of(std::span<const Instruction> instructions) {
    std::vector<Traits> all;
    all.reserve(instructions.size());
    for (const Instruction& i : instructions)
        all.push_back(traits_of(i));
    return all;
}

std::string name_of_unit(unsigned unit) {
    if (unit < agpr_base)
        return "v" + std::to_string(unit);
    if (unit < sgpr_unit)
        return "a" + std::to_string(unit - agpr_base);
    if (unit == scc_unit)
        return "scc";
    const unsigned code = unit - sgpr_unit;
    switch (code) {
    case scalar_code::vcc:
        return "vcc_lo";
    case scalar_code::vcc + 1:
        return "vcc_hi";
    case scalar_code::m0:
        return "m0";
    case scalar_code::exec:
        return "exec_lo";
    case scalar_code::exec + 1:
        return "exec_hi";
    default:
        return "s" + std::to_string(code);
    }
}

} // namespace zyfa::sim::sanitizer
