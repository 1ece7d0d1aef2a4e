// SPDX-License-Identifier: Apache-2.0
// Dot products of packed operands, and sums of absolute differences of bytes (CDNA4 ISA, VOP2, VOP3 and VOP3P
// opcode tables).
#include "sim/valu/kernels/half.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

// ---- Floating point. Products are exact in FP32; additions in the pseudo-code's order, each rounded to
// nearest even. FP32 subnormals are flushed whatever MODE says (LLVM SIISelLowering on fdot2).

struct Half {
    static ZYFA_SIM_INLINE float at(Word word, unsigned shift) {
        return F16::to_float(word >> shift & 0xFFFF);
    }
};
struct Brain {
    static ZYFA_SIM_INLINE float at(Word word, unsigned shift) { return float_of(word >> shift << 16); }
};
ZYFA_SIM_INLINE float flushed(float x) {
    return flush(x, FloatBits<float>::magnitude);
}
enum class Order { addend_first, addend_last };

template <class Format, Order order, bool FromD>
void dot2(ValuCall& call) {
    // Halves of the sources by op_sel (first product) and op_sel_hi (second one); signs likewise.
    const auto shift = [&](unsigned select, unsigned n) { return FromD ? 0u : (select >> n & 1 ? 16u : 0u); };
    const unsigned a0 = shift(call.op_sel, 0), b0 = shift(call.op_sel, 1);
    const unsigned a1 = FromD ? 16 : shift(call.op_sel_hi, 0), b1 = FromD ? 16 : shift(call.op_sel_hi, 1);
    const auto sign = [&](unsigned bits, unsigned n) { return bits >> n & 1 ? -1.0f : 1.0f; };
    const float s0 = FromD ? 1.0f : sign(call.neg, 0) * sign(call.neg, 1),
                s1 = FromD ? 1.0f : sign(call.neg_hi, 0) * sign(call.neg_hi, 1),
                s2 = FromD ? 1.0f : sign(call.neg, 2);
    const Word* addend = FromD ? call.d : call.s[2];
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word a = call.s[0][lane], b = call.s[1][lane];
        const float x0 = s0 * Format::at(a, a0), y0 = Format::at(b, b0), x1 = s1 * Format::at(a, a1),
                    y1 = Format::at(b, b1), c = flushed(s2 * float_of(addend[lane]));
        float r;
        if constexpr (order == Order::addend_first) {
            r = flushed(__builtin_fmaf(x0, y0, c));
            r = flushed(__builtin_fmaf(x1, y1, r));
        } else {
            r = flushed(x0 * y0);
            r = flushed(__builtin_fmaf(x1, y1, r));
            r = flushed(r + c);
        }
        result.set(lane, is_nan(r) ? float_of(canonical_nan) : r);
    }
    modify_all(call, result);
    commit(call, result);
}

// ---- Integers: exact sum, then truncated or saturated.

template <int Bits, bool Signed>
ZYFA_SIM_INLINE i64 part(Word word, unsigned n) {
    const Word top = word << (32 - Bits - Bits * n);
    return Signed ? static_cast<i64>(static_cast<i32>(top) >> (32 - Bits))
                  : static_cast<i64>(top >> (32 - Bits));
}
template <int Bits, bool Signed, bool FromD>
void int_dot(ValuCall& call) {
    const Word* addend = FromD ? call.d : call.s[2];
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        i64 sum = Signed ? static_cast<i64>(static_cast<i32>(addend[lane])) : static_cast<i64>(addend[lane]);
        for (unsigned n = 0; n < 32 / Bits; ++n)
            sum += part<Bits, Signed>(call.s[0][lane], n) * part<Bits, Signed>(call.s[1][lane], n);
        constexpr i64 lowest = Signed ? -0x80000000ll : 0, highest = Signed ? 0x7FFFFFFFll : 0xFFFFFFFFll;
        result.set(lane, static_cast<Word>(call.clamp ? (sum < lowest    ? lowest
                                                         : sum > highest ? highest
                                                                         : sum)
                                                      : sum));
    }
    commit(call, result);
}

// ---- Sums of absolute differences

