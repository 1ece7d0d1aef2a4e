// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/validity.hpp"

#include "sim/operations.hpp"

#include <algorithm>
#include <string_view>

namespace zyfa::sim::sanitizer {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr LaneBytes initialised{{~0ull, ~0ull, ~0ull, ~0ull}};

LaneBytes uniform(u64 valid) {
    return {{valid, valid, valid, valid}};
}

LaneBytes operator&(const LaneBytes& a, const LaneBytes& b) {
    LaneBytes out;
    for (unsigned n = 0; n < 4; ++n)
        out.byte[n] = a.byte[n] & b.byte[n];
    return out;
}

/// The value of a constant or scalar operand; nothing for a register with lanes of its own.
bool constant_of(const Wave& w, const Operand& o, u32& value) {
    if (o.kind == OperandKind::lanes)
        value = w.pool[o.value];
    else if (o.kind == OperandKind::sgpr || o.kind == OperandKind::constant ||
             o.kind == OperandKind::constant_zext || o.kind == OperandKind::special)
        value = read32(w, o);
    else
        return false;
    return true;
}

/// Bytes of a value shifted right by `amount` bits (64-bit source, low word first): each byte of the result
/// needs one or two of the source; what comes in from above is zero.
LaneBytes shift_right(const LaneBytes* words, unsigned count, unsigned amount, bool arithmetic) {
    const auto byte = [&](unsigned n) -> u64 {
        if (n < 4 * count)
            return words[n / 4].byte[n % 4];
        return arithmetic ? words[count - 1].byte[3] : ~0ull;
    };
    LaneBytes out;
    for (unsigned n = 0; n < 4; ++n)
        out.byte[n] = byte((8 * n + amount) / 8) & byte((8 * n + 7 + amount) / 8);
    return out;
}

LaneBytes shift_left(const LaneBytes& word, unsigned amount) {
    LaneBytes out;
    for (unsigned n = 0; n < 4; ++n) {
        const int low = static_cast<int>(8 * n) - static_cast<int>(amount), high = low + 7;
        out.byte[n] = (low < 0 ? ~0ull : word.byte[low / 8]) & (high < 0 ? ~0ull : word.byte[high / 8]);
    }
    return out;
}

} // namespace

void Validity::start(const Wave& wave) {
    std::fill(std::begin(v_), std::end(v_), LaneBytes{});
    v_[0] = initialised;
    for (unsigned n = 0; n < 128; ++n)
        s_[n] = wave.s[n] != poison_sgpr ? ~0u : 0;
    scc_ = false;
}

u64 Validity::lanes_of(const Use& use) const noexcept {
    if (!use.vector())
        return whole(use) ? ~0ull : 0;
    u64 valid = ~0ull;
    for (unsigned n = 0; n < use.count; ++n)
        valid &= v_[use.first + n].all();
    return valid;
}

bool Validity::whole(const Use& use) const noexcept {
    if (use.first == scc_unit)
        return scc_;
    for (unsigned n = 0; n < use.count; ++n)
        if (s_[use.first - sgpr_unit + n] != ~0u)
            return false;
    return true;
}

bool Validity::decides(const Wave& wave, const Use& condition) const noexcept {
    if (whole(condition))
        return true;
    if (condition.first == scc_unit)
        return false;
    for (unsigned n = 0; n < condition.count; ++n) { // vccz and execz: one initialised one decides
        const unsigned code = condition.first - sgpr_unit + n;
        if ((wave.s[code] & s_[code]) != 0)
            return true;
    }
    return false;
}

void Validity::set(const Use& use) noexcept {
    if (use.first == scc_unit) {
        scc_ = true;
        return;
    }
    for (unsigned n = 0; n < use.count; ++n)
        if (use.vector())
            v_[use.first + n] = initialised;
        else
            s_[use.first - sgpr_unit + n] = ~0u;
}

