// SPDX-License-Identifier: Apache-2.0
// 16-bit integers, scalar and packed (CDNA4 ISA, VOP2, VOP3 and VOP3P opcode tables). Lane functions compute
// in 64 bits; the result is truncated, or saturated where clamp is set.
#include "sim/valu/kernels/half.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

enum class Sign { is_unsigned, is_signed };

template <Sign sign>
ZYFA_SIM_INLINE i64 value16(Word half) {
    return sign == Sign::is_signed ? static_cast<i64>(static_cast<i16>(half))
                                   : static_cast<i64>(half & 0xFFFF);
}
template <Sign sign>
ZYFA_SIM_INLINE Word narrowed16(i64 x, bool clamp) {
    constexpr i64 lowest = sign == Sign::is_signed ? -32768 : 0,
                  highest = sign == Sign::is_signed ? 32767 : 65535;
    return static_cast<Word>(clamp ? (x < lowest ? lowest : x > highest ? highest : x) : x) & 0xFFFF;
}
template <auto f>
ZYFA_SIM_INLINE i64 apply16(i64 a, i64 b, i64 c) {
    if constexpr (signature<f>::arity == 2)
        return f(a, b);
    else
        return f(a, b, c);
}

template <auto f, Sign sign, OtherHalf other = OtherHalf::clear>
void int16_op(ValuCall& call) {
    constexpr bool third = signature<f>::arity == 3;
    const unsigned shift[3] = {call.op_sel & 1 ? 16u : 0u, call.op_sel & 2 ? 16u : 0u,
                               call.op_sel & 4 ? 16u : 0u};
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    const bool keep = other == OtherHalf::keep || to != 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const i64 r =
            apply16<f>(value16<sign>(call.s[0][lane] >> shift[0]), value16<sign>(call.s[1][lane] >> shift[1]),
                       third ? value16<sign>(call.s[2][lane] >> shift[2]) : 0);
        result.set(lane, place_half(call.d[lane], narrowed16<sign>(r, call.clamp), to, keep));
    }
    commit(call, result);
}
template <auto f, Sign sign>
void packed16_op(ValuCall& call) {
    constexpr bool third = signature<f>::arity == 3;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        Word r = 0;
        for (unsigned high = 0; high < 2; ++high) {
            const unsigned select = high ? call.op_sel_hi : call.op_sel;
            const auto operand = [&](unsigned n) {
                return value16<sign>(call.s[n][lane] >> (select >> n & 1 ? 16 : 0));
            };
            const i64 x = apply16<f>(operand(0), operand(1), third ? operand(2) : 0);
            r |= narrowed16<sign>(x, call.clamp) << (16 * high);
        }
        result.set(lane, r);
    }
    commit(call, result);
}

constexpr auto add = [](i64 a, i64 b) { return a + b; };
constexpr auto sub = [](i64 a, i64 b) { return a - b; };
constexpr auto subrev = [](i64 a, i64 b) { return b - a; };
constexpr auto mul = [](i64 a, i64 b) { return a * b; };
constexpr auto mad = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto min2 = [](i64 a, i64 b) { return a < b ? a : b; };
constexpr auto max2 = [](i64 a, i64 b) { return a > b ? a : b; };
constexpr auto min3 = [](i64 a, i64 b, i64 c) { return min2(min2(a, b), c); };
constexpr auto max3 = [](i64 a, i64 b, i64 c) { return max2(max2(a, b), c); };
constexpr auto med3 = [](i64 a, i64 b, i64 c) { return max2(min2(a, b), min2(max2(a, b), c)); };
constexpr auto shift_left = [](i64 a, i64 b) { return b << (a & 15); };
constexpr auto shift_right = [](i64 a, i64 b) { return b >> (a & 15); };

constexpr Sign u = Sign::is_unsigned, s = Sign::is_signed;
constexpr OtherHalf keep = OtherHalf::keep;

/// v_mad_u32_u16, v_mad_i32_i16: 16-bit factors, 32-bit addend and result.
template <Sign sign>
void mad32(ValuCall& call) {
    const unsigned shift[2] = {call.op_sel & 1 ? 16u : 0u, call.op_sel & 2 ? 16u : 0u};
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const i64 product =
            value16<sign>(call.s[0][lane] >> shift[0]) * value16<sign>(call.s[1][lane] >> shift[1]);
        const i64 c = sign == Sign::is_signed ? static_cast<i64>(static_cast<i32>(call.s[2][lane]))
                                              : static_cast<i64>(call.s[2][lane]);
        const i64 lowest = sign == Sign::is_signed ? -0x80000000ll : 0,
                  highest = sign == Sign::is_signed ? 0x7FFFFFFFll : 0xFFFFFFFFll, x = product + c;
        result.set(lane, static_cast<Word>(call.clamp ? (x < lowest    ? lowest
                                                         : x > highest ? highest
                                                                       : x)
                                                      : x));
    }
    commit(call, result);
}