ZYFA_SIM_INLINE Word difference(Word a, Word b) {
    return a > b ? a - b : b - a;
}
ZYFA_SIM_INLINE Word byte(Word word, unsigned n) {
    return word >> (8 * n) & 255;
}
ZYFA_SIM_INLINE Word sad8(Word a, Word b, Word c) {
    for (unsigned n = 0; n < 4; ++n)
        c += difference(byte(a, n), byte(b, n));
    return c;
}
/// Bytes of the reference (b) that are 0 do not count.
ZYFA_SIM_INLINE Word msad8(Word a, Word b, Word c) {
    for (unsigned n = 0; n < 4; ++n)
        c += byte(b, n) == 0 ? 0 : difference(byte(a, n), byte(b, n));
    return c;
}
/// Four windows of s0, one byte apart, against s1; 16-bit sums.
template <auto f>
void quad_sad16(ValuCall& call) {
    Result<Word64> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word64 a = read<Word64>(call.s[0], lane), c = read<Word64>(call.s[2], lane);
        Word64 r = 0;
        for (unsigned n = 0; n < 4; ++n)
            r |= static_cast<Word64>(f(static_cast<Word>(a >> (8 * n)), call.s[1][lane],
                                       static_cast<Word>(c >> (16 * n)) & 0xFFFF) &
                                     0xFFFF)
                 << (16 * n);
        result.set(lane, r);
    }
    commit(call, result);
}
void mqsad_u32_u8(ValuCall& call) {
    alignas(64) Word result[4 * lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word64 a = read<Word64>(call.s[0], lane);
        for (unsigned n = 0; n < 4; ++n)
            result[n * lanes + lane] =
                msad8(static_cast<Word>(a >> (8 * n)), call.s[1][lane], call.s[2][n * lanes + lane]);
    }
    commit(call, result, 4);
}
ZYFA_SIM_INLINE Word lerp8(Word a, Word b, Word c) {
    Word r = 0;
    for (unsigned n = 0; n < 4; ++n)
        r |= ((byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1) << (8 * n);
    return r;
}
constexpr auto sad8_of = [](Word a, Word b, Word c) { return sad8(a, b, c); };
constexpr auto msad8_of = [](Word a, Word b, Word c) { return msad8(a, b, c); };

constexpr ValuOp ops[] = {
    row("v_dot2_f32_f16", dot2<Half, Order::addend_first, false>, f32, pk_f16, pk_f16, f32),
    reads_d(row("v_dot2c_f32_f16", dot2<Half, Order::addend_first, true>, f32, pk_f16, pk_f16)),
    row("v_dot2_f32_bf16", dot2<Brain, Order::addend_last, false>, f32, pk_b16, pk_b16, f32),
    reads_d(row("v_dot2c_f32_bf16", dot2<Brain, Order::addend_first, true>, f32, pk_b16, pk_b16)),
    row("v_dot2_i32_i16", int_dot<16, true, false>, b32, pk_b16, pk_b16, b32),
    row("v_dot2_u32_u16", int_dot<16, false, false>, b32, pk_b16, pk_b16, b32),
    reads_d(row("v_dot2c_i32_i16", int_dot<16, true, true>, b32, pk_b16, pk_b16)),
    row("v_dot4_i32_i8", int_dot<8, true, false>, b32, b32, b32, b32),
    row("v_dot4_u32_u8", int_dot<8, false, false>, b32, b32, b32, b32),
    reads_d(row("v_dot4c_i32_i8", int_dot<8, true, true>, b32, b32, b32)),
    row("v_dot8_i32_i4", int_dot<4, true, false>, b32, b32, b32, b32),
    row("v_dot8_u32_u4", int_dot<4, false, false>, b32, b32, b32, b32),
    reads_d(row("v_dot8c_i32_i4", int_dot<4, true, true>, b32, b32, b32)),

    row("v_sad_u8", map<sad8_of>, b32, b32, b32, b32),
    row("v_sad_hi_u8", map<([](Word a, Word b, Word c) { return (sad8(a, b, 0) << 16) + c; })>, b32, b32, b32,
        b32),
    row("v_sad_u16", map<([](Word a, Word b, Word c) {
            return c + difference(a & 0xFFFF, b & 0xFFFF) + difference(a >> 16, b >> 16);
        })>,
        b32, b32, b32, b32),
    row("v_sad_u32", map<([](Word a, Word b, Word c) { return c + difference(a, b); })>, b32, b32, b32, b32),
    row("v_msad_u8", map<msad8_of>, b32, b32, b32, b32),
    row("v_qsad_pk_u16_u8", quad_sad16<sad8_of>, b64, b64, b32, b64),
    row("v_mqsad_pk_u16_u8", quad_sad16<msad8_of>, b64, b64, b32, b64),
    row("v_mqsad_u32_u8", mqsad_u32_u8, b128, b64, b32, b128),
    row("v_lerp_u8", map<([](Word a, Word b, Word c) { return lerp8(a, b, c); })>, b32, b32, b32, b32),
};

} // namespace

Span<ValuOp> dot_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
