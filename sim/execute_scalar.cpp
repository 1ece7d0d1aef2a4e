// SPDX-License-Identifier: Apache-2.0
// Scalar ALU, branches and program control (CDNA4 ISA, chapters on program control and scalar ALU
// operations).
#include "sim/code_object.hpp"
#include "sim/fault.hpp"
#include "sim/mode.hpp"
#include "sim/operations.hpp"
#include "sim/wave.hpp"

#include <algorithm>
#include <unordered_map>

namespace zyfa::sim {

namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <class T>
T read(const Wave& w, const Operand& operand) noexcept {
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(read64(w, operand));
    else
        return static_cast<T>(read32(w, operand));
}

template <class T>
void write(Wave& w, const Operand& operand, T value) noexcept {
    if constexpr (sizeof(T) == 8)
        write64(w, operand, static_cast<u64>(value));
    else
        write32(w, operand, static_cast<u32>(value));
}

template <class D, class A, class B, auto F>
void run_binary(Wave& w, const Instruction& i) {
    write<D>(w, i.dst, static_cast<D>(F(w, read<A>(w, i.src[0]), read<B>(w, i.src[1]))));
}
template <class D, class A, auto F>
void run_unary(Wave& w, const Instruction& i) {
    write<D>(w, i.dst, static_cast<D>(F(w, read<A>(w, i.src[0]))));
}
template <class A, auto F>
void run_compare(Wave& w, const Instruction& i) {
    w.scc = F(read<A>(w, i.src[0]), read<A>(w, i.src[1]));
}
/// SOPK: destination (also a source) and the 16-bit immediate.
template <auto F>
void run_immediate(Wave& w, const Instruction& i) {
    write32(w, i.dst, F(w, read32(w, i.src[0]), i.imm));
}
template <class A, auto F>
void run_compare_immediate(Wave& w, const Instruction& i) {
    const u32 k = std::is_signed_v<A> ? static_cast<u32>(static_cast<std::int16_t>(i.imm)) : (i.imm & 0xffff);
    w.scc = F(static_cast<A>(read32(w, i.src[0])), static_cast<A>(k));
}

constexpr std::uint8_t words(std::size_t bytes) {
    return static_cast<std::uint8_t>(bytes / 4);
}

template <class D, class A, class B, auto F>
constexpr ScalarOp binary(std::string_view name) {
    return {name,
            run_binary<D, A, B, F>,
            words(sizeof(D)),
            words(sizeof(A)),
            words(sizeof(B)),
            InstructionClass::salu,
            !std::is_signed_v<A>};
}
template <class D, class A, auto F>
constexpr ScalarOp unary(std::string_view name) {
    return {name, run_unary<D, A, F>,     words(sizeof(D)),    words(sizeof(A)),
            0,    InstructionClass::salu, !std::is_signed_v<A>};
}
template <class A, auto F>
constexpr ScalarOp compare(std::string_view name) {
    return {name,
            run_compare<A, F>,
            0,
            words(sizeof(A)),
            words(sizeof(A)),
            InstructionClass::salu,
            !std::is_signed_v<A>};
}
template <auto F>
constexpr ScalarOp immediate(std::string_view name) {
    return {name, run_immediate<F>, 1, 1};
}
template <class A, auto F>
constexpr ScalarOp compare_immediate(std::string_view name) {
    return {name, run_compare_immediate<A, F>, 0, 1};
}
constexpr ScalarOp plain(std::string_view name, Handler handler, InstructionClass kind, unsigned d = 0,
                         unsigned s0 = 0, unsigned s1 = 0) {
    return {name,
            handler,
            static_cast<std::uint8_t>(d),
            static_cast<std::uint8_t>(s0),
            static_cast<std::uint8_t>(s1),
            kind};
}

// --- Arithmetic with carry and overflow

u32 add_u32(Wave& w, u32 a, u32 b) {
    const u64 sum = u64{a} + b;
    w.scc = (sum >> 32) != 0;
    return static_cast<u32>(sum);
}
u32 addc_u32(Wave& w, u32 a, u32 b) {
    const u64 sum = u64{a} + b + (w.scc ? 1 : 0);
    w.scc = (sum >> 32) != 0;
    return static_cast<u32>(sum);
}
u32 sub_u32(Wave& w, u32 a, u32 b) {
    w.scc = b > a;
    return a - b;
}
u32 subb_u32(Wave& w, u32 a, u32 b) {
    const u64 taken = u64{b} + (w.scc ? 1 : 0);
    w.scc = taken > a;
    return static_cast<u32>(a - taken);
}
u32 add_i32(Wave& w, u32 a, u32 b) {
    const u32 sum = a + b;
    w.scc = ((~(a ^ b) & (a ^ sum)) >> 31) != 0;
    return sum;
}
u32 sub_i32(Wave& w, u32 a, u32 b) {
    const u32 difference = a - b;
    w.scc = (((a ^ b) & (a ^ difference)) >> 31) != 0;
    return difference;
}

/// A result whose SCC says "not zero".
template <class T>
T flagged(Wave& w, T value) {
    w.scc = value != 0;
    return value;
}

template <unsigned Shift>
u32 shift_add(Wave& w, u32 a, u32 b) {
    const u64 sum = (u64{a} << Shift) + b;
    w.scc = sum > 0xffffffffull;
    return static_cast<u32>(sum);
}

template <class T>
T bitfield_extract(Wave& w, T value, u32 control) {
    constexpr unsigned bits = sizeof(T) * 8;
    const unsigned offset = control & (bits - 1);
    const unsigned width = std::min((control >> 16) & 0x7f, bits);
    if (width == 0)
        return flagged(w, T{0});
    if (offset + width >= bits)
        return flagged(w, static_cast<T>(value >> offset));
    using U = std::make_unsigned_t<T>;
    const T top = static_cast<T>(static_cast<U>(value) << (bits - offset - width));
    return flagged(w, static_cast<T>(top >> (bits - width)));
}

template <class T>
T bit_mask(u32 width, u32 offset) {
    constexpr unsigned low = sizeof(T) * 8 - 1;
    return static_cast<T>(((T{1} << (width & low)) - 1) << (offset & low));
}

template <class T>
u32 find_first(T value) {
    return value == 0 ? ~0u : static_cast<u32>(std::countr_zero(value));
}
template <class T>
u32 leading_zeros(T value) {
    return value == 0 ? ~0u : static_cast<u32>(std::countl_zero(value));
}
/// Position of the first bit that differs from the sign.
template <class T>
u32 leading_sign(T value) {
    using U = std::make_unsigned_t<T>;
    const U folded = static_cast<U>(value < 0 ? ~value : value);
    return folded == 0 ? ~0u : static_cast<u32>(std::countl_zero(folded));
}
template <class T>
T reverse_bits(T value) {
    T result = 0;
    for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit)
        result = static_cast<T>(result << 1 | (value >> bit & 1));
    return result;
}
template <class T>
T whole_quads(T value) {
    T result = 0;
    for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad)
        if ((value >> (quad * 4) & 15) != 0)
            result |= T{15} << (quad * 4);
    return result;
}
template <class T>
T quad_mask(T value) {
    T result = 0;
    for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad)
        if ((value >> (quad * 4) & 15) != 0)
            result |= T{1} << quad;
    return result;
}

