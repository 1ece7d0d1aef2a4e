// SPDX-License-Identifier: Apache-2.0
// Conversions between FP32, integers, FP16, BF16, FP8 and BF8 (CDNA4 ISA, VOP1 and VOP3 opcode tables). The
// block-scaled conversions are in convert_scaled.cpp.
#include "sim/math/kernels/encode.hpp"
#include "sim/valu/kernels/fraction.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

// ---- FP32 and integers ----------------------------------------------------------------------------------

/// f(x) under MODE's FP32 rounding; f's argument is an integer, its result a float.
template <auto f>
void int_to_float(ValuCall& call) {
    if (call.mode->round32 == 0) {
        Result<float> result;
        for (unsigned lane = 0; lane < lanes; ++lane)
            result.set(lane, signature<f>::template at<f>(call, lane));
        modify_all(call, result);
        commit(call, result);
    } else {
        static constexpr FloatMode plain{};
        const FloatMode& mode = *call.mode;
        call.mode = &plain;
        with_rounding<ValuCall>(mode.round32, &int_to_float<f>, call);
        call.mode = &mode;
    }
}

// Truncation toward zero, saturating, NaN to 0.
ZYFA_SIM_INLINE i32 to_i32(float x) {
    const bool in_range = x >= -2147483648.0f && x < 2147483648.0f;
    const i32 r = static_cast<i32>(in_range ? x : 0.0f);
    return in_range ? r : is_nan(x) ? 0 : x < 0 ? static_cast<i32>(0x80000000u) : 0x7FFFFFFF;
}
ZYFA_SIM_INLINE Word to_u32(float x) {
    // Through the signed conversion, which every host has in vector form.
    const bool in_range = x >= 0.0f && x < 4294967296.0f, high = x >= 2147483648.0f;
    const float reduced = in_range ? (high ? x - 2147483648.0f : x) : 0.0f;
    const Word r = static_cast<Word>(static_cast<i32>(reduced)) + (high ? 0x80000000u : 0u);
    return in_range ? r : (x > 0 ? ~0u : 0u);
}
/// Integer in [0, 255], NaN to 0. Rounding follows MODE: v_cvt_pk_u8_f32 "rounds y to the nearest integer" in
/// the paper's lean probabilities (Section IV-B).
template <bool Nearest>
ZYFA_SIM_INLINE Word to_u8(float x, unsigned round) {
    const float low = pick(x > 0.0f, x, 0.0f), in_range = pick(low < 255.0f, low, 255.0f); // NaN becomes 0
    if constexpr (Nearest)
        return bits_of(in_range + 8388608.0f) & 255; // 2^23: the sum's low bits are the rounded integer
    const i32 down = static_cast<i32>(in_range);
    return static_cast<Word>(down + (round == 1 && in_range > static_cast<float>(down) ? 1 : 0));
}
template <bool Nearest>
ZYFA_SIM_INLINE void insert_u8(ValuCall& call, const Word* rest) {
    const unsigned round = call.mode->round32;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const unsigned shift = 8 * (call.s[1][lane] & 3);
        const Word byte = to_u8<Nearest>(float_of(call.s[0][lane]), round);
        result.set(lane, (rest[lane] & ~(255u << shift)) | byte << shift);
    }
    commit(call, result);
}
void pk_u8_f32(ValuCall& call) {
    if (call.mode->round32 == 0)
        insert_u8<true>(call, call.s[2]);
    else
        insert_u8<false>(call, call.s[2]);
}
void pkaccum_u8_f32(ValuCall& call) {
    if (call.mode->round32 == 0)
        insert_u8<true>(call, call.d);
    else
        insert_u8<false>(call, call.d);
}

// ---- FP16 and BF16 --------------------------------------------------------------------------------------

/// FP32 bits with input flush by MODE.
ZYFA_SIM_INLINE Word input32(const Word* s, unsigned lane, Word flush_mask) {
    return bits_of(flush(float_of(s[lane]), flush_mask));
}
ZYFA_SIM_INLINE Word flush16(Word bits, Word flush_mask) {
    return pick((bits & 0x7C00) != 0, bits, bits & ~flush_mask);
}
Word flush_mask16_in(const FloatMode& mode) {
    return mode.denorm64 & 1 ? 0 : 0x7FFFu;
}
Word flush_mask16_out(const FloatMode& mode) {
    return mode.denorm64 & 2 ? 0 : 0x7FFFu;
}