void Validity::flow(Wave& wave, const Traits& t) {
    switch (t.instruction->kind) {
    case InstructionClass::valu:
    case InstructionClass::transcendental:
    case InstructionClass::packed_fp32:
        vector_flow(wave, t);
        break;
    case InstructionClass::matrix: // an uninitialised input has been reported; it need not spread
        for (const Use& d : t.written())
            set(d);
        break;
    case InstructionClass::salu:
    case InstructionClass::branch:
    case InstructionClass::control:
        scalar_flow(wave, t);
        break;
    default:
        break;
    }
}

// --- Vector

void Validity::vector_flow(Wave& wave, const Traits& t) {
    const Instruction& i = *t.instruction;
    const u64 exec = wave.exec();
    if (t.is(trait::lane_read)) {
        unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
        if (i.src[1].kind != OperandKind::none) {
            u32 value = 0;
            constant_of(wave, i.src[1], value);
            lane = value & 63;
        }
        u32 bits = ~0u;
        if (i.src[0].kind == OperandKind::vgpr) {
            bits = 0;
            for (unsigned n = 0; n < 4; ++n)
                if ((v_[i.src[0].index].byte[n] >> lane & 1) != 0)
                    bits |= 0xffu << (8 * n);
        }
        if (i.dst.kind == OperandKind::sgpr)
            s_[i.dst.index] = bits;
        return;
    }
    if (t.is(trait::lane_write)) {
        u32 lane = 0;
        constant_of(wave, i.src[1], lane);
        const u64 bit = 1ull << (lane & 63);
        const u32 bits = i.src[0].kind == OperandKind::sgpr ? s_[i.src[0].index] : ~0u;
        for (unsigned n = 0; n < 4; ++n) {
            u64& byte = v_[i.dst.index].byte[n];
            byte = (bits >> (8 * n) & 0xff) == 0xff ? byte | bit : byte & ~bit;
        }
        return;
    }
    if ((i.flags & flag::writes_source) != 0) {
        swap_lanes(wave, t);
        return;
    }
    u64 valid = ~0ull;
    for (const Use& use : t.read()) {
        if (use.vector()) {
            valid &= lanes_of(use);
        } else if (use.role == Role::mask) {
            const unsigned code = use.first - sgpr_unit;
            valid &= u64{s_[code]} | u64{s_[code + 1]} << 32;
        } else if (!whole(use)) {
            valid = 0;
        }
    }
    const bool enough = t.is(trait::dpp) ? valid == ~0ull : (valid & exec) == exec;
    if (!enough) {
        vector_slowly(wave, t);
        return;
    }
    if (i.dst.kind == OperandKind::vgpr)
        for (unsigned n = 0; n < i.dst.words; ++n)
            v_[i.dst.index + n].assign(exec, ~0ull);
    finish_mask(wave, t, ~0ull);
}

void Validity::finish_mask(const Wave& wave, const Traits& t, u64 valid) {
    const Instruction& i = *t.instruction;
    const u64 bits = valid | ~wave.exec(); // lanes that are off give 0
    if (i.sdst.kind == OperandKind::sgpr) {
        s_[i.sdst.index] = static_cast<u32>(bits);
        s_[i.sdst.index + 1] = static_cast<u32>(bits >> 32);
    }
    if ((i.flags & flag::writes_exec) != 0) {
        s_[scalar_code::exec] = static_cast<u32>(bits);
        s_[scalar_code::exec + 1] = static_cast<u32>(bits >> 32);
    }
}

void Validity::swap_lanes(const Wave& wave, const Traits& t) {
    const Instruction& i = *t.instruction;
    LaneBytes &a = v_[i.dst.index], &b = v_[i.src[0].index];
    const u64 exec = wave.exec();
    const std::string_view name = i.mnemonic;
    const unsigned row = name.find("32_swap") != std::string_view::npos   ? 32
                         : name.find("16_swap") != std::string_view::npos ? 16
                                                                          : 0;
    for (unsigned n = 0; n < 4; ++n) {
        const u64 old_a = a.byte[n], old_b = b.byte[n];
        if (row == 0) {
            a.byte[n] = (old_a & ~exec) | (old_b & exec);
            b.byte[n] = (old_b & ~exec) | (old_a & exec);
            continue;
        }
        // Odd rows of the first with even rows of the second.
        const u64 even = row == 32 ? 0xffffffffull : 0x0000ffff0000ffffull;
        const u64 to_a = (old_b & even) << row, to_b = old_a >> row & even;
        const u64 write_a = exec & ~even, write_b = exec & even;
        a.byte[n] = (old_a & ~write_a) | (to_a & write_a);
        b.byte[n] = (old_b & ~write_b) | (to_b & write_b);
    }
}