template <auto F>
void save_exec(Wave& w, const Instruction& i) {
    const u64 source = read64(w, i.src[0]), exec = w.exec();
    write64(w, i.dst, exec);
    w.set_exec(F(source, exec));
    w.scc = w.exec() != 0;
}
template <auto F>
void write_exec(Wave& w, const Instruction& i) {
    w.set_exec(F(read64(w, i.src[0]), w.exec()));
    write64(w, i.dst, w.exec());
    w.scc = w.exec() != 0;
}

// --- Control

void take(Wave& w, const Instruction& i) {
    if (i.target == no_target)
        fault("wild branch", "the target is not an instruction of this code object");
    w.next = &i + i.target;
}
template <auto F>
void branch_if(Wave& w, const Instruction& i) {
    if (F(w))
        take(w, i);
}
void jump(Wave& w, u64 address) {
    const Instruction* target = w.code->at(address);
    if (target == nullptr)
        fault("wild branch",
              "address " + hexadecimal(address) + " is not an instruction of this code object");
    w.next = target;
}
void execute_setpc(Wave& w, const Instruction& i) {
    jump(w, read64(w, i.src[0]));
}
void execute_swappc(Wave& w, const Instruction& i) {
    const u64 target = read64(w, i.src[0]);
    write64(w, i.dst, w.code->base() + i.pc + i.size);
    jump(w, target);
}
void execute_call(Wave& w, const Instruction& i) {
    write64(w, i.dst, w.code->base() + i.pc + i.size);
    take(w, i);
}
void execute_getpc(Wave& w, const Instruction& i) {
    write64(w, i.dst, w.code->base() + i.pc + i.size);
}
void execute_endpgm(Wave& w, const Instruction&) {
    w.state = WaveState::ended;
}
void execute_barrier(Wave& w, const Instruction&) {
    w.state = WaveState::barrier;
}
void execute_sleep(Wave& w, const Instruction& i) {
    w.state = WaveState::sleeping;
    w.idle += 16 * (i.imm & 127); // 64 cycles per unit
}
void execute_nothing(Wave&, const Instruction&) {}
void execute_setprio(Wave& w, const Instruction& i) {
    w.priority = i.imm & 3;
}
void execute_trap(Wave&, const Instruction& i) {
    fault("trap", "s_trap " + std::to_string(i.imm & 0xff) +
                      ((i.imm & 0xff) == 2 ? " (the program called abort or __builtin_trap)" : ""));
}
void execute_halt(Wave&, const Instruction&) {
    fault("hang", "s_sethalt halts the wave for ever");
}