void f32_to_f16(ValuCall& call) {
    const FloatMode& mode = *call.mode;
    const Word in = flush_inputs<float>(mode), out = flush_mask16_out(mode);
    const Round round = static_cast<Round>(mode.round64);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane,
                   flush16(Encode<F16>::rounded(input32(call.s[0], lane, in), round, mode.fp16_ovfl), out));
    if (call.clamp)
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const float x = modify(F16::to_float(result.words[lane]), call, call.mode->denorm64);
            result.set(lane, Encode<F16>::nearest(bits_of(x), false));
        }
    commit(call, result);
}
/// Two FP32 to two FP16; rounding fixed by the instruction.
template <Round round>
void pk_f16_f32(ValuCall& call) {
    const FloatMode& mode = *call.mode;
    const Word in = flush_inputs<float>(mode), out = flush_mask16_out(mode);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word lo = Encode<F16>::rounded(input32(call.s[0], lane, in), round, mode.fp16_ovfl);
        const Word hi = Encode<F16>::rounded(input32(call.s[1], lane, in), round, mode.fp16_ovfl);
        result.set(lane, flush16(lo, out) | flush16(hi, out) << 16);
    }
    commit(call, result);
}
void f16_to_f32(ValuCall& call) {
    const Word in = flush_mask16_in(*call.mode);
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float x = F16::to_float(flush16(call.s[0][lane] >> shift & 0xFFFF, in));
        result.set(lane, pick(is_nan(x), quieted(x), x));
    }
    modify_all(call, result);
    commit(call, result);
}
void bf16_to_f32(ValuCall& call) {
    const Word out = flush_outputs<float>(*call.mode);
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const float x = flush(BF16::to_float(call.s[0][lane] >> shift & 0xFFFF), out);
        result.set(lane, pick(is_nan(x), quieted(x), x));
    }
    modify_all(call, result);
    commit(call, result);
}
void pk_bf16_f32(ValuCall& call) {
    const Word in = flush_inputs<float>(*call.mode);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, bf16_nearest(input32(call.s[0], lane, in)) |
                             bf16_nearest(input32(call.s[1], lane, in)) << 16);
    commit(call, result);
}

// ---- FP8 and BF8 ----------------------------------------------------------------------------------------

/// Two FP32 to two bytes in one half of d, chosen by op_sel bit 3; always to nearest even.
template <class Format>
void pk_fp8_f32(ValuCall& call) {
    const FloatMode& mode = *call.mode;
    const Word in = flush_inputs<float>(mode);
    const bool saturate = mode.fp16_ovfl;
    const unsigned shift = call.op_sel & 8 ? 16 : 0;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word pair = Encode<Format>::nearest(input32(call.s[0], lane, in), saturate) |
                          Encode<Format>::nearest(input32(call.s[1], lane, in), saturate) << 8;
        result.set(lane, (call.d[lane] & ~(0xFFFFu << shift)) | pair << shift);
    }
    commit(call, result);
}
/// One byte, chosen by op_sel bits 3:2; S1[31:12] is added to the 23-bit mantissa, which wraps, before
/// rounding (CDNA4 ISA, pseudo-code of V_CVT_SR_FP8_F32).
template <class Format>
void sr_fp8_f32(ValuCall& call) {
    const FloatMode& mode = *call.mode;
    const Word in = flush_inputs<float>(mode);
    const unsigned shift = 8 * (call.op_sel >> 2 & 3);
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word x = input32(call.s[0], lane, in);
        const Word byte = Encode<Format>::stochastic(x, call.s[1][lane], mode.fp16_ovfl);
        result.set(lane, (call.d[lane] & ~(255u << shift)) | byte << shift);
    }
    commit(call, result);
}
/// The byte is SDWA's or op_sel's choice.
template <class Format>
void fp8_to_f32(ValuCall& call) {
    const unsigned shift = 8 * (call.op_sel & 3);
    Result<float> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, Format::to_float(call.s[0][lane] >> shift & 255));
    modify_all(call, result);
    commit(call, result);
}
template <class Format>
void fp8_to_pk_f32(ValuCall& call) {
    const unsigned shift = call.op_sel & 1 ? 16 : 0;
    alignas(64) Word result[2 * lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word pair = call.s[0][lane] >> shift;
        result[lane] = bits_of(Format::to_float(pair & 255));
        result[lane + lanes] = bits_of(Format::to_float(pair >> 8 & 255));
    }
    commit(call, result, 2);
}