LaneBytes Validity::source(const Wave& wave, const Traits& t, unsigned n) const {
    const Instruction& i = *t.instruction;
    const Operand& o = i.src[n];
    LaneBytes in = initialised;
    if (o.kind == OperandKind::vgpr) {
        in = v_[o.index];
        for (unsigned word = 1; word < o.words; ++word)
            in = in & v_[o.index + word];
    } else if (o.kind == OperandKind::sgpr) {
        for (unsigned byte = 0; byte < 4; ++byte) {
            bool whole_byte = true;
            for (unsigned word = 0; word < o.words; ++word)
                whole_byte &= (s_[o.index + word] >> (8 * byte) & 0xff) == 0xff;
            in.byte[byte] = whole_byte ? ~0ull : 0;
        }
    }
    if (n == 0 && t.is(trait::dpp)) {
        const unsigned control = i.control >> 8 & 0x1ff;
        const u64 exec = wave.exec();
        LaneBytes moved = initialised; // what comes from outside is 0
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const int from = dpp_source(control, lane);
            if (from < 0 || (exec >> from & 1) == 0)
                continue;
            for (unsigned byte = 0; byte < 4; ++byte)
                if ((in.byte[byte] >> from & 1) == 0)
                    moved.byte[byte] &= ~(1ull << lane);
        }
        in = moved;
    }
    if ((i.flags & flag::sdwa) != 0 && n < 2) {
        const unsigned selector = i.control >> (n == 0 ? 16 : 24) & 7;
        const bool sign = (i.control >> (n == 0 ? 19 : 27) & 1) != 0;
        if (selector < 4) {
            const u64 chosen = in.byte[selector];
            in = {{chosen, sign ? chosen : ~0ull, sign ? chosen : ~0ull, sign ? chosen : ~0ull}};
        } else if (selector < 6) {
            const u64 low = in.byte[2 * (selector - 4)], high = in.byte[2 * (selector - 4) + 1];
            in = {{low, high, sign ? high : ~0ull, sign ? high : ~0ull}};
        }
    }
    return in;
}

