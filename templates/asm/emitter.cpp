// SPDX-License-Identifier: Apache-2.0
#include "templates/asm/emitter.hpp"

namespace zyfa::templates::isa {

namespace {

std::string join(std::string_view op, std::initializer_list<std::string> operands) {
    std::string out(op);
    const char* separator = " ";
    for (const std::string& operand : operands) {
        out += separator;
        out += operand;
        separator = ", ";
    }
    return out;
}

std::string offset_text(unsigned offset) {
    return offset ? " offset:" + std::to_string(offset) : "";
}

void check_even(VReg r, const char* what) {
    // gfx90a and later: vector tuples start at an even register (LLVM, AMDGPU FeatureRequiresAlignedVGPRs)
    if (r.count > 1 && r.first % 2 != 0)
        defect(std::string(what) + " tuple at an odd register: " + r.text());
}

void check_width(VReg r, unsigned dwords, std::string_view op) {
    if (r.count != dwords)
        defect(std::string(op) + " needs " + std::to_string(dwords) + " registers, got " + r.text());
    check_even(r, "data");
}

} // namespace

Instruction& Emitter::emit(std::string text, Kind kind, Note note) {
    Instruction instruction;
    instruction.text = std::move(text);
    instruction.comment = note;
    instruction.kind = kind;
    out_->add(std::move(instruction));
    return out_->items.back().instruction;
}

void Emitter::vop1(std::string_view op, unsigned cycles, VReg d, const Source& a, Note n) {
    Instruction& i = emit(join(op, {d.text(), a.text()}), Kind::valu, n);
    i.valu_cycles = static_cast<std::uint8_t>(cycles);
    i.reads.add(a.units());
    i.writes.add(d.units());
}

void Emitter::vop2(std::string_view op, unsigned cycles, VReg d, const Source& a, VReg b, Note n) {
    Instruction& i = emit(join(op, {d.text(), a.text(), b.text()}), Kind::valu, n);
    i.valu_cycles = static_cast<std::uint8_t>(cycles);
    i.reads.add(a.units());
    i.reads.add(b.units());
    i.writes.add(d.units());
}

void Emitter::vop3(std::string_view op, unsigned cycles, VReg d, std::initializer_list<Source> sources,
                   Note n, std::string_view modifiers) {
    std::string text(op);
    text += " " + d.text();
    Units scalar{};
    for (const Source& s : sources) {
        text += ", " + s.text();
        if (s.literal())
            defect("VOP3 takes no literal: " + text); // CDNA4 ISA, VOP3 encoding
        if (s.scalar()) {
            if (!scalar.empty() && scalar != s.units())
                defect("more than one SGPR on the constant bus: " + text); // CDNA4 ISA: one per VALU op
            scalar = s.units();
        }
    }
    text += modifiers;
    Instruction& i = emit(std::move(text), Kind::valu, n);
    i.valu_cycles = static_cast<std::uint8_t>(cycles);
    for (const Source& s : sources)
        i.reads.add(s.units());
    i.writes.add(d.units());
}

void Emitter::trans(std::string_view op, VReg d, const Source& a, Note n) {
    vop1(op, 8, d, a, n);
    out_->items.back().instruction.kind = Kind::trans;
}

void Emitter::v_cmp(std::string_view test, MaskTarget mask, Source a, VReg b, Note n) {
    const bool short_form = mask.units() == vcc.units;
    if (!short_form && a.literal())
        defect("VOP3 compare takes no literal");
    Instruction& i =
        emit(join("v_cmp_" + std::string(test), {mask.text(), a.text(), b.text()}), Kind::valu, n);
    i.valu_cycles = 4;
    i.writes_scalar = true;
    i.reads.add(a.units());
    i.reads.add(b.units());
    i.writes.add(mask.units());
}

void Emitter::v_cndmask_b32(VReg d, Source off, Source on, Source mask, Note n) {
    if (off.literal() || on.literal())
        if (mask.units() != vcc.units || on.literal() || on.scalar())
            defect("v_cndmask_b32 with a literal needs VCC and the literal first");
    Instruction& i =
        emit(join("v_cndmask_b32", {d.text(), off.text(), on.text(), mask.text()}), Kind::valu, n);
    i.valu_cycles = 4;
    i.reads.add(off.units());
    i.reads.add(on.units());
    i.reads.add(mask.units());
    i.writes.add(d.units());
}

void Emitter::v_readfirstlane_b32(SReg d, VReg a, Note n) {
    Instruction& i = emit(join("v_readfirstlane_b32", {d.text(), a.text()}), Kind::valu, n);
    i.valu_cycles = 4;
    i.writes_scalar = true;
    i.lane_select = true;
    i.reads.add(a.units());
    i.writes.add(d.units());
}

void Emitter::v_readlane_b32(SReg d, VReg a, unsigned lane, Note n) {
    v_readfirstlane_b32(d, a, n);
    out_->items.back().instruction.text = join("v_readlane_b32", {d.text(), a.text(), std::to_string(lane)});
}

void Emitter::v_permlane32_swap_b32(VReg a, VReg b, Note n) {
    Instruction& i = emit(join("v_permlane32_swap_b32", {a.text(), b.text()}), Kind::permlane, n);
    i.valu_cycles = 4;
    for (VReg r : {a, b}) {
        i.reads.add(r.units());
        i.writes.add(r.units());
    }
}

void Emitter::v_permlane16_swap_b32(VReg a, VReg b, Note n) {
    v_permlane32_swap_b32(a, b, n);
    out_->items.back().instruction.text = join("v_permlane16_swap_b32", {a.text(), b.text()});
}

void Emitter::dpp(std::string_view op, unsigned cycles, VReg d, VReg a, VReg b, Dpp lane, Note n) {
    vop2(op, cycles, d, a, b, n);
    const char* control = lane == Dpp::xor_1      ? "quad_perm:[1,0,3,2]"
                          : lane == Dpp::xor_2    ? "quad_perm:[2,3,0,1]"
                          : lane == Dpp::xor_7    ? "row_half_mirror"
                          : lane == Dpp::xor_15   ? "row_mirror"
                          : lane == Dpp::rotate_4 ? "row_ror:4"
                                                  : "row_ror:8";
    Instruction& i = out_->items.back().instruction;
    i.text += std::string(" ") + control + " row_mask:0xf bank_mask:0xf";
    i.dpp = true;
}

void Emitter::v_fmac_f32_dpp(VReg d, VReg a, VReg b, Dpp lane, Note n) {
    dpp("v_fmac_f32_dpp", 2, d, a, b, lane, n);
    out_->items.back().instruction.reads.add(d.units());
}

void Emitter::mfma(const MatrixOp& op, VReg d, VReg a, VReg b, Source c, Note n) {
    check_width(d, op.d_registers, op.mnemonic);
    check_width(a, op.a_registers, op.mnemonic);
    check_width(b, op.b_registers, op.mnemonic);
    if (!c.units().empty() && c.units().count != op.d_registers)
        defect(std::string(op.mnemonic) + ": accumulator " + c.text());
    Instruction& i =
        emit(join(op.mnemonic, {d.text(), a.text(), b.text(), c.text()}) + op.modifiers, Kind::mfma, n);
    i.passes = op.passes;
    i.opcode = op.opcode;
    i.mfma_a = a.units();
    i.mfma_b = b.units();
    i.mfma_c = c.units();
    i.reads.add(i.mfma_a);
    i.reads.add(i.mfma_b);
    i.reads.add(i.mfma_c);
    i.writes.add(d.units());
}

void Emitter::mfma_scale(const MatrixOp& op, VReg d, VReg a, VReg b, Source c, VReg scale_a, unsigned byte_a,
                         VReg scale_b, unsigned byte_b, Note n) {
    mfma(op, d, a, b, std::move(c), n);
    Instruction& i = out_->items.back().instruction;
    // The byte's number is {op_sel_hi, op_sel}[operand] (CDNA4 ISA, V_MFMA_LD_SCALE_B32).
    auto bit = [](unsigned value, unsigned position) { return std::to_string(value >> position & 1); };
    i.text += ", " + scale_a.text() + ", " + scale_b.text() + " op_sel:[" + bit(byte_a, 0) + "," +
              bit(byte_b, 0) + ",0] op_sel_hi:[" + bit(byte_a, 1) + "," + bit(byte_b, 1) + ",0]";
    i.reads.add(scale_a.units());
    i.reads.add(scale_b.units());
}

void Emitter::v_cvt_pk_fp8_f32(VReg d, Source a, Source b, bool high, Note n) {
    vop3("v_cvt_pk_fp8_f32", 8, d, {a, b}, n, high ? " op_sel:[0,0,1]" : "");
    Instruction& i = out_->items.back().instruction;
    i.partial_write = high;
    i.reads.add(d.units()); // the other half
}

void Emitter::v_cvt_scalef32_pk_fp8_f32(VReg d, Source a, Source b, Source scale, bool high, Note n) {
    vop3("v_cvt_scalef32_pk_fp8_f32", 8, d, {a, b, scale}, n, high ? " op_sel:[0,0,0,1]" : "");
    Instruction& i = out_->items.back().instruction;
    i.partial_write = high;
    i.reads.add(d.units()); // the other half
}

void Emitter::ds_read(std::string_view op, unsigned dwords, VReg d, VReg address, unsigned offset, Note n) {
    check_width(d, dwords, op);
    if (offset > 65535)
        defect("LDS offset above 65535");
    Instruction& i = emit(join(op, {d.text(), address.text()}) + offset_text(offset), Kind::lds_read, n);
    i.reads.add(address.units());
    i.writes.add(d.units());
}

void Emitter::ds_write(std::string_view op, unsigned dwords, VReg address, VReg data, unsigned offset,
                       Note n) {
    check_width(data, dwords, op);
    if (offset > 65535)
        defect("LDS offset above 65535");
    Instruction& i = emit(join(op, {address.text(), data.text()}) + offset_text(offset), Kind::lds_write, n);
    i.reads.add(address.units());
    i.reads.add(data.units());
}

void Emitter::buffer_load(std::string_view op, unsigned dwords, VReg d, VReg offset, SReg resource,
                          const Source& soffset, unsigned immediate, Note n) {
    check_width(d, dwords, op);
    if (immediate > 4095)
        defect("buffer offset above 4095");
    Instruction& i = emit(join(op, {d.text(), offset.text(), resource.text(), soffset.text()}) + " offen" +
                              offset_text(immediate),
                          Kind::vmem_load, n);
    i.reads.add(offset.units());
    i.reads.add(resource.units());
    i.reads.add(soffset.units());
    i.writes.add(d.units());
}

void Emitter::buffer_load_dwordx4_lds(VReg offset, SReg resource, Source soffset, unsigned immediate,
                                      Units written, Note n) {
    if (immediate > 4095)
        defect("buffer offset above 4095");
    Instruction& i = emit(join("buffer_load_dwordx4", {offset.text(), resource.text(), soffset.text()}) +
                              " offen" + offset_text(immediate) + " lds",
                          Kind::lds_dma, n);
    i.reads.add(offset.units());
    i.reads.add(resource.units());
    i.reads.add(soffset.units());
    i.reads.add(m0.units);
    i.writes.add(written);
}

void Emitter::buffer_atomic_inc(VReg data, VReg offset, SReg resource, Source soffset, unsigned immediate,
                                Note n) {
    if (immediate > 4095)
        defect("buffer offset above 4095");
    Instruction& i =
        emit(join("buffer_atomic_inc", {data.text(), offset.text(), resource.text(), soffset.text()}) +
                 " offen" + offset_text(immediate) + " sc0", // sc0: returns; agent scope needs no sc1
             Kind::vmem_load, n);
    i.reads.add(data.units());
    i.reads.add(offset.units());
    i.reads.add(resource.units());
    i.reads.add(soffset.units());
    i.writes.add(data.units());
}

void Emitter::buffer_store(std::string_view op, unsigned dwords, VReg data, VReg offset, SReg resource,
                           const Source& soffset, unsigned immediate, Note n, std::string_view modifiers) {
    check_width(data, dwords, op);
    if (immediate > 4095)
        defect("buffer offset above 4095");
    Instruction& i = emit(join(op, {data.text(), offset.text(), resource.text(), soffset.text()}) + " offen" +
                              offset_text(immediate) + std::string(modifiers),
                          Kind::vmem_store, n);
    i.store_dwords = static_cast<std::uint8_t>(dwords);
    i.store_data = data.units();
    i.scalar_offset = !soffset.units().empty();
    i.reads.add(data.units());
    i.reads.add(offset.units());
    i.reads.add(resource.units());
    i.reads.add(soffset.units());
}

void Emitter::s_load(SReg d, SReg base, unsigned offset, Note n) {
    const char* suffix = d.count == 1    ? ""
                         : d.count == 2  ? "x2"
                         : d.count == 4  ? "x4"
                         : d.count == 8  ? "x8"
                         : d.count == 16 ? "x16"
                                         : nullptr;
    if (!suffix || (d.count >= 4 && d.first % 4 != 0) || (d.count == 2 && d.first % 2 != 0))
        defect("s_load into " + d.text());
    Instruction& i =
        emit(join("s_load_dword" + std::string(suffix), {d.text(), base.text(), std::to_string(offset)}),
             Kind::smem, n);
    i.reads.add(base.units());
    i.writes.add(d.units());
}

void Emitter::sop(std::string_view op, const Source& d, std::initializer_list<Source> sources, Scc scc_use,
                  Note n) {
    std::string text(op);
    text += " " + d.text();
    unsigned literals = 0;
    for (const Source& s : sources) {
        text += ", " + s.text();
        literals += s.literal();
    }
    if (literals > 1)
        defect("more than one literal: " + text);
    Instruction& i = emit(std::move(text), Kind::salu, n);
    for (const Source& s : sources)
        i.reads.add(s.units());
    i.writes.add(d.units());
    if (scc_use == Scc::reads || scc_use == Scc::both)
        i.reads.add(scc);
    if (scc_use == Scc::writes || scc_use == Scc::both)
        i.writes.add(scc);
}

void Emitter::s_cmp(std::string_view test, Source a, Source b, Note n) {
    Instruction& i = emit(join("s_cmp_" + std::string(test), {a.text(), b.text()}), Kind::salu, n);
    i.reads.add(a.units());
    i.reads.add(b.units());
    i.writes.add(scc);
}

void Emitter::s_bitcmp1_b32(Source a, Source bit, Note n) {
    Instruction& i = emit(join("s_bitcmp1_b32", {a.text(), bit.text()}), Kind::salu, n);
    i.reads.add(a.units());
    i.reads.add(bit.units());
    i.writes.add(scc);
}

void Emitter::branch(std::string_view op, const std::string& target, Units condition, bool conditional,
                     Note n) {
    Instruction& i = emit(std::string(op) + " " + target, Kind::branch, n);
    i.reads.add(condition);
    i.target = target;
    i.conditional = conditional;
}

void Emitter::s_waitcnt(int vm, int lgkm, Note n) {
    Instruction instruction = make_waitcnt(vm, lgkm);
    instruction.comment = n;
    out_->add(std::move(instruction));
}

} // namespace zyfa::templates::isa
