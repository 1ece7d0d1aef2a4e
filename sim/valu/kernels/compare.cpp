// SPDX-License-Identifier: Apache-2.0
// Comparisons and class tests (CDNA4 ISA, VOPC opcode table). v_cmpx computes the same bits; the engine also
// writes them to EXEC. FP16 and 16-bit integers use the low half of a register.
#include "sim/math/kernels/decode.hpp"
#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// Floating-point operands flushed by MODE. T is float or double; half is float read from 16 bits.
struct Half;
template <class T>
struct Operand {
    using Value = T;
    static ZYFA_SIM_INLINE T get(const Word* s, unsigned lane, typename FloatBits<T>::Bits flush_mask) {
        return flush(read<T>(s, lane), flush_mask);
    }
    static typename FloatBits<T>::Bits flush_mask(const FloatMode& mode) { return flush_inputs<T>(mode); }
};
template <>
struct Operand<Half> {
    using Value = float;
    static ZYFA_SIM_INLINE float get(const Word* s, unsigned lane, Word flush_mask) {
        const Word bits = s[lane] & 0xFFFF;
        return F16::to_float((bits & 0x7C00) ? bits : bits & ~flush_mask);
    }
    static Word flush_mask(const FloatMode& mode) { return mode.denorm64 & 1 ? 0 : 0x7FFFu; }
};

template <class T, auto f>
void compare_float(ValuCall& call) {
    const auto in = Operand<T>::flush_mask(*call.mode);
    alignas(64) Word flags[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane)
        flags[lane] = f(Operand<T>::get(call.s[0], lane, in), Operand<T>::get(call.s[1], lane, in)) ? 1 : 0;
    call.mask_out = pack(flags) & call.exec;
}

/// Mask bits of v_cmp_class (CDNA4 ISA, V_CMP_CLASS_F32), lowest first: signaling NaN, quiet NaN, -Inf,
/// -normal, -subnormal, -0, +0, +subnormal, +normal, +Inf. MODE does not matter.
template <class Bits, int Mantissa>
ZYFA_SIM_INLINE Word class_of(Bits bits) {
    constexpr int width = sizeof(Bits) * 8;
    constexpr Bits magnitude_mask = static_cast<Bits>(~Bits(0)) >> 1;
    constexpr Bits infinity = magnitude_mask >> Mantissa << Mantissa;
    const Bits magnitude = bits & magnitude_mask;
    const bool negative = bits >> (width - 1) & 1;
    if (magnitude > infinity)
        return magnitude >> (Mantissa - 1) & 1 ? 2 : 1;
    if (magnitude == infinity)
        return negative ? 4 : 0x200;
    if (magnitude & infinity)
        return negative ? 8 : 0x100;
    if (magnitude)
        return negative ? 0x10 : 0x80;
    return negative ? 0x20 : 0x40;
}

template <class T>
ZYFA_SIM_INLINE T low(Word w) {
    return static_cast<T>(w);
}

// clang-format off
#define ZYFA_INTEGER_COMPARE(prefix, suffix, type, T, read_a, read_b)                                                            \
    writes_mask(row(prefix "f_" suffix, compare<([](T, T) { return false; })>, none, type, type)),                                 \
    writes_mask(row(prefix "lt_" suffix, compare<([](T a, T b) { return read_a < read_b; })>, none, type, type)),                  \
    writes_mask(row(prefix "eq_" suffix, compare<([](T a, T b) { return read_a == read_b; })>, none, type, type)),                 \
    writes_mask(row(prefix "le_" suffix, compare<([](T a, T b) { return read_a <= read_b; })>, none, type, type)),                 \
    writes_mask(row(prefix "gt_" suffix, compare<([](T a, T b) { return read_a > read_b; })>, none, type, type)),                  \
    writes_mask(row(prefix "ne_" suffix, compare<([](T a, T b) { return read_a != read_b; })>, none, type, type)),                 \
    writes_mask(row(prefix "ge_" suffix, compare<([](T a, T b) { return read_a >= read_b; })>, none, type, type)),                 \
    writes_mask(row(prefix "t_" suffix, compare<([](T, T) { return true; })>, none, type, type)),