void Validity::vector_slowly(Wave& wave, const Traits& t) {
    const Instruction& i = *t.instruction;
    u64 exec = wave.exec();
    const LaneBytes s[3] = {source(wave, t, 0), source(wave, t, 1), source(wave, t, 2)};
    u64 mask_valid = ~0ull, mask = 0;
    if (i.src[3].kind == OperandKind::sgpr) {
        mask = wave.s64(i.src[3].index);
        mask_valid = u64{s_[i.src[3].index]} | u64{s_[i.src[3].index + 1]} << 32;
    }
    u64 whole_result = s[0].all() & s[1].all() & s[2].all() & mask_valid;
    const bool accumulates = i.valu != nullptr && i.valu->reads_d && i.dst.kind == OperandKind::vgpr;
    const LaneBytes old = i.dst.kind == OperandKind::vgpr ? v_[i.dst.index] : initialised;
    if (accumulates)
        for (unsigned n = 0; n < i.dst.words; ++n)
            whole_result &= v_[i.dst.index + n].all();
    LaneBytes out = uniform(whole_result);
    if (t.flow == Flow::part)
        for (unsigned byte = 0; byte < 4; ++byte)
            out.byte[byte] =
                (t.flow_argument >> byte & 1) != 0 ? s[0].all() & s[1].all() & s[2].all() : old.byte[byte];
    const bool simple = i.src[0].words <= 1 && i.src[1].words <= 1 && i.src[2].words <= 1 &&
                        i.dst.kind == OperandKind::vgpr && i.dst.words == 1;
    u32 c[3] = {};
    bool fixed[3];
    for (unsigned n = 0; n < 3; ++n)
        fixed[n] = constant_of(wave, i.src[n], c[n]);
    const bool plain = (i.flags & flag::sdwa) == 0;
    // 16 bits of a source as op_sel picks them.
    const auto picked = [&](unsigned n, bool high) {
        return high ? s[n].byte[2] & s[n].byte[3] : s[n].byte[0] & s[n].byte[1];
    };
    if (t.flow == Flow::copy && i.dst.kind == OperandKind::vgpr && i.dst.words == 2 && plain) {
        for (unsigned word = 0; word < 2; ++word)
            for (unsigned byte = 0; byte < 4; ++byte) {
                const u64 valid = i.src[0].kind == OperandKind::vgpr ? v_[i.src[0].index + word].byte[byte]
                                                                     : s[0].byte[byte];
                u64& d = v_[i.dst.index + word].byte[byte];
                d = (d & ~exec) | (valid & exec);
            }
        return;
    }
    if (t.flow == Flow::wide_sum && i.dst.kind == OperandKind::vgpr && i.dst.words == 2) {
        u64 low = ~0ull;
        for (unsigned n = 0; n < 3; ++n)
            if (i.src[n].kind == OperandKind::vgpr)
                low &= v_[i.src[n].index].all();
            else if (i.src[n].kind == OperandKind::sgpr && s_[i.src[n].index] != ~0u)
                low = 0;
        v_[i.dst.index].assign(exec, low);
        v_[i.dst.index + 1].assign(exec, whole_result);
        finish_mask(wave, t, whole_result);
        return;
    }
    if (simple)
        switch (t.flow) {
        case Flow::copy:
            out = s[0];
            break;
        case Flow::bytes:
            out = s[0] & s[1] & s[2];
            break;
        case Flow::bits_and:
        case Flow::bits_or:
            out = s[0] & s[1] & s[2];
            for (unsigned n = 0; n < 3; ++n)
                for (unsigned byte = 0; byte < 4 && fixed[n] && plain; ++byte)
                    if ((c[n] >> (8 * byte) & 0xff) == (t.flow == Flow::bits_and ? 0 : 0xff) &&
                        i.src[n].kind != OperandKind::none)
                        out.byte[byte] = ~0ull;
            break;
        case Flow::sum: {
            u64 lower = ~0ull;
            for (unsigned byte = 0; byte < 4; ++byte)
                out.byte[byte] = lower &= s[0].byte[byte] & s[1].byte[byte] & s[2].byte[byte];
            break;
        }
        case Flow::shift_left_reversed:
            if (fixed[0] && plain)
                out = shift_left(s[1], c[0] & 31);
            break;
        case Flow::shift_right_reversed:
            if (fixed[0] && plain)
                out = shift_right(&s[1], 1, c[0] & 31, std::string_view(i.mnemonic).starts_with("v_ashr"));
            break;
        case Flow::extract:
            if (fixed[1] && fixed[2]) {
                u64 needed = ~0ull;
                const unsigned first = c[1] & 31, width = c[2] & 31;
                for (unsigned bit = first; bit < std::min(first + width, 32u); ++bit)
                    needed &= s[0].byte[bit / 8];
                out = uniform(needed);
            }
            break;
        case Flow::permute:
            if (fixed[2])
                for (unsigned byte = 0; byte < 4; ++byte) {
                    // Selectors 0-3: source 1, 4-7: source 0, 8-11: signs, above: constants.
                    const unsigned selector = c[2] >> (8 * byte) & 0xff;
                    out.byte[byte] = selector < 4    ? s[1].byte[selector]
                                     : selector < 8  ? s[0].byte[selector - 4]
                                     : selector < 10 ? s[1].byte[selector == 8 ? 1 : 3]
                                     : selector < 12 ? s[0].byte[selector == 10 ? 1 : 3]
                                                     : ~0ull;
                }
            break;
        case Flow::align:
            if (fixed[2]) {
                const LaneBytes pair[2] = {s[1], s[0]};
                const bool bits = std::string_view(i.mnemonic) == "v_alignbit_b32";
                out = shift_right(pair, 2, bits ? c[2] & 31 : 8 * (c[2] & 3), false);
            }
            break;
        case Flow::select:
            for (unsigned byte = 0; byte < 4; ++byte)
                out.byte[byte] = mask_valid & ((s[1].byte[byte] & mask) | (s[0].byte[byte] & ~mask));
            break;
        case Flow::byte:
            out = uniform(s[0].byte[t.flow_argument]);
            break;
        case Flow::half: {
            u64 valid = mask_valid;
            for (unsigned n = 0; n < 3; ++n)
                valid &= plain ? picked(n, (i.modifiers.op_sel >> n & 1) != 0) : s[n].all();
            if (accumulates)
                valid &= old.byte[0] & old.byte[1];
            const bool sixteen = i.valu->d == OperandType::f16 || i.valu->d == OperandType::b32;
            out = (i.modifiers.op_sel & 8) != 0 ? LaneBytes{{old.byte[0], old.byte[1], valid, valid}}
                  : sixteen && i.valu->d == OperandType::f16
                      ? LaneBytes{{valid, valid, valid | old.byte[2], valid | old.byte[3]}}
                      : uniform(valid);
            break;
        }
        case Flow::halves: {
            u64 low = ~0ull, high = ~0ull;
            for (unsigned n = 0; n < 3; ++n) {
                low &= picked(n, (i.modifiers.op_sel >> n & 1) != 0);
                high &= picked(n, (i.modifiers.op_sel_hi >> n & 1) != 0);
            }
            if (accumulates) {
                low &= old.byte[0] & old.byte[1];
                high &= old.byte[2] & old.byte[3];
            }
            out = {{low, low, high, high}};
            break;
        }
        default:
            break;
        }
    if (i.dst.kind == OperandKind::vgpr) {
        if (t.is(trait::dpp)) { // lanes that get nothing keep what they have
            const unsigned control = i.control >> 8 & 0x1ff;
            const bool zero_outside = (i.control >> 19 & 1) != 0;
            const unsigned bank_mask = i.control >> 24 & 15, row_mask = i.control >> 28 & 15;
            const u64 running = exec;
            for (unsigned lane = 0; lane < lanes; ++lane) {
                const int from = dpp_source(control, lane);
                const bool given = from >= 0 && (running >> from & 1) != 0;
                if ((!given && !zero_outside) || (row_mask >> (lane / 16) & 1) == 0 ||
                    (bank_mask >> (lane / 4 % 4) & 1) == 0)
                    exec &= ~(1ull << lane);
            }
        }
        const unsigned selector = i.control >> 8 & 7, unused = i.control >> 11 & 3;
        if (!plain && selector < 6) {
            const unsigned first = selector < 4 ? selector : 2 * (selector - 4), count = selector < 4 ? 1 : 2;
            LaneBytes merged = unused == 2 ? old : initialised;
            for (unsigned n = 0; n < count; ++n)
                merged.byte[first + n] = out.byte[n];
            out = merged;
        }
        for (unsigned word = 0; word < i.dst.words; ++word)
            for (unsigned byte = 0; byte < 4; ++byte) {
                u64& d = v_[i.dst.index + word].byte[byte];
                d = (d & ~exec) | (out.byte[byte] & exec);
            }
    }
    finish_mask(wave, t, whole_result);
}