void execute_cmov32(Wave& w, const Instruction& i) {
    if (w.scc)
        write32(w, i.dst, read32(w, i.src[0]));
}
void execute_cmov64(Wave& w, const Instruction& i) {
    if (w.scc)
        write64(w, i.dst, read64(w, i.src[0]));
}
void execute_movk(Wave& w, const Instruction& i) {
    write32(w, i.dst, static_cast<u32>(static_cast<std::int16_t>(i.imm)));
}
void execute_cmovk(Wave& w, const Instruction& i) {
    if (w.scc)
        write32(w, i.dst, static_cast<u32>(static_cast<std::int16_t>(i.imm)));
}

// --- Relative addressing

unsigned relative(const Wave& w, const Operand& operand, unsigned registers) {
    const u64 index = u64{operand.index} + w.m0();
    if (operand.kind != OperandKind::sgpr || index + registers > 102)
        fault("register out of range", "scalar register " + std::to_string(operand.index) + " + M0 (" +
                                           std::to_string(w.m0()) + ") lies beyond s101");
    return static_cast<unsigned>(index);
}
void execute_movrels32(Wave& w, const Instruction& i) {
    write32(w, i.dst, w.s[relative(w, i.src[0], 1)]);
}
void execute_movrels64(Wave& w, const Instruction& i) {
    write64(w, i.dst, w.s64(relative(w, i.src[0], 2)));
}
void execute_movreld32(Wave& w, const Instruction& i) {
    w.s[relative(w, i.dst, 1)] = read32(w, i.src[0]);
}
void execute_movreld64(Wave& w, const Instruction& i) {
    w.set_s64(relative(w, i.dst, 2), read64(w, i.src[0]));
}

// VGPR indexing: M0[7:0] is the offset, M0[15:12] says which operands it moves.
void execute_gpr_idx_on(Wave& w, const Instruction& i) {
    w.s[scalar_code::m0] = (w.m0() & 0xffff0f00u) | (read32(w, i.src[0]) & 0xff) | ((i.imm & 15) << 12);
    w.indexed = true;
}
void execute_gpr_idx_off(Wave& w, const Instruction&) {
    w.indexed = false;
}
void execute_gpr_idx_mode(Wave& w, const Instruction& i) {
    w.s[scalar_code::m0] = (w.m0() & 0xffff0fffu) | ((i.imm & 15) << 12);
}
void execute_gpr_idx_idx(Wave& w, const Instruction& i) {
    w.s[scalar_code::m0] = (w.m0() & 0xffffff00u) | (read32(w, i.src[0]) & 0xff);
}
void execute_setvskip(Wave& w, const Instruction& i) {
    w.skipping = (read32(w, i.src[0]) >> (read32(w, i.src[1]) & 31) & 1) != 0;
}