void bitop3_b16(ValuCall& call) {
    const unsigned shift[3] = {call.op_sel & 1 ? 16u : 0u, call.op_sel & 2 ? 16u : 0u,
                               call.op_sel & 4 ? 16u : 0u};
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word a = call.s[0][lane] >> shift[0], b = call.s[1][lane] >> shift[1],
                   c = call.s[2][lane] >> shift[2];
        Word r = 0;
        for (unsigned term = 0; term < 8; ++term)
            if (call.control >> term & 1)
                r |= (term & 4 ? a : ~a) & (term & 2 ? b : ~b) & (term & 1 ? c : ~c);
        result.set(lane, place_half(call.d[lane], r, to, true));
    }
    commit(call, result);
}

// ---- 16-bit integers and FP16

template <auto f>
void f16_to_int(ValuCall& call) {
    const HalfMode mode(*call.mode);
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, static_cast<Word>(f(half_of(call.s[0][lane], shift, mode.in))) & 0xFFFF);
    commit(call, result);
}
constexpr auto to_u16 = [](float x) {
    return static_cast<i32>(x > 0.0f ? x < 65535.0f ? x : 65535.0f : 0.0f);
};
constexpr auto to_i16 = [](float x) {
    return is_nan(x) ? 0 : static_cast<i32>(x > -32768.0f ? x < 32767.0f ? x : 32767.0f : -32768.0f);
};
/// Nearest even of a float of magnitude below 2^22.
ZYFA_SIM_INLINE i32 nearest_int(float x) {
    const float magic = 12582912.0f; // 1.5 * 2^23
    return static_cast<i32>((x + magic) - magic);
}
// Normalised: [-1, 1] to [-32767, 32767], [0, 1] to [0, 65535].
constexpr auto to_snorm = [](float x) {
    return is_nan(x) ? 0 : nearest_int((x > -1.0f ? x < 1.0f ? x : 1.0f : -1.0f) * 32767.0f);
};
constexpr auto to_unorm = [](float x) {
    return nearest_int((x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f) * 65535.0f);
};

template <Sign sign>
void int_to_f16(ValuCall& call) {
    const HalfMode mode(*call.mode);
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float x = static_cast<float>(static_cast<i32>(value16<sign>(call.s[0][lane] >> shift)));
        result.set(lane, to_half(modify(x, call, call.mode->denorm64), mode));
    }
    commit(call, result);
}
/// Two sources to the two halves. Half: FP16 sources, chosen by op_sel.
template <auto f, bool Half>
void pack_norm(ValuCall& call) {
    const HalfMode mode(*call.mode);
    const unsigned shift[2] = {call.op_sel & 1 ? 16u : 0u, call.op_sel & 2 ? 16u : 0u};
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        Word r = 0;
        for (unsigned n = 0; n < 2; ++n) {
            const float x = Half ? half_of(call.s[n][lane], shift[n], mode.in) : float_of(call.s[n][lane]);
            r |= (static_cast<Word>(f(x)) & 0xFFFF) << (16 * n);
        }
        result.set(lane, r);
    }
    commit(call, result);
}
ZYFA_SIM_INLINE Word pair16(i64 low, i64 high) {
    return (static_cast<Word>(low) & 0xFFFF) | static_cast<Word>(high) << 16;
}
ZYFA_SIM_INLINE i32 bounded(i32 x, i32 lowest, i32 highest) {
    return x < lowest ? lowest : x > highest ? highest : x;
}
template <i32 Lowest, i32 Highest>
void ashr_pk(ValuCall& call) {
    const unsigned to = call.op_sel & 8 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned shift = call.s[2][lane] & 31;
        const i32 a = static_cast<i32>(call.s[0][lane]) >> shift,
                  b = static_cast<i32>(call.s[1][lane]) >> shift;
        const Word r = (static_cast<Word>(bounded(a, Lowest, Highest)) & 255) |
                       (static_cast<Word>(bounded(b, Lowest, Highest)) & 255) << 8;
        result.set(lane, place_half(call.d[lane], r, to, true));
    }
    commit(call, result);
}

