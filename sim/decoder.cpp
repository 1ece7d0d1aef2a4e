// SPDX-License-Identifier: Apache-2.0
#include "sim/decoder.hpp"

#include "sim/cost_model.hpp"
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>
#include <string>

namespace zyfa::sim {

namespace {

/// An instruction that this engine cannot execute; it becomes a fault where it is reached.
struct Unsupported {};

constexpr unsigned code_sdwa = 249, code_dpp = 250;

std::uint32_t field(std::uint32_t word, unsigned high, unsigned low) {
    return word >> low & (high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1);
}
std::int32_t signed_field(std::uint32_t word, unsigned high, unsigned low) {
    return static_cast<std::int32_t>(word << (31 - high)) >> (31 - high + low);
}

unsigned words_of(OperandType type) {
    return operand_words(type);
}

/// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi): inline constants 240 to 248 in each format.
constexpr std::uint32_t inline_f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                        0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::uint32_t inline_f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                        0xc000, 0x4400, 0xc400, 0x3118};
constexpr std::uint64_t inline_f64[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                        0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                        0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool is_inline_integer(unsigned code) {
    return code >= 128 && code <= 208;
}
std::int32_t inline_integer(unsigned code) {
    return code <= 192 ? static_cast<std::int32_t>(code) - 128 : 192 - static_cast<std::int32_t>(code);
}
bool is_inline_float(unsigned code) {
    return code >= 240 && code <= 248;
}
bool is_special(unsigned code) {
    return (code >= scalar_code::shared_base && code <= scalar_code::private_limit) ||
           (code >= scalar_code::vccz && code <= scalar_code::scc);
}

Operand sgpr(unsigned code, unsigned words) {
    if (code + words > 128)
        throw Unsupported{};
    Operand o;
    o.kind = OperandKind::sgpr;
    o.words = static_cast<std::uint8_t>(words);
    o.index = static_cast<std::uint16_t>(code);
    return o;
}

Operand vgpr(unsigned index, unsigned words, bool accumulator = false) {
    if (index + words > 256)
        throw Unsupported{};
    Operand o;
    o.kind = OperandKind::vgpr;
    o.words = static_cast<std::uint8_t>(words);
    o.index = static_cast<std::uint16_t>(index + (accumulator ? agpr_base : 0));
    o.value = o.index * lanes;
    return o;
}

class Decoder {
  public:
    Decoder(const RawInstruction& raw, ConstantPool& pool, std::int64_t& branch_target)
        : raw_(raw), w0_(raw.word[0]), w1_(raw.word[1]), pool_(pool), branch_target_(branch_target) {}

    Instruction run() {
        i_.pc = raw_.pc;
        i_.size = static_cast<std::uint8_t>(raw_.size);
        i_.mnemonic = raw_.mnemonic;
        try {
            if (raw_.mnemonic == nullptr)
                throw Unsupported{};
            decode();
            register_extent();
            if (i_.execute_observed == nullptr)
                i_.execute_observed = i_.execute;
            assign_cost(i_);
        } catch (const Unsupported&) {
            Instruction stop;
            stop.pc = i_.pc;
            stop.size = i_.size;
            stop.mnemonic = i_.mnemonic;
            stop.execute = stop.execute_observed = execute_unknown;
            return stop;
        }
        return i_;
    }

  private:
    void decode() {
        if (field(w0_, 31, 30) == 0b10)
            scalar();
        else if (field(w0_, 31, 31) == 0)
            vector_short();
        else if (field(w0_, 31, 26) == 0b110000)
            scalar_memory();
        else if (field(w0_, 31, 23) == 0b110100111)
            vector_packed();
        else if (field(w0_, 31, 26) == 0b110100)
            vector_long();
        else if (field(w0_, 31, 26) == 0b110110)
            lds();
        else if (field(w0_, 31, 26) == 0b110111)
            flat();
        else if (field(w0_, 31, 26) == 0b111000)
            buffer();
        else
            throw Unsupported{};
    }

    // --- Scalar

    Operand scalar_source(unsigned code, unsigned words, bool zero_extend) {
        if (code < 128)
            return sgpr(code, words);
        Operand o;
        o.words = static_cast<std::uint8_t>(words);
        o.kind = OperandKind::constant;
        if (is_inline_integer(code)) {
            o.value = static_cast<std::uint32_t>(inline_integer(code));
        } else if (is_inline_float(code) && words == 1) {
            o.value = inline_f32[code - 240];
        } else if (is_inline_float(code) && code < 248) {
            o.kind = OperandKind::constant_f64;
            o.value = static_cast<std::uint32_t>(inline_f64[code - 240] >> 32);
        } else if (code == scalar_code::literal) {
            o.value = w1_;
            if (zero_extend)
                o.kind = OperandKind::constant_zext;
        } else if (is_special(code)) {
            o.kind = OperandKind::special;
            o.index = static_cast<std::uint16_t>(code);
        } else {
            throw Unsupported{};
        }
        return o;
    }

    void scalar() {
        const ScalarOp* op = find_scalar_op(raw_.mnemonic);
        if (op == nullptr)
            throw Unsupported{};
        i_.execute = op->execute;
        i_.kind = op->kind;
        const unsigned high = field(w0_, 31, 23);
        const auto destination = [&] {
            if (op->d != 0)
                i_.dst = sgpr(field(w0_, 22, 16), op->d);
        };
        const auto source = [&](unsigned n, unsigned code, unsigned words) {
            if (words != 0)
                i_.src[n] = scalar_source(code, words, op->zero_extend);
        };
        if (high == 0b101111101) { // SOP1
            destination();
            source(0, field(w0_, 7, 0), op->s0);
        } else if (high == 0b101111110) { // SOPC
            source(0, field(w0_, 7, 0), op->s0);
            source(1, field(w0_, 15, 8), op->s1);
            i_.imm = field(w0_, 15, 8);   // s_set_gpr_idx_on's operand mask
        } else if (high == 0b101111111) { // SOPP
            i_.imm = field(w0_, 15, 0);
            if (op->kind == InstructionClass::branch)
                relative_target();
        } else if (field(w0_, 31, 28) == 0b1011) { // SOPK
            i_.imm = field(w0_, 15, 0);
            i_.control = w1_;
            destination();
            if (op->s0 != 0)
                i_.src[0] = sgpr(field(w0_, 22, 16), op->s0);
            if (op->kind == InstructionClass::branch)
                relative_target();
        } else { // SOP2
            destination();
            source(0, field(w0_, 7, 0), op->s0);
            source(1, field(w0_, 15, 8), op->s1);
        }
    }

    void relative_target() {
        branch_target_ = std::int64_t{raw_.pc} + raw_.size + std::int64_t{signed_field(w0_, 15, 0)} * 4;
    }

    // --- Vector

    /// A vector source: register, SGPR, or constant with its modifiers applied.
    Operand vector_source(unsigned n, unsigned code, OperandType type, unsigned words, bool apply_modifiers) {
        if (code >= 256)
            return vgpr(code - 256, words);
        if (code < 128) {
            const Operand o = sgpr(code, words);
            return o;
        }
        if (is_special(code)) {
            Operand o;
            o.kind = OperandKind::special;
            o.words = static_cast<std::uint8_t>(words);
            o.index = static_cast<std::uint16_t>(code);
            return o;
        }
        std::uint64_t value = 0;
        const bool half = type == OperandType::f16 || type == OperandType::pk_f16;
        if (is_inline_integer(code)) {
            value = static_cast<std::uint64_t>(std::int64_t{inline_integer(code)});
            if (type == OperandType::pk_f32)
                value = (value & 0xffffffff) | value << 32;
        } else if (is_inline_float(code)) {
            if (half)
                value = inline_f16[code - 240];
            else if (type == OperandType::f64 || type == OperandType::b64)
                value = inline_f64[code - 240];
            else
                value = inline_f32[code - 240] * 0x100000001ull; // pk_f32: both halves
        } else if (code == scalar_code::literal) {
            if (raw_.size < 8)
                throw Unsupported{};
            value = type == OperandType::f64 ? std::uint64_t{w1_} << 32 : w1_;
        } else {
            throw Unsupported{};
        }
        if (apply_modifiers) {
            const std::uint64_t sign = type == OperandType::f64 ? 1ull << 63 : half ? 0x8000 : 0x80000000ull;
            if ((i_.source_abs >> n & 1) != 0)
                value &= ~sign;
            if ((i_.source_neg >> n & 1) != 0)
                value ^= sign;
        }
        Operand o;
        o.kind = OperandKind::lanes;
        o.words = static_cast<std::uint8_t>(words);
        o.value = pool_.add(words == 1 ? value & 0xffffffff : value, words);
        return o;
    }

    /// Common end of all vector arithmetic: operands are decoded, choose the handler.
    void finish_valu(const ValuOp& op) {
        i_.valu = &op;
        i_.function.valu = op.function;
        i_.flags |= flag::vector;
        i_.kind = op.transcendental                   ? InstructionClass::transcendental
                  : op.pipe == ValuClass::packed_fp32 ? InstructionClass::packed_fp32
                                                      : InstructionClass::valu;
        if (std::string_view(raw_.mnemonic).starts_with("v_cmpx"))
            i_.flags |= flag::writes_exec;
        if ((i_.flags & flag::dpp) != 0) {
            i_.execute = execute_valu_dpp;
        } else if ((i_.flags & flag::sdwa) != 0) {
            i_.execute = execute_valu_sdwa;
        } else {
            bool plain = !op.reads_mask && !op.writes_mask;
            for (unsigned n = 0; n < 3; ++n) {
                const Operand& s = i_.src[n];
                const bool modified =
                    s.kind == OperandKind::vgpr && ((i_.source_neg | i_.source_abs) >> n & 1) != 0;
                if (modified || s.kind == OperandKind::sgpr || s.kind == OperandKind::special)
                    plain = false;
            }
            i_.execute = plain ? execute_valu_plain : execute_valu_general;
            if (plain && std::string_view(op.mnemonic) == "v_mov_b32")
                i_.execute = execute_mov_b32;
        }
    }

    const ValuOp& valu_op() const {
        const ValuOp* op = find_valu_op(raw_.mnemonic);
        if (op == nullptr)
            throw Unsupported{};
        return *op;
    }

    static bool is_compare(const ValuOp& op) { return op.writes_mask && op.d == OperandType::none; }

    // VOP1, VOP2, VOPC with their SDWA, DPP and literal forms.
    void vector_short() {
        const unsigned top = field(w0_, 31, 25);
        const bool vop1 = top == 0b0111111, vopc = top == 0b0111110;
        const unsigned src0 = field(w0_, 8, 0), vsrc1 = field(w0_, 16, 9), vdst = field(w0_, 24, 17);
        if (vop1)
            if (const CrossLaneOp* op = find_cross_lane_op(raw_.mnemonic)) {
                if (src0 == code_sdwa || src0 == code_dpp)
                    throw Unsupported{};
                cross_lane(*op, vdst, src0, 0);
                return;
            }
        if (!vop1 && !vopc) {
            const std::string_view name = raw_.mnemonic;
            if (name == "v_fmamk_f32" || name == "v_madmk_f32" || name == "v_fmaak_f32" ||
                name == "v_madak_f32" || name == "v_fmamk_f16" || name == "v_fmaak_f16" ||
                name == "v_madmk_f16" || name == "v_madak_f16") {
                fused_literal(name, src0, vsrc1, vdst);
                return;
            }
        }
        const ValuOp& op = valu_op();
        unsigned code0 = src0;
        unsigned vector1 = 256 + vsrc1;
        if (src0 == code_dpp) {
            i_.flags |= flag::dpp;
            i_.control = w1_;
            code0 = 256 + field(w1_, 7, 0);
            i_.source_neg = static_cast<std::uint8_t>(field(w1_, 20, 20) | field(w1_, 22, 22) << 1);
            i_.source_abs = static_cast<std::uint8_t>(field(w1_, 21, 21) | field(w1_, 23, 23) << 1);
        } else if (src0 == code_sdwa) {
            i_.flags |= flag::sdwa;
            i_.control = w1_;
            code0 = field(w1_, 7, 0) + (field(w1_, 23, 23) != 0 ? 0 : 256);
            if (!vop1 && field(w1_, 31, 31) != 0)
                vector1 = vsrc1; // an SGPR
            i_.source_neg =
                static_cast<std::uint8_t>(field(w1_, 20, 20) | (vop1 ? 0 : field(w1_, 28, 28) << 1));
            i_.source_abs =
                static_cast<std::uint8_t>(field(w1_, 21, 21) | (vop1 ? 0 : field(w1_, 29, 29) << 1));
            if (!vopc) {
                i_.modifiers.clamp = field(w1_, 13, 13) != 0;
                i_.modifiers.omod = static_cast<std::uint8_t>(field(w1_, 15, 14));
            }
        }
        if (op.s0 != OperandType::none)
            i_.src[0] = vector_source(0, code0, op.s0, words_of(op.s0), (i_.flags & flag::sdwa) == 0);
        if (!vop1 && op.s1 != OperandType::none)
            i_.src[1] = vector_source(1, vector1, op.s1, words_of(op.s1), (i_.flags & flag::sdwa) == 0);
        if (op.reads_mask)
            i_.src[3] = sgpr(scalar_code::vcc, 2);
        if (op.d != OperandType::none)
            i_.dst = vgpr(vdst, words_of(op.d));
        if (op.writes_mask) {
            unsigned code = scalar_code::vcc;
            if (vopc && (i_.flags & flag::sdwa) != 0 && field(w1_, 15, 15) != 0)
                code = field(w1_, 14, 8);
            i_.sdst = sgpr(code, 2);
        }
        finish_valu(op);
    }

    /// D = S0 * K + S1 (fmamk) or S0 * S1 + K (fmaak): a fused multiply-add with a literal.
    void fused_literal(std::string_view name, unsigned src0, unsigned vsrc1, unsigned vdst) {
        const bool half = name.ends_with("f16");
        const bool unfused = name.starts_with("v_mad"); // gfx950 has these for FP16 only
        const ValuOp* op = find_valu_op(!half ? "v_fma_f32" : unfused ? "v_mad_f16" : "v_fma_f16");
        if (op == nullptr || (unfused && !half))
            throw Unsupported{};
        const OperandType type = half ? OperandType::f16 : OperandType::f32;
        const bool add_literal = name.starts_with("v_fmaak");
        i_.src[0] = vector_source(0, src0, type, 1, false);
        i_.src[add_literal ? 1 : 2] = vgpr(vsrc1, 1);
        i_.src[add_literal ? 2 : 1] = vector_source(1, scalar_code::literal, type, 1, false);
        i_.dst = vgpr(vdst, 1);
        finish_valu(*op);
    }

    void cross_lane(const CrossLaneOp& op, unsigned dst, unsigned src0, unsigned src1) {
        i_.execute = op.execute;
        i_.kind = InstructionClass::valu;
        i_.flags |= flag::vector;
        if (op.d_is_s0)
            i_.flags |= flag::writes_source;
        const std::string_view name = raw_.mnemonic;
        const bool from_acc = name == "v_accvgpr_read_b32" || name == "v_accvgpr_mov_b32";
        const bool to_acc = name == "v_accvgpr_write_b32" || name == "v_accvgpr_mov_b32";
        if (op.s0 != 0)
            i_.src[0] = from_acc ? vgpr(src0 & 255, op.s0, true)
                                 : vector_source(0, src0, OperandType::b32, op.s0, false);
        if (op.s1 != 0)
            i_.src[1] = vector_source(1, src1, OperandType::b32, op.s1, false);
        if (op.d != 0)
            i_.dst = op.scalar_d ? sgpr(dst, op.d) : vgpr(dst & 255, op.d, to_acc);
    }

    // VOP3 (A and B).
    void vector_long() {
        const unsigned vdst = field(w0_, 7, 0);
        const unsigned code[3] = {field(w1_, 8, 0), field(w1_, 17, 9), field(w1_, 26, 18)};
        if (const CrossLaneOp* op = find_cross_lane_op(raw_.mnemonic)) {
            cross_lane(*op, vdst, code[0], code[1]);
            return;
        }
        const ValuOp& op = valu_op();
        const bool carry = op.writes_mask && !is_compare(op); // VOP3B
        const OperandType types[3] = {op.s0, op.s1, op.s2};
        if (std::string_view(raw_.mnemonic).starts_with("v_bitop3")) {
            // The truth table lies in the modifier fields (LLVM VOP3Instructions.td, VOP3_BITOP3).
            i_.control = field(w1_, 31, 29) | field(w0_, 10, 8) << 3 | field(w1_, 28, 27) << 6;
            i_.modifiers.op_sel = static_cast<std::uint8_t>(field(w0_, 14, 11));
        } else {
            i_.source_neg = static_cast<std::uint8_t>(field(w1_, 31, 29));
            i_.modifiers.omod = static_cast<std::uint8_t>(field(w1_, 28, 27));
            if (!carry) {
                i_.source_abs = static_cast<std::uint8_t>(field(w0_, 10, 8));
                i_.modifiers.op_sel = static_cast<std::uint8_t>(field(w0_, 14, 11));
            }
            i_.modifiers.clamp = field(w0_, 15, 15) != 0;
        }
        for (unsigned n = 0; n < 3; ++n)
            if (types[n] != OperandType::none && types[n] != OperandType::mask)
                i_.src[n] = vector_source(n, code[n], types[n], words_of(types[n]), true);
        if (op.reads_mask) {
            // v_cndmask, v_addc and the like name the mask in the source after their operands; v_div_fmas has
            // three operands and reads VCC.
            const bool named = op.s2 == OperandType::none || op.s2 == OperandType::mask;
            if (named && code[2] >= 128)
                throw Unsupported{};
            i_.src[3] = sgpr(named ? code[2] : scalar_code::vcc, 2);
        }
        if (is_compare(op)) {
            i_.sdst = sgpr(vdst, 2);
        } else {
            if (op.d != OperandType::none)
                i_.dst = vgpr(vdst, words_of(op.d));
            if (carry)
                i_.sdst = sgpr(field(w0_, 14, 8), 2);
        }
        finish_valu(op);
    }

    // VOP3P: packed arithmetic, matrix instructions, moves between register files.
    void vector_packed() {
        const unsigned vdst = field(w0_, 7, 0);
        if (const CrossLaneOp* op = find_cross_lane_op(raw_.mnemonic)) {
            cross_lane(*op, vdst, field(w1_, 8, 0), field(w1_, 17, 9));
            return;
        }
        if (const MfmaOp* op = find_mfma_op(raw_.mnemonic)) {
            matrix(*op);
            return;
        }
        const ValuOp& op = valu_op();
        i_.modifiers.neg_hi = static_cast<std::uint8_t>(field(w0_, 10, 8));
        i_.modifiers.op_sel = static_cast<std::uint8_t>(field(w0_, 13, 11));
        i_.modifiers.op_sel_hi = static_cast<std::uint8_t>(field(w1_, 28, 27) | field(w0_, 14, 14) << 2);
        i_.modifiers.clamp = field(w0_, 15, 15) != 0;
        i_.modifiers.neg = static_cast<std::uint8_t>(field(w1_, 31, 29));
        const OperandType types[3] = {op.s0, op.s1, op.s2};
        const unsigned code[3] = {field(w1_, 8, 0), field(w1_, 17, 9), field(w1_, 26, 18)};
        for (unsigned n = 0; n < 3; ++n)
            if (types[n] != OperandType::none)
                i_.src[n] = vector_source(n, code[n], types[n], words_of(types[n]), false);
        i_.dst = vgpr(vdst, words_of(op.d));
        finish_valu(op);
    }

    void matrix(const MfmaOp& op) {
        const std::uint32_t a = op.scaled ? raw_.word[2] : w0_, b = op.scaled ? raw_.word[3] : w1_;
        if (op.scaled && raw_.size != 16)
            throw Unsupported{};
        i_.mfma = &op;
        i_.function.mfma = op.function;
        i_.execute = execute_matrix;
        i_.kind = InstructionClass::matrix;
        i_.flags |= flag::vector;
        const unsigned cbsz = field(a, 10, 8), abid = field(a, 14, 11), blgp = field(b, 31, 29);
        const bool accumulator = field(a, 15, 15) != 0;
        const unsigned source_a = field(b, 8, 0), source_b = field(b, 17, 9), source_c = field(b, 26, 18);
        if (source_a < 256 || source_b < 256)
            throw Unsupported{};
        // Of a sparse A every second element is there.
        const unsigned words_a =
            op.sparse ? op.a_registers : mfma_operand_registers(op, op.f8f6f4 ? cbsz : 0);
        const unsigned words_b = mfma_operand_registers(op, op.f8f6f4 ? blgp : 0);
        i_.src[0] = vgpr(source_a - 256, words_a, field(b, 27, 27) != 0);
        i_.src[1] = vgpr(source_b - 256, words_b, field(b, 28, 28) != 0);
        i_.dst = vgpr(field(a, 7, 0), op.d_registers, accumulator);
        if (op.sparse) {
            if (source_c < 256)
                throw Unsupported{};
            i_.src[2] = vgpr(source_c - 256, 1); // indices; C is D
        } else if (source_c >= 256) {
            i_.src[2] = vgpr(source_c - 256, op.d_registers, accumulator);
        } else {
            const bool wide = std::string_view(op.mnemonic).find("_f64") != std::string_view::npos;
            const bool integer = std::string_view(op.mnemonic).starts_with("v_mfma_i32");
            Operand c;
            c.kind = OperandKind::constant;
            if (is_inline_integer(source_c))
                c.value = static_cast<std::uint32_t>(inline_integer(source_c));
            else if (is_inline_float(source_c) && !integer)
                c.value = inline_f32[source_c - 240];
            else
                throw Unsupported{};
            if (wide && c.value != 0)
                throw Unsupported{};
            i_.src[2] = c;
        }
        i_.control = cbsz | abid << 8 | blgp << 16;
        if (op.scaled) {
            scale(0, field(w1_, 8, 0));
            scale(1, field(w1_, 17, 9));
            // Byte of the scale register: {op_sel_hi, op_sel} of the prefix (CDNA4 ISA, block-scaled MFMA).
            i_.modifiers.op_sel = static_cast<std::uint8_t>(field(w0_, 12, 11));
            i_.modifiers.op_sel_hi = static_cast<std::uint8_t>(field(w1_, 28, 27));
        }
        const auto overlaps = [&](const Operand& s) {
            return s.kind == OperandKind::vgpr && s.index < i_.dst.index + i_.dst.words &&
                   i_.dst.index < s.index + s.words;
        };
        if (overlaps(i_.src[0]) || overlaps(i_.src[1]) ||
            (overlaps(i_.src[2]) && i_.src[2].index != i_.dst.index))
            i_.flags |= flag::copy_sources;
    }

    void scale(unsigned n, unsigned code) {
        Operand& o = n == 0 ? i_.src[3] : i_.sdst;
        if (code >= 256)
            o = vgpr(code - 256, 1);
        else if (is_inline_integer(code))
            o = vector_source(n, code, OperandType::b32, 1, false);
        else
            throw Unsupported{};
    }

    // --- Memory

    const MemoryOp& memory_op(const char* suffix = "") {
        const MemoryOp* op = find_memory_op(std::string(raw_.mnemonic) + suffix);
        if (op == nullptr)
            throw Unsupported{};
        i_.execute = op->execute;
        i_.execute_observed = op->observed;
        i_.flags |= op->flags;
        i_.bytes = op->bytes;
        return *op;
    }

    void scalar_memory() {
        const MemoryOp& op = memory_op();
        i_.kind = InstructionClass::smem;
        const bool buffer = std::string_view(raw_.mnemonic).find("buffer") != std::string_view::npos;
        if (op.flags != 0) {
            i_.src[0] = sgpr(field(w0_, 5, 0) * 2, buffer ? 4 : 2);
            if (field(w0_, 17, 17) != 0)
                i_.imm = static_cast<std::uint32_t>(signed_field(w1_, 20, 0));
            else
                i_.src[3] = scalar_source(field(w1_, 7, 0), 1, true);
            if (field(w0_, 14, 14) != 0)
                i_.src[3] = scalar_source(field(w1_, 31, 25), 1, true);
            if (op.data != 0)
                i_.src[1] = sgpr(field(w0_, 12, 6), op.data);
        }
        if (field(w0_, 16, 16) != 0)
            i_.flags |= flag::glc;
        if (op.d != 0 && ((op.flags & flag::atomic) == 0 || (i_.flags & flag::glc) != 0))
            i_.dst = sgpr(field(w0_, 12, 6), op.d);
    }

    void lds() {
        if (field(w0_, 16, 16) != 0) // GDS does not exist here
            throw Unsupported{};
        const MemoryOp& op = memory_op();
        i_.kind = InstructionClass::lds;
        i_.flags |= flag::vector;
        const bool acc = field(w0_, 25, 25) != 0;
        i_.imm = field(w0_, 15, 0);
        i_.src[0] = vgpr(field(w1_, 7, 0), 1);
        if (op.data != 0)
            i_.src[1] = vgpr(field(w1_, 15, 8), op.data, acc);
        if (op.data2 != 0)
            i_.src[2] = vgpr(field(w1_, 23, 16), op.data2, acc);
        if (op.d != 0)
            i_.dst = vgpr(field(w1_, 31, 24), op.d, acc);
    }

    void buffer() {
        const bool to_lds = field(w0_, 16, 16) != 0;
        const MemoryOp& op = memory_op(to_lds ? "_lds" : "");
        i_.kind = InstructionClass::vmem;
        i_.flags |= flag::vector;
        if (op.flags == 0)
            return; // cache control
        const bool acc = field(w1_, 23, 23) != 0;
        i_.imm = field(w0_, 11, 0);
        if (field(w0_, 12, 12) != 0)
            i_.flags |= flag::offen;
        if (field(w0_, 13, 13) != 0)
            i_.flags |= flag::idxen;
        if (field(w0_, 14, 14) != 0)
            i_.flags |= flag::glc;
        if (to_lds)
            i_.flags |= flag::lds;
        const unsigned address_words = field(w0_, 12, 12) + field(w0_, 13, 13);
        if (address_words != 0)
            i_.src[0] = vgpr(field(w1_, 7, 0), address_words);
        i_.src[2] = sgpr(field(w1_, 20, 16) * 4, 4);
        i_.src[3] = scalar_source(field(w1_, 31, 24), 1, true);
        const unsigned data = field(w1_, 15, 8);
        if (op.data != 0)
            i_.src[1] = vgpr(data, op.data, acc);
        if (op.d != 0 && !to_lds && ((op.flags & flag::atomic) == 0 || (i_.flags & flag::glc) != 0))
            i_.dst = vgpr(data, op.d, acc);
    }

    void flat() {
        const MemoryOp& op = memory_op();
        i_.flags |= flag::vector;
        const unsigned segment = field(w0_, 15, 14);
        i_.kind = segment == 0 ? InstructionClass::flat : InstructionClass::vmem;
        i_.imm = static_cast<std::uint32_t>(signed_field(w0_, 12, 0));
        const bool acc = field(w1_, 23, 23) != 0;
        const unsigned saddr = field(w1_, 22, 16);
        const bool has_saddr = segment != 0 && saddr != 0x7f;
        const unsigned address = field(w1_, 7, 0);
        if (segment == 1) {
            i_.flags |= flag::scratch;
            if (field(w0_, 13, 13) != 0) // SVE
                i_.src[0] = vgpr(address, 1);
            if (has_saddr)
                i_.src[2] = sgpr(saddr, 1);
        } else {
            if (segment == 2)
                i_.flags |= flag::global;
            i_.src[0] = vgpr(address, has_saddr ? 1 : 2);
            if (has_saddr)
                i_.src[2] = sgpr(saddr, 2);
        }
        if (field(w0_, 16, 16) != 0)
            i_.flags |= flag::glc;
        if (op.data != 0)
            i_.src[1] = vgpr(field(w1_, 15, 8), op.data, acc);
        if (op.d != 0 && ((op.flags & flag::atomic) == 0 || (i_.flags & flag::glc) != 0))
            i_.dst = vgpr(field(w1_, 31, 24), op.d, acc);
    }

    void register_extent() {
        const auto extend = [&](const Operand& o) {
            if (o.kind != OperandKind::vgpr)
                return;
            const unsigned end = o.index + o.words;
            if (o.index >= agpr_base)
                i_.a_end = static_cast<std::uint16_t>(std::max<unsigned>(i_.a_end, end - agpr_base));
            else
                i_.v_end = static_cast<std::uint16_t>(std::max<unsigned>(i_.v_end, end));
        };
        for (const Operand& o : i_.src)
            extend(o);
        extend(i_.dst);
        extend(i_.sdst);
    }

    const RawInstruction& raw_;
    const std::uint32_t w0_, w1_;
    ConstantPool& pool_;
    std::int64_t& branch_target_;
    Instruction i_;
};

} // namespace

Instruction decode_instruction(const RawInstruction& raw, ConstantPool& pool, std::int64_t& branch_target) {
    return Decoder(raw, pool, branch_target).run();
}

} // namespace zyfa::sim
