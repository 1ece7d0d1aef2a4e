// SPDX-License-Identifier: Apache-2.0
// Vector instructions: operand fetch, DPP and SDWA selection, results to registers and masks. The arithmetic
// itself is in sim/valu.
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>

namespace zyfa::sim {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

OperandType type_of(const ValuOp& op, unsigned n) {
    return n == 0 ? op.s0 : n == 1 ? op.s1 : op.s2;
}

/// Sign bit of one element of a source, and in which of its registers it lies.
struct Sign {
    u32 bits;
    unsigned word;
};
Sign sign_of(OperandType type) {
    if (type == OperandType::f64)
        return {0x80000000u, 1};
    if (type == OperandType::f16 || type == OperandType::pk_f16)
        return {0x80008000u, 0}; // whichever half op_sel picks
    return {0x80000000u, 0};
}

void apply_sign(const Instruction& i, unsigned n, u32* registers, OperandType type, unsigned count) {
    const Sign sign = sign_of(type);
    u32* words = registers + sign.word * lanes;
    if ((i.source_abs >> n & 1) != 0)
        for (unsigned lane = 0; lane < count; ++lane)
            words[lane] &= ~sign.bits;
    if ((i.source_neg >> n & 1) != 0)
        for (unsigned lane = 0; lane < count; ++lane)
            words[lane] ^= sign.bits;
}

bool has_sign(const Instruction& i, unsigned n) {
    return ((i.source_neg | i.source_abs) >> n & 1) != 0;
}

/// Source n as lanes of registers, modifiers applied.
const u32* fetch(Wave& w, const Instruction& i, unsigned n) {
    const Operand& o = i.src[n];
    if (o.kind == OperandKind::lanes)
        return w.pool + o.value;
    u32* out = w.thread->temporary[n];
    if (o.kind == OperandKind::vgpr) {
        if (!has_sign(i, n))
            return w.v + o.value;
        std::copy_n(w.v + o.value, o.words * lanes, out);
        apply_sign(i, n, out, type_of(*i.valu, n), lanes);
        return out;
    }
    if (o.kind == OperandKind::none)
        return nullptr;
    u32 word[2] = {};
    if (o.kind == OperandKind::sgpr) {
        word[0] = w.s[o.index];
        if (o.words == 2)
            word[1] = w.s[o.index + 1];
    } else {
        word[0] = read_special(w, o.index, false);
        word[1] = o.words == 2 ? read_special(w, o.index, true) : 0;
    }
    if (has_sign(i, n)) {
        const Sign sign = sign_of(type_of(*i.valu, n));
        if ((i.source_abs >> n & 1) != 0)
            word[sign.word] &= ~sign.bits;
        if ((i.source_neg >> n & 1) != 0)
            word[sign.word] ^= sign.bits;
    }
    std::fill_n(out, lanes, word[0]);
    if (o.words == 2)
        std::fill_n(out + lanes, lanes, word[1]);
    return out;
}

ValuCall prepare(Wave& w, const Instruction& i, u64 exec) {
    ValuCall call;
    call.d = w.v + i.dst.value;
    call.exec = exec;
    call.mode = &w.mode;
    call.op_sel = i.modifiers.op_sel;
    call.op_sel_hi = i.modifiers.op_sel_hi;
    call.neg = i.modifiers.neg;
    call.neg_hi = i.modifiers.neg_hi;
    call.abs = i.modifiers.abs;
    call.omod = i.modifiers.omod;
    call.clamp = i.modifiers.clamp;
    call.control = i.control;
    return call;
}

void finish_mask(Wave& w, const Instruction& i, const ValuCall& call) {
    if (i.sdst.kind == OperandKind::sgpr)
        w.set_s64(i.sdst.index, call.mask_out);
    if ((i.flags & flag::writes_exec) != 0)
        w.set_exec(call.mask_out);
}

/// One source as SDWA selects it: a byte, word or dword, zero- or sign-extended.
const u32* sdwa_select(Wave& w, const Instruction& i, unsigned n, unsigned selector, bool sign_extend) {
    const Operand& o = i.src[n];
    if (o.kind == OperandKind::none)
        return nullptr;
    u32* out = w.thread->temporary[n];
    if (o.kind == OperandKind::vgpr)
        std::copy_n(w.v + o.value, lanes * o.words, out);
    else
        std::fill_n(out, lanes, o.kind == OperandKind::lanes ? w.pool[o.value] : read32(w, o));
    if (selector < 6) {
        const unsigned bits = selector < 4 ? 8 : 16;
        const unsigned shift = selector < 4 ? selector * 8 : (selector - 4) * 16;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const u32 raised = out[lane] << (32 - bits - shift);
            out[lane] = sign_extend ? static_cast<u32>(static_cast<std::int32_t>(raised) >> (32 - bits))
                                    : raised >> (32 - bits);
        }
    }
    apply_sign(i, n, out, type_of(*i.valu, n), lanes);
    return out;
}

/// Merges a result into its register as dst_sel and dst_unused say.
void sdwa_merge(u32* d, const u32* result, u64 exec, unsigned selector, unsigned unused) {
    const unsigned bits = selector < 4 ? 8 : 16;
    const unsigned shift = selector < 4 ? selector * 8 : (selector - 4) * 16;
    const u32 mask = ((1u << bits) - 1) << shift;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if ((exec >> lane & 1) == 0)
            continue;
        const u32 part = result[lane] << shift & mask;
        u32 rest = 0;                                             // UNUSED_PAD
        if (unused == 1 && (part >> (shift + bits - 1) & 1) != 0) // UNUSED_SEXT: above it
            rest = shift + bits == 32 ? 0 : ~0u << (shift + bits);
        if (unused == 2) // UNUSED_PRESERVE
            rest = d[lane] & ~mask;
        d[lane] = rest | part;
    }
}

} // namespace