constexpr ValuOp ops[] = {
    row("v_add_u16", int16_op<add, u>, b32, b32, b32),
    row("v_sub_u16", int16_op<sub, u>, b32, b32, b32),
    row("v_subrev_u16", int16_op<subrev, u>, b32, b32, b32),
    reads_d(row("v_add_i16", int16_op<add, s, keep>, b32, b32, b32)),
    reads_d(row("v_sub_i16", int16_op<sub, s, keep>, b32, b32, b32)),
    row("v_mul_lo_u16", int16_op<mul, u>, b32, b32, b32),
    reads_d(row("v_mad_u16", int16_op<mad, u, keep>, b32, b32, b32, b32)),
    reads_d(row("v_mad_i16", int16_op<mad, s, keep>, b32, b32, b32, b32)),
    row("v_mad_legacy_u16", int16_op<mad, u>, b32, b32, b32, b32),
    row("v_mad_legacy_i16", int16_op<mad, s>, b32, b32, b32, b32),
    row("v_mad_u32_u16", mad32<u>, b32, b32, b32, b32),
    row("v_mad_i32_i16", mad32<s>, b32, b32, b32, b32),
    row("v_min_u16", int16_op<min2, u>, b32, b32, b32),
    row("v_max_u16", int16_op<max2, u>, b32, b32, b32),
    row("v_min_i16", int16_op<min2, s>, b32, b32, b32),
    row("v_max_i16", int16_op<max2, s>, b32, b32, b32),
    reads_d(row("v_min3_u16", int16_op<min3, u, keep>, b32, b32, b32, b32)),
    reads_d(row("v_max3_u16", int16_op<max3, u, keep>, b32, b32, b32, b32)),
    reads_d(row("v_med3_u16", int16_op<med3, u, keep>, b32, b32, b32, b32)),
    reads_d(row("v_min3_i16", int16_op<min3, s, keep>, b32, b32, b32, b32)),
    reads_d(row("v_max3_i16", int16_op<max3, s, keep>, b32, b32, b32, b32)),
    reads_d(row("v_med3_i16", int16_op<med3, s, keep>, b32, b32, b32, b32)),
    row("v_lshlrev_b16", int16_op<shift_left, u>, b32, b32, b32),
    row("v_lshrrev_b16", int16_op<shift_right, u>, b32, b32, b32),
    row("v_ashrrev_i16", int16_op<shift_right, s>, b32, b32, b32),
    reads_d(row("v_bitop3_b16", bitop3_b16, b32, b32, b32, b32)),

    row("v_pk_add_u16", packed16_op<add, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_sub_u16", packed16_op<sub, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_add_i16", packed16_op<add, s>, pk_b16, pk_b16, pk_b16),
    row("v_pk_sub_i16", packed16_op<sub, s>, pk_b16, pk_b16, pk_b16),
    row("v_pk_mul_lo_u16", packed16_op<mul, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_mad_u16", packed16_op<mad, u>, pk_b16, pk_b16, pk_b16, pk_b16),
    row("v_pk_mad_i16", packed16_op<mad, s>, pk_b16, pk_b16, pk_b16, pk_b16),
    row("v_pk_min_u16", packed16_op<min2, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_max_u16", packed16_op<max2, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_min_i16", packed16_op<min2, s>, pk_b16, pk_b16, pk_b16),
    row("v_pk_max_i16", packed16_op<max2, s>, pk_b16, pk_b16, pk_b16),
    row("v_pk_lshlrev_b16", packed16_op<shift_left, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_lshrrev_b16", packed16_op<shift_right, u>, pk_b16, pk_b16, pk_b16),
    row("v_pk_ashrrev_i16", packed16_op<shift_right, s>, pk_b16, pk_b16, pk_b16),

    row("v_cvt_u16_f16", f16_to_int<to_u16>, b32, f16),
    row("v_cvt_i16_f16", f16_to_int<to_i16>, b32, f16),
    row("v_cvt_norm_i16_f16", f16_to_int<to_snorm>, b32, f16),
    row("v_cvt_norm_u16_f16", f16_to_int<to_unorm>, b32, f16),
    row("v_cvt_f16_u16", int_to_f16<u>, f16, b32),
    row("v_cvt_f16_i16", int_to_f16<s>, f16, b32),
    row("v_cvt_pknorm_i16_f16", pack_norm<to_snorm, true>, pk_b16, f16, f16),
    row("v_cvt_pknorm_u16_f16", pack_norm<to_unorm, true>, pk_b16, f16, f16),
    row("v_cvt_pknorm_i16_f32", pack_norm<to_snorm, false>, pk_b16, f32, f32),
    row("v_cvt_pknorm_u16_f32", pack_norm<to_unorm, false>, pk_b16, f32, f32),
    row("v_cvt_pk_i16_i32",
        map<([](i32 a, i32 b) { return pair16(bounded(a, -32768, 32767), bounded(b, -32768, 32767)); })>,
        pk_b16, b32, b32),
    row("v_cvt_pk_u16_u32",
        map<([](Word a, Word b) { return pair16(a < 65535 ? a : 65535, b < 65535 ? b : 65535); })>, pk_b16,
        b32, b32),
    row("v_sat_pk_u8_i16", map<([](Word a) {
            return static_cast<Word>(bounded(static_cast<i16>(a), 0, 255)) |
                   static_cast<Word>(bounded(static_cast<i32>(a) >> 16, 0, 255)) << 8;
        })>,
        b32, b32),
    reads_d(row("v_ashr_pk_i8_i32", ashr_pk<-128, 127>, b32, b32, b32, b32)),
    reads_d(row("v_ashr_pk_u8_i32", ashr_pk<0, 255>, b32, b32, b32, b32)),
};

} // namespace

Span<ValuOp> integer16_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