constexpr ValuOp ops[] = {
    row("v_cvt_f32_i32", int_to_float<([](i32 x) { return static_cast<float>(x); })>, f32, b32),
    row("v_cvt_f32_u32", int_to_float<([](Word x) { return static_cast<float>(x); })>, f32, b32),
    row("v_cvt_i32_f32", map<([](float x) { return to_i32(x); })>, b32, f32),
    row("v_cvt_u32_f32", map<([](float x) { return to_u32(x); })>, b32, f32),
    row("v_cvt_flr_i32_f32", map<([](float x) { return to_i32(floor_of(x)); })>, b32, f32),
    row("v_cvt_rpi_i32_f32", map<([](float x) { return to_i32(floor_of(x + 0.5f)); })>, b32, f32),
    row("v_cvt_off_f32_i4",
        map<([](Word x) { return 0.0625f * static_cast<float>(static_cast<i32>(x << 28) >> 28); })>, f32,
        b32),
    row("v_cvt_f32_ubyte0", map<([](Word x) { return static_cast<float>(static_cast<i32>(x & 255)); })>, f32,
        b32),
    row("v_cvt_f32_ubyte1", map<([](Word x) { return static_cast<float>(static_cast<i32>(x >> 8 & 255)); })>,
        f32, b32),
    row("v_cvt_f32_ubyte2", map<([](Word x) { return static_cast<float>(static_cast<i32>(x >> 16 & 255)); })>,
        f32, b32),
    row("v_cvt_f32_ubyte3", map<([](Word x) { return static_cast<float>(static_cast<i32>(x >> 24)); })>, f32,
        b32),
    row("v_cvt_pk_u8_f32", pk_u8_f32, b32, f32, b32, b32),
    reads_d(row("v_cvt_pkaccum_u8_f32", pkaccum_u8_f32, b32, f32, b32)),

    row("v_cvt_f16_f32", f32_to_f16, f16, f32),
    row("v_cvt_f32_f16", f16_to_f32, f32, f16),
    row("v_cvt_f32_bf16", bf16_to_f32, f32, f16),
    row("v_cvt_pkrtz_f16_f32", pk_f16_f32<Round::zero>, pk_f16, f32, f32),
    row("v_cvt_pk_f16_f32", pk_f16_f32<Round::nearest>, pk_f16, f32, f32),
    row("v_cvt_pk_bf16_f32", pk_bf16_f32, b32, f32, f32),

    reads_d(row("v_cvt_pk_fp8_f32", pk_fp8_f32<E4M3>, b32, f32, f32, eight_cycle)),
    reads_d(row("v_cvt_pk_bf8_f32", pk_fp8_f32<E5M2>, b32, f32, f32, eight_cycle)),
    reads_d(row("v_cvt_sr_fp8_f32", sr_fp8_f32<E4M3>, b32, f32, b32, eight_cycle)),
    reads_d(row("v_cvt_sr_bf8_f32", sr_fp8_f32<E5M2>, b32, f32, b32, eight_cycle)),
    row("v_cvt_f32_fp8", fp8_to_f32<E4M3>, f32, b32),
    row("v_cvt_f32_bf8", fp8_to_f32<E5M2>, f32, b32),
    row("v_cvt_pk_f32_fp8", fp8_to_pk_f32<E4M3>, b64, b32),
    row("v_cvt_pk_f32_bf8", fp8_to_pk_f32<E5M2>, b64, b32),
};

} // namespace

Span<ValuOp> convert_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