int dpp_source(unsigned control, unsigned lane) {
    const int row = static_cast<int>(lane & ~15u), position = static_cast<int>(lane & 15u);
    const auto in_row = [&](int p) { return p >= 0 && p < 16 ? row + p : -1; };
    if (control < 0x100)
        return static_cast<int>((lane & ~3u) + (control >> (2 * (lane & 3)) & 3));
    const int amount = static_cast<int>(control & 15);
    switch (control & 0x1f0) {
    case 0x100:
        return in_row(position + amount); // row_shl
    case 0x110:
        return in_row(position - amount); // row_shr
    case 0x120:
        return row + ((position - amount) & 15); // row_ror
    case 0x150:
        return row + amount; // row_newbcast
    default:
        break;
    }
    const int l = static_cast<int>(lane);
    switch (control) {
    case 0x130:
        return l + 1 < 64 ? l + 1 : -1; // wave_shl
    case 0x134:
        return (l + 1) & 63; // wave_rol
    case 0x138:
        return l - 1; // wave_shr
    case 0x13c:
        return (l - 1) & 63; // wave_ror
    case 0x140:
        return row + 15 - position; // row_mirror
    case 0x141:
        return l ^ 7; // row_half_mirror
    case 0x142:
        return row - 1; // row_bcast15: -1 in row 0
    case 0x143:
        return l >= 32 ? 31 : -1; // row_bcast31
    default:
        return -1;
    }
}

void execute_valu_plain(Wave& w, const Instruction& i) {
    ValuCall call = prepare(w, i, w.exec());
    const u32* const bases[2] = {w.v, w.pool};
    for (unsigned n = 0; n < 3; ++n)
        call.s[n] = bases[i.src[n].kind == OperandKind::lanes] + i.src[n].value;
    i.function.valu(call);
}

void execute_valu_general(Wave& w, const Instruction& i) {
    ValuCall call = prepare(w, i, w.exec());
    for (unsigned n = 0; n < 3; ++n)
        call.s[n] = fetch(w, i, n);
    if (i.src[3].kind == OperandKind::sgpr)
        call.mask_in = w.s64(i.src[3].index);
    i.function.valu(call);
    finish_mask(w, i, call);
}

void execute_mov_b32(Wave& w, const Instruction& i) {
    const u32* source = (i.src[0].kind == OperandKind::lanes ? w.pool : w.v) + i.src[0].value;
    u32* d = w.v + i.dst.value;
    const u64 exec = w.exec();
    if (exec == ~0ull) {
        std::memmove(d, source, lanes * sizeof(u32));
        return;
    }
    for (unsigned lane = 0; lane < lanes; ++lane)
        if ((exec >> lane & 1) != 0)
            d[lane] = source[lane];
}

void execute_valu_dpp(Wave& w, const Instruction& i) {
    const unsigned control = i.control >> 8 & 0x1ff;
    const bool zero_outside = (i.control >> 19 & 1) != 0; // bound_ctrl
    const unsigned bank_mask = i.control >> 24 & 15, row_mask = i.control >> 28 & 15;
    const u64 exec = w.exec();
    u64 writing = exec;
    const Operand& source = i.src[0];
    u32* out = w.thread->temporary[0];
    const u32* in = w.v + source.value;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const int from = dpp_source(control, lane);
        const bool valid = from >= 0 && (exec >> from & 1) != 0;
        if (!valid && !zero_outside)
            writing &= ~(1ull << lane);
        if ((row_mask >> (lane / 16) & 1) == 0 || (bank_mask >> (lane / 4 % 4) & 1) == 0)
            writing &= ~(1ull << lane);
        for (unsigned word = 0; word < source.words; ++word)
            out[word * lanes + lane] = valid ? in[word * lanes + static_cast<unsigned>(from)] : 0;
    }
    apply_sign(i, 0, out, i.valu->s0, lanes);
    ValuCall call = prepare(w, i, writing);
    call.control = 0;
    call.s[0] = out;
    for (unsigned n = 1; n < 3; ++n)
        call.s[n] = fetch(w, i, n);
    if (i.src[3].kind == OperandKind::sgpr)
        call.mask_in = w.s64(i.src[3].index);
    i.function.valu(call);
    finish_mask(w, i, call);
}

void execute_valu_sdwa(Wave& w, const Instruction& i) {
    const u32 control = i.control;
    const u64 exec = w.exec();
    ValuCall call = prepare(w, i, exec);
    call.control = 0;
    call.s[0] = sdwa_select(w, i, 0, control >> 16 & 7, (control >> 19 & 1) != 0);
    call.s[1] = sdwa_select(w, i, 1, control >> 24 & 7, (control >> 27 & 1) != 0);
    if (i.src[3].kind == OperandKind::sgpr)
        call.mask_in = w.s64(i.src[3].index);
    const unsigned selector = control >> 8 & 7;
    const bool partial = i.valu->d != OperandType::none && selector < 6;
    if (partial) {
        u32* result = w.thread->temporary[4];
        std::copy_n(call.d, lanes, result);
        u32* const d = call.d;
        call.d = result;
        i.function.valu(call);
        sdwa_merge(d, result, exec, selector, control >> 11 & 3);
    } else {
        i.function.valu(call);
    }
    finish_mask(w, i, call);
}

} // namespace zyfa::sim