// --- Scalar

void Validity::scalar_flow(Wave& wave, const Traits& t) {
    const Instruction& i = *t.instruction;
    bool valid = true;
    for (const Use& use : t.read())
        valid &= whole(use);
    if (valid || t.is(trait::movrel)) {
        for (const Use& d : t.written())
            set(d);
        return;
    }
    const unsigned words = std::max<unsigned>(1, i.dst.words);
    // Initialised bits and values of the sources.
    u64 s[2] = {~0ull, ~0ull}, value[2] = {};
    for (unsigned n = 0; n < 2; ++n) {
        const Operand& o = i.src[n];
        if (o.kind == OperandKind::none)
            continue;
        value[n] = o.words == 2 ? read64(wave, o) : read32(wave, o);
        if (o.kind == OperandKind::sgpr) {
            s[n] = s_[o.index] | (o.words == 2 ? u64{s_[o.index + 1]} << 32 : ~0ull << 32);
        } else if (o.kind == OperandKind::special && o.index == scalar_code::scc) {
            s[n] = scc_ ? ~0ull : ~1ull;
        }
    }
    u64 out = 0;
    bool scc = false;
    const u64 width = words == 2 ? ~0ull : 0xffffffffull;
    if (t.is(trait::negated))
        value[1] = ~value[1];
    u64 exec_valid = u64{s_[scalar_code::exec]} | u64{s_[scalar_code::exec + 1]} << 32;
    switch (t.flow) {
    case Flow::copy:
        out = s[0];
        break;
    case Flow::bits_and:
        out = (s[0] & s[1]) | (s[0] & ~value[0]) | (s[1] & ~value[1]);
        scc = (value[0] & value[1] & s[0] & s[1] & width) != 0;
        break;
    case Flow::bits_or:
        out = (s[0] & s[1]) | (s[0] & value[0]) | (s[1] & value[1]);
        scc = (((value[0] & s[0]) | (value[1] & s[1])) & width) != 0;
        break;
    case Flow::bytes:
        out = s[0] & s[1];
        break;
    case Flow::select:
        out = !scc_ ? 0 : wave.scc ? s[0] : s[1];
        break;
    case Flow::shift_left:
        if (s[1] == ~0ull)
            out = s[0] << (value[1] & (words == 2 ? 63 : 31)) |
                  ((1ull << (value[1] & (words == 2 ? 63 : 31))) - 1);
        break;
    case Flow::shift_right:
        if (s[1] == ~0ull) {
            const unsigned amount = value[1] & (words == 2 ? 63 : 31);
            out = words == 2 ? s[0] >> amount | ~(~0ull >> amount)
                             : (s[0] & width) >> amount | (~(width >> amount) & width);
            if (std::string_view(i.mnemonic).starts_with("s_ashr") &&
                (s[0] >> (words == 2 ? 63 : 31) & 1) == 0)
                out &= words == 2 ? ~0ull >> amount : width >> amount;
        }
        break;
    case Flow::extract:
        if (s[1] == ~0ull) {
            const unsigned first = value[1] & (words == 2 ? 63 : 31), count = value[1] >> 16 & 0x7f;
            const u64 needed = count >= 64 ? ~0ull : ((1ull << count) - 1) << first;
            if ((needed & ~s[0] & width) == 0)
                out = ~0ull, scc = true;
        }
        break;
    case Flow::sum: {
        const u64 both = s[0] & s[1] & width; // bits below the first uninitialised one
        out = both == width ? ~0ull : (1ull << std::countr_one(both)) - 1;
        break;
    }
    case Flow::halves: { // s_pack_{ll,lh,hh}: which half of each source
        const std::string_view which = std::string_view(i.mnemonic).substr(7, 2);
        const u64 low = which[0] == 'h' ? s[0] >> 16 : s[0], high = which[1] == 'h' ? s[1] >> 16 : s[1];
        out = (low & 0xffff) | (high & 0xffff) << 16;
        break;
    }
    case Flow::exec_logic: {
        // The old EXEC is saved (or, for wrexec, the new one); EXEC itself needs both.
        const u64 both = s[0] & exec_valid;
        const bool saves = std::string_view(i.mnemonic).find("saveexec") != std::string_view::npos;
        out = saves ? exec_valid : both;
        s_[scalar_code::exec] = static_cast<u32>(both);
        s_[scalar_code::exec + 1] = static_cast<u32>(both >> 32);
        break;
    }
    default:
        break;
    }
    if (i.dst.kind == OperandKind::sgpr) {
        s_[i.dst.index] = static_cast<u32>(out);
        if (words == 2)
            s_[i.dst.index + 1] = static_cast<u32>(out >> 32);
    }
    if (t.is(trait::sets_scc))
        scc_ = scc || (out & width) == width;
}

} // namespace zyfa::sim::sanitizer