#define ZYFA_FLOAT_COMPARE(prefix, suffix, type, T, V)                                                                           \
    writes_mask(row(prefix "f_" suffix, compare_float<T, ([](V, V) { return false; })>, none, type, type)),                        \
    writes_mask(row(prefix "lt_" suffix, compare_float<T, ([](V a, V b) { return a < b; })>, none, type, type)),                   \
    writes_mask(row(prefix "eq_" suffix, compare_float<T, ([](V a, V b) { return a == b; })>, none, type, type)),                  \
    writes_mask(row(prefix "le_" suffix, compare_float<T, ([](V a, V b) { return a <= b; })>, none, type, type)),                  \
    writes_mask(row(prefix "gt_" suffix, compare_float<T, ([](V a, V b) { return a > b; })>, none, type, type)),                   \
    writes_mask(row(prefix "lg_" suffix, compare_float<T, ([](V a, V b) { return a < b || a > b; })>, none, type, type)),          \
    writes_mask(row(prefix "ge_" suffix, compare_float<T, ([](V a, V b) { return a >= b; })>, none, type, type)),                  \
    writes_mask(row(prefix "o_" suffix, compare_float<T, ([](V a, V b) { return !is_nan(a) && !is_nan(b); })>, none, type, type)), \
    writes_mask(row(prefix "u_" suffix, compare_float<T, ([](V a, V b) { return is_nan(a) || is_nan(b); })>, none, type, type)),   \
    writes_mask(row(prefix "nge_" suffix, compare_float<T, ([](V a, V b) { return !(a >= b); })>, none, type, type)),              \
    writes_mask(row(prefix "nlg_" suffix, compare_float<T, ([](V a, V b) { return !(a < b || a > b); })>, none, type, type)),      \
    writes_mask(row(prefix "ngt_" suffix, compare_float<T, ([](V a, V b) { return !(a > b); })>, none, type, type)),               \
    writes_mask(row(prefix "nle_" suffix, compare_float<T, ([](V a, V b) { return !(a <= b); })>, none, type, type)),              \
    writes_mask(row(prefix "neq_" suffix, compare_float<T, ([](V a, V b) { return !(a == b); })>, none, type, type)),              \
    writes_mask(row(prefix "nlt_" suffix, compare_float<T, ([](V a, V b) { return !(a < b); })>, none, type, type)),               \
    writes_mask(row(prefix "tru_" suffix, compare_float<T, ([](V, V) { return true; })>, none, type, type)),
#define ZYFA_COMPARES(prefix)                                                                                                    \
    ZYFA_INTEGER_COMPARE(prefix, "i32", b32, i32, a, b)                                                                          \
    ZYFA_INTEGER_COMPARE(prefix, "u32", b32, Word, a, b)                                                                         \
    ZYFA_INTEGER_COMPARE(prefix, "i64", b64, i64, a, b)                                                                          \
    ZYFA_INTEGER_COMPARE(prefix, "u64", b64, Word64, a, b)                                                                       \
    ZYFA_INTEGER_COMPARE(prefix, "i16", b32, Word, low<i16>(a), low<i16>(b))                                                     \
    ZYFA_INTEGER_COMPARE(prefix, "u16", b32, Word, low<u16>(a), low<u16>(b))                                                     \
    ZYFA_FLOAT_COMPARE(prefix, "f32", f32, float, float)                                                                         \
    ZYFA_FLOAT_COMPARE(prefix, "f64", f64, double, double)                                                                       \
    ZYFA_FLOAT_COMPARE(prefix, "f16", f16, Half, float)                                                                          \
    writes_mask(row(prefix "class_f32", compare<([](Word a, Word b) { return (class_of<Word, 23>(a) & b) != 0; })>, none, f32, b32)),     \
    writes_mask(row(prefix "class_f64", compare<([](Word64 a, Word b) { return (class_of<Word64, 52>(a) & b) != 0; })>, none, f64, b32)), \
    writes_mask(row(prefix "class_f16", compare<([](Word a, Word b) { return (class_of<u16, 10>(static_cast<u16>(a)) & b) != 0; })>, none, f16, b32)),

constexpr ValuOp ops[] = {
    ZYFA_COMPARES("v_cmp_")
    ZYFA_COMPARES("v_cmpx_")
};
// clang-format on

} // namespace

Span<ValuOp> compare_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