// --- Hardware registers

void execute_getreg(Wave& w, const Instruction& i) {
    const u32 value = read_hardware_register(w, i.imm & 63);
    const unsigned offset = i.imm >> 6 & 31, size = (i.imm >> 11 & 31) + 1;
    write32(w, i.dst, size == 32 ? value >> offset : (value >> offset) & ((1u << size) - 1));
}
void set_register(Wave& w, const Instruction& i, u32 value) {
    const unsigned offset = i.imm >> 6 & 31, size = (i.imm >> 11 & 31) + 1;
    const u32 mask = (size == 32 ? ~0u : (1u << size) - 1) << offset;
    write_hardware_register(w, i.imm & 63, (value << offset) & mask, mask);
}
void execute_setreg(Wave& w, const Instruction& i) {
    set_register(w, i, read32(w, i.src[0]));
}
void execute_setreg_imm(Wave& w, const Instruction& i) {
    set_register(w, i, i.control);
}

using C = InstructionClass;

const ScalarOp scalar_ops[] = {
    // SOP2
    binary<u32, u32, u32, add_u32>("s_add_u32"),
    binary<u32, u32, u32, sub_u32>("s_sub_u32"),
    binary<u32, u32, u32, add_i32>("s_add_i32"),
    binary<u32, u32, u32, sub_i32>("s_sub_i32"),
    binary<u32, u32, u32, addc_u32>("s_addc_u32"),
    binary<u32, u32, u32, subb_u32>("s_subb_u32"),
    binary<i32, i32, i32,
           [](Wave& w, i32 a, i32 b) {
               w.scc = a < b;
               return w.scc ? a : b;
           }>("s_min_i32"),
    binary<u32, u32, u32,
           [](Wave& w, u32 a, u32 b) {
               w.scc = a < b;
               return w.scc ? a : b;
           }>("s_min_u32"),
    binary<i32, i32, i32,
           [](Wave& w, i32 a, i32 b) {
               w.scc = (a > b);
               return w.scc ? a : b;
           }>("s_max_i32"),
    binary<u32, u32, u32,
           [](Wave& w, u32 a, u32 b) {
               w.scc = (a > b);
               return w.scc ? a : b;
           }>("s_max_u32"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return w.scc ? a : b; }>("s_cselect_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return w.scc ? a : b; }>("s_cselect_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a & b); }>("s_and_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, a & b); }>("s_and_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a | b); }>("s_or_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, a | b); }>("s_or_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a ^ b); }>("s_xor_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, a ^ b); }>("s_xor_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a & ~b); }>("s_andn2_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, a & ~b); }>("s_andn2_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a | ~b); }>("s_orn2_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, a | ~b); }>("s_orn2_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, ~(a & b)); }>("s_nand_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, ~(a & b)); }>("s_nand_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, ~(a | b)); }>("s_nor_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, ~(a | b)); }>("s_nor_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, ~(a ^ b)); }>("s_xnor_b32"),
    binary<u64, u64, u64, [](Wave& w, u64 a, u64 b) { return flagged(w, ~(a ^ b)); }>("s_xnor_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a << (b & 31)); }>("s_lshl_b32"),
    binary<u64, u64, u32, [](Wave& w, u64 a, u32 b) { return flagged(w, a << (b & 63)); }>("s_lshl_b64"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return flagged(w, a >> (b & 31)); }>("s_lshr_b32"),
    binary<u64, u64, u32, [](Wave& w, u64 a, u32 b) { return flagged(w, a >> (b & 63)); }>("s_lshr_b64"),
    binary<i32, i32, u32, [](Wave& w, i32 a, u32 b) { return flagged(w, a >> (b & 31)); }>("s_ashr_i32"),
    binary<i64, i64, u32, [](Wave& w, i64 a, u32 b) { return flagged(w, a >> (b & 63)); }>("s_ashr_i64"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return bit_mask<u32>(a, b); }>("s_bfm_b32"),
    binary<u64, u32, u32, [](Wave&, u32 a, u32 b) { return bit_mask<u64>(a, b); }>("s_bfm_b64"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return a * b; }>("s_mul_i32"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return (u64{a} * b >> 32); }>("s_mul_hi_u32"),
    binary<i32, i32, i32, [](Wave&, i32 a, i32 b) { return (i64{a} * b >> 32); }>("s_mul_hi_i32"),
    binary<u32, u32, u32, [](Wave& w, u32 a, u32 b) { return bitfield_extract<u32>(w, a, b); }>("s_bfe_u32"),
    binary<i32, i32, u32, [](Wave& w, i32 a, u32 b) { return bitfield_extract<i32>(w, a, b); }>("s_bfe_i32"),
    binary<u64, u64, u32, [](Wave& w, u64 a, u32 b) { return bitfield_extract<u64>(w, a, b); }>("s_bfe_u64"),
    binary<i64, i64, u32, [](Wave& w, i64 a, u32 b) { return bitfield_extract<i64>(w, a, b); }>("s_bfe_i64"),
    binary<u32, i32, i32,
           [](Wave& w, i32 a, i32 b) {
               const u32 difference = static_cast<u32>(a) - static_cast<u32>(b);
               return flagged(w, static_cast<i32>(difference) < 0 ? 0u - difference : difference);
           }>("s_absdiff_i32"),
    binary<u32, u32, u32, shift_add<1>>("s_lshl1_add_u32"),
    binary<u32, u32, u32, shift_add<2>>("s_lshl2_add_u32"),
    binary<u32, u32, u32, shift_add<3>>("s_lshl3_add_u32"),
    binary<u32, u32, u32, shift_add<4>>("s_lshl4_add_u32"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return (a & 0xffff) | b << 16; }>("s_pack_ll_b32_b16"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000u); }>(
        "s_pack_lh_b32_b16"),
    binary<u32, u32, u32, [](Wave&, u32 a, u32 b) { return ((a >> 16) | (b & 0xffff0000u)); }>(
        "s_pack_hh_b32_b16"),
    // SOP1
    unary<u32, u32, [](Wave&, u32 a) { return a; }>("s_mov_b32"),
    unary<u64, u64, [](Wave&, u64 a) { return a; }>("s_mov_b64"),
    plain("s_cmov_b32", execute_cmov32, C::salu, 1, 1),
    plain("s_cmov_b64", execute_cmov64, C::salu, 2, 2),
    unary<u32, u32, [](Wave& w, u32 a) { return flagged(w, ~a); }>("s_not_b32"),
    unary<u64, u64, [](Wave& w, u64 a) { return flagged(w, ~a); }>("s_not_b64"),
    unary<u32, u32, [](Wave& w, u32 a) { return flagged(w, whole_quads(a)); }>("s_wqm_b32"),
    unary<u64, u64, [](Wave& w, u64 a) { return flagged(w, whole_quads(a)); }>("s_wqm_b64"),
    unary<u32, u32, [](Wave& w, u32 a) { return flagged(w, quad_mask(a)); }>("s_quadmask_b32"),
    unary<u64, u64, [](Wave& w, u64 a) { return flagged(w, quad_mask(a)); }>("s_quadmask_b64"),
    unary<u32, u32, [](Wave&, u32 a) { return reverse_bits(a); }>("s_brev_b32"),
    unary<u64, u64, [](Wave&, u64 a) { return reverse_bits(a); }>("s_brev_b64"),
    unary<u32, u32, [](Wave& w, u32 a) { return flagged(w, u32(std::popcount(~a))); }>("s_bcnt0_i32_b32"),
    unary<u32, u64, [](Wave& w, u64 a) { return flagged(w, u32(std::popcount(~a))); }>("s_bcnt0_i32_b64"),
    unary<u32, u32, [](Wave& w, u32 a) { return flagged(w, u32(std::popcount(a))); }>("s_bcnt1_i32_b32"),
    unary<u32, u64, [](Wave& w, u64 a) { return flagged(w, u32(std::popcount(a))); }>("s_bcnt1_i32_b64"),
    unary<u32, u32, [](Wave&, u32 a) { return find_first(~a); }>("s_ff0_i32_b32"),
    unary<u32, u64, [](Wave&, u64 a) { return find_first(~a); }>("s_ff0_i32_b64"),
    unary<u32, u32, [](Wave&, u32 a) { return find_first(a); }>("s_ff1_i32_b32"),
    unary<u32, u64, [](Wave&, u64 a) { return find_first(a); }>("s_ff1_i32_b64"),
    unary<u32, u32, [](Wave&, u32 a) { return leading_zeros(a); }>("s_flbit_i32_b32"),
    unary<u32, u64, [](Wave&, u64 a) { return leading_zeros(a); }>("s_flbit_i32_b64"),
    unary<u32, i32, [](Wave&, i32 a) { return leading_sign(a); }>("s_flbit_i32"),
    unary<u32, i64, [](Wave&, i64 a) { return leading_sign(a); }>("s_flbit_i32_i64"),
    unary<i32, u32, [](Wave&, u32 a) { return static_cast<std::int8_t>(a); }>("s_sext_i32_i8"),
    unary<i32, u32, [](Wave&, u32 a) { return static_cast<std::int16_t>(a); }>("s_sext_i32_i16"),
    {"s_bitset0_b32",
     [](Wave& w,
        const Instruction& i) { write32(w, i.dst, read32(w, i.dst) & ~(1u << (read32(w, i.src[0]) & 31))); },
     1, 1},
    {"s_bitset0_b64",
     [](Wave& w, const Instruction&
                     i) { write64(w, i.dst, read64(w, i.dst) & ~(1ull << (read32(w, i.src[0]) & 63))); },
     2, 1},
    {"s_bitset1_b32",
     [](Wave& w,
        const Instruction& i) { write32(w, i.dst, read32(w, i.dst) | 1u << (read32(w, i.src[0]) & 31)); },
     1, 1},
    {"s_bitset1_b64",
     [](Wave& w,
        const Instruction& i) { write64(w, i.dst, read64(w, i.dst) | 1ull << (read32(w, i.src[0]) & 63)); },
     2, 1},
    unary<u64, u32,
          [](Wave&, u32 a) {
              u64 result = 0;
              for (unsigned bit = 0; bit < 32; ++bit)
                  result |= (a >> bit & 1) != 0 ? 3ull << (bit * 2) : 0;
              return result;
          }>("s_bitreplicate_b64_b32"),
    unary<u32, i32, [](Wave& w, i32 a) { return flagged(w, a < 0 ? 0u - u32(a) : u32(a)); }>("s_abs_i32"),
    plain("s_getpc_b64", execute_getpc, C::salu, 2),
    plain("s_setpc_b64", execute_setpc, C::branch, 0, 2),
    plain("s_swappc_b64", execute_swappc, C::branch, 2, 2),
    plain("s_and_saveexec_b64", save_exec<[](u64 s, u64 e) { return s & e; }>, C::salu, 2, 2),
    plain("s_or_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | e; }>, C::salu, 2, 2),
    plain("s_xor_saveexec_b64", save_exec<[](u64 s, u64 e) { return s ^ e; }>, C::salu, 2, 2),
    plain("s_andn2_saveexec_b64", save_exec<[](u64 s, u64 e) { return s & ~e; }>, C::salu, 2, 2),
    plain("s_orn2_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | ~e; }>, C::salu, 2, 2),
    plain("s_nand_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s & e); }>, C::salu, 2, 2),
    plain("s_nor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s | e); }>, C::salu, 2, 2),
    plain("s_xnor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s ^ e); }>, C::salu, 2, 2),
    plain("s_andn1_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~s & e; }>, C::salu, 2, 2),
    plain("s_orn1_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~s | e; }>, C::salu, 2, 2),
    plain("s_andn1_wrexec_b64", write_exec<[](u64 s, u64 e) { return ~s & e; }>, C::salu, 2, 2),
    plain("s_andn2_wrexec_b64", write_exec<[](u64 s, u64 e) { return s & ~e; }>, C::salu, 2, 2),
    plain("s_movrels_b32", execute_movrels32, C::salu, 1, 1),
    plain("s_movrels_b64", execute_movrels64, C::salu, 2, 2),
    plain("s_movreld_b32", execute_movreld32, C::salu, 1, 1),
    plain("s_movreld_b64", execute_movreld64, C::salu, 2, 2),
    plain("s_set_gpr_idx_idx", execute_gpr_idx_idx, C::salu, 0, 1),
    // SOPC
    compare<i32, [](i32 a, i32 b) { return a == b; }>("s_cmp_eq_i32"),
    compare<i32, [](i32 a, i32 b) { return a != b; }>("s_cmp_lg_i32"),
    compare<i32, [](i32 a, i32 b) { return (a > b); }>("s_cmp_gt_i32"),
    compare<i32, [](i32 a, i32 b) { return (a >= b); }>("s_cmp_ge_i32"),
    compare<i32, [](i32 a, i32 b) { return a < b; }>("s_cmp_lt_i32"),
    compare<i32, [](i32 a, i32 b) { return a <= b; }>("s_cmp_le_i32"),
    compare<u32, [](u32 a, u32 b) { return a == b; }>("s_cmp_eq_u32"),
    compare<u32, [](u32 a, u32 b) { return a != b; }>("s_cmp_lg_u32"),
    compare<u32, [](u32 a, u32 b) { return (a > b); }>("s_cmp_gt_u32"),
    compare<u32, [](u32 a, u32 b) { return (a >= b); }>("s_cmp_ge_u32"),
    compare<u32, [](u32 a, u32 b) { return a < b; }>("s_cmp_lt_u32"),
    compare<u32, [](u32 a, u32 b) { return a <= b; }>("s_cmp_le_u32"),
    compare<u64, [](u64 a, u64 b) { return a == b; }>("s_cmp_eq_u64"),
    compare<u64, [](u64 a, u64 b) { return a != b; }>("s_cmp_lg_u64"),
    compare<u32, [](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }>("s_bitcmp0_b32"),
    compare<u32, [](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; }>("s_bitcmp1_b32"),
    plain(
        "s_bitcmp0_b64",
        [](Wave& w,
           const Instruction& i) { w.scc = (read64(w, i.src[0]) >> (read32(w, i.src[1]) & 63) & 1) == 0; },
        C::salu, 0, 2, 1),
    plain(
        "s_bitcmp1_b64",
        [](Wave& w,
           const Instruction& i) { w.scc = (read64(w, i.src[0]) >> (read32(w, i.src[1]) & 63) & 1) == 1; },
        C::salu, 0, 2, 1),
    plain("s_setvskip", execute_setvskip, C::control, 0, 1, 1),
    plain("s_set_gpr_idx_on", execute_gpr_idx_on, C::control, 0, 1),
    // SOPK
    plain("s_movk_i32", execute_movk, C::salu, 1),
    immediate<[](Wave& w, u32 a, u32 k) {
        return add_i32(w, a, static_cast<u32>(static_cast<std::int16_t>(k)));
    }>("s_addk_i32"),
    immediate<[](Wave&, u32 a, u32 k) { return a * static_cast<u32>(static_cast<std::int16_t>(k)); }>(
        "s_mulk_i32"),
    plain("s_cmovk_i32", execute_cmovk, C::salu, 1),
    compare_immediate<i32, [](i32 a, i32 b) { return a == b; }>("s_cmpk_eq_i32"),
    compare_immediate<i32, [](i32 a, i32 b) { return a != b; }>("s_cmpk_lg_i32"),
    compare_immediate<i32, [](i32 a, i32 b) { return (a > b); }>("s_cmpk_gt_i32"),
    compare_immediate<i32, [](i32 a, i32 b) { return (a >= b); }>("s_cmpk_ge_i32"),
    compare_immediate<i32, [](i32 a, i32 b) { return a < b; }>("s_cmpk_lt_i32"),
    compare_immediate<i32, [](i32 a, i32 b) { return a <= b; }>("s_cmpk_le_i32"),
    compare_immediate<u32, [](u32 a, u32 b) { return a == b; }>("s_cmpk_eq_u32"),
    compare_immediate<u32, [](u32 a, u32 b) { return a != b; }>("s_cmpk_lg_u32"),
    compare_immediate<u32, [](u32 a, u32 b) { return (a > b); }>("s_cmpk_gt_u32"),
    compare_immediate<u32, [](u32 a, u32 b) { return (a >= b); }>("s_cmpk_ge_u32"),
    compare_immediate<u32, [](u32 a, u32 b) { return a < b; }>("s_cmpk_lt_u32"),
    compare_immediate<u32, [](u32 a, u32 b) { return a <= b; }>("s_cmpk_le_u32"),
    plain("s_getreg_b32", execute_getreg, C::salu, 1),
    plain("s_setreg_b32", execute_setreg, C::salu, 0, 1),
    plain("s_setreg_imm32_b32", execute_setreg_imm, C::salu),
    plain("s_call_b64", execute_call, C::branch, 2),
    // SOPP
    plain("s_nop", execute_nothing, C::control),
    plain("s_endpgm", execute_endpgm, C::control),
    plain("s_endpgm_saved", execute_endpgm, C::control),
    plain("s_branch", take, C::branch),
    plain("s_cbranch_scc0", branch_if<[](Wave& w) { return !w.scc; }>, C::branch),
    plain("s_cbranch_scc1", branch_if<[](Wave& w) { return w.scc; }>, C::branch),
    plain("s_cbranch_vccz", branch_if<[](Wave& w) { return w.vcc() == 0; }>, C::branch),
    plain("s_cbranch_vccnz", branch_if<[](Wave& w) { return w.vcc() != 0; }>, C::branch),
    plain("s_cbranch_execz", branch_if<[](Wave& w) { return w.exec() == 0; }>, C::branch),
    plain("s_cbranch_execnz", branch_if<[](Wave& w) { return w.exec() != 0; }>, C::branch),
    plain("s_cbranch_cdbgsys", execute_nothing, C::branch), // no debugger: never taken
    plain("s_cbranch_cdbguser", execute_nothing, C::branch),
    plain("s_cbranch_cdbgsys_or_user", execute_nothing, C::branch),
    plain("s_cbranch_cdbgsys_and_user", execute_nothing, C::branch),
    plain("s_barrier", execute_barrier, C::barrier),
    plain("s_waitcnt", execute_nothing, C::waitcnt),
    plain("s_sleep", execute_sleep, C::control),
    plain("s_setprio", execute_setprio, C::control),
    plain("s_trap", execute_trap, C::control),
    plain("s_sethalt", execute_halt, C::control),
    plain("s_sendmsg", execute_nothing, C::control), // to the host's driver; no answer comes back
    plain("s_icache_inv", execute_nothing, C::control),
    plain("s_incperflevel", execute_nothing, C::control),
    plain("s_decperflevel", execute_nothing, C::control),
    plain("s_ttracedata", execute_nothing, C::control),
    plain("s_wakeup", execute_nothing, C::control),
    plain("s_set_gpr_idx_off", execute_gpr_idx_off, C::control),
    plain("s_set_gpr_idx_mode", execute_gpr_idx_mode, C::control),
};

} // namespace

const ScalarOp* find_scalar_op(std::string_view mnemonic) {
    static const auto table = [] {
        std::unordered_map<std::string_view, const ScalarOp*> map;
        for (const ScalarOp& op : scalar_ops)
            map.emplace(op.mnemonic, &op);
        return map;
    }();
    const auto found = table.find(mnemonic);
    return found == table.end() ? nullptr : found->second;
}

} // namespace zyfa::sim
