// SPDX-License-Identifier: Apache-2.0
// Applies a lane function to the 64 lanes of a call: the loops, EXEC, and MODE's floating-point rules. A
// family file then states only what one lane computes.
//
//   map<f>      integer and bit operations: arguments and result by f's own types
//   compare<f>  one bit per lane into mask_out
//   f32op<f>    FP32 arithmetic: denormals, rounding mode, NaN, output modifiers
//   f64op<f>    the same for FP64
#pragma once

#include <utility>

#include "sim/math/kernels/lanes.hpp"
#include "sim/valu/kernels/kernels.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace zyfa::sim::ZYFA_SIM_ISA {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using Word = std::uint32_t;
using Word64 = std::uint64_t;

// ---- Reading and writing registers ----------------------------------------------------------------------

/// One operand as a lane function wants it: 32-bit types from one register, 64-bit types from two.
template <class T>
ZYFA_SIM_INLINE T read(const Word* s, unsigned lane) {
    if constexpr (sizeof(T) == 8)
        return bits_as<T>(s[lane] | static_cast<Word64>(s[lane + lanes]) << 32);
    else
        return bits_as<T>(s[lane]);
}

template <class T>
ZYFA_SIM_INLINE void write(Word* d, unsigned lane, T value) {
    if constexpr (sizeof(T) == 8) {
        const Word64 bits = bits_as<Word64>(value);
        d[lane] = static_cast<Word>(bits);
        d[lane + lanes] = static_cast<Word>(bits >> 32);
    } else {
        d[lane] = bits_as<Word>(value);
    }
}

/// Result registers before EXEC decides which lanes are written: an operand may be the same register as d.
template <class T>
struct Result {
    alignas(64) Word words[lanes * (sizeof(T) / 4)];
    ZYFA_SIM_INLINE void set(unsigned lane, T value) { write(words, lane, value); }
    ZYFA_SIM_INLINE T get(unsigned lane) const { return read<T>(words, lane); }
};

/// d[lane] = bit `lane` of mask ? chosen[lane] : other[lane].
ZYFA_SIM_INLINE void select_lanes(Word* d, Word64 mask, const Word* chosen, const Word* other) {
#if defined(__AVX2__)
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (unsigned chunk = 0; chunk < lanes; chunk += 8) {
        const auto load = [&](const Word* p) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + chunk));
        };
        const __m256i bits = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask >> chunk & 255)), bit);
        const __m256i is_set = _mm256_cmpeq_epi32(bits, bit);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + chunk),
                            _mm256_blendv_epi8(load(other), load(chosen), is_set));
    }
#else
    for (unsigned lane = 0; lane < lanes; ++lane)
        d[lane] = (mask >> lane & 1) ? chosen[lane] : other[lane];
#endif
}

/// Copies `registers` result registers to d where EXEC is set.
ZYFA_SIM_INLINE void commit(ValuCall& call, const Word* result, unsigned registers = 1) {
    if (call.exec == ~0ull) {
        __builtin_memcpy(call.d, result, registers * lanes * sizeof(Word));
        return;
    }
    for (unsigned r = 0; r < registers; ++r)
        select_lanes(call.d + r * lanes, call.exec, result + r * lanes, call.d + r * lanes);
}
template <class T>
ZYFA_SIM_INLINE void commit(ValuCall& call, const Result<T>& result) {
    commit(call, result.words, sizeof(T) / 4);
}

// ---- Integer and bit operations -------------------------------------------------------------------------

template <class F>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Return = R;
    static constexpr unsigned arity = sizeof...(A);
    template <auto f>
    static ZYFA_SIM_INLINE R at(const ValuCall& call, unsigned lane) {
        return indexed<f>(call, lane, std::make_index_sequence<sizeof...(A)>{});
    }
    template <auto f, std::size_t... I>
    static ZYFA_SIM_INLINE R indexed(const ValuCall& call, unsigned lane, std::index_sequence<I...>) {
        return f(read<A>(call.s[I], lane)...);
    }
};
template <auto f>
using signature = Signature<decltype(+f)>;

template <auto f>
void map(ValuCall& call) {
    Result<typename signature<f>::Return> result;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, signature<f>::template at<f>(call, lane));
    commit(call, result);
}

/// Packs one flag per lane, EXEC applied.
ZYFA_SIM_INLINE Word64 pack(const Word (&flags)[lanes]) {
    Word64 mask = 0;
#if defined(__AVX2__)
    for (unsigned lane = 0; lane < lanes; lane += 8) {
        __m256i v;
        __builtin_memcpy(&v, flags + lane, sizeof v);
        const unsigned bits =
            static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(v, 31))));
        mask |= static_cast<Word64>(bits) << lane;
    }
#else
    for (unsigned lane = 0; lane < lanes; ++lane)
        mask |= static_cast<Word64>(flags[lane] & 1) << lane;
#endif
    return mask;
}

template <auto f>
void compare(ValuCall& call) {
    alignas(64) Word flags[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane)
        flags[lane] = signature<f>::template at<f>(call, lane) ? 1 : 0;
    call.mask_out = pack(flags) & call.exec;
}

// ---- Floating point -------------------------------------------------------------------------------------

/// Runs f with the host's rounding direction set to a MODE round field (0 nearest even, 1 up, 2 down, 3
/// zero). f is reached through a pointer so that no arithmetic moves across the switch.
template <class Call>
void with_rounding(unsigned round, void (*f)(Call&), Call& call) {
#if defined(__SSE2__)
    static constexpr unsigned direction[4] = {0, 2u << 13, 1u << 13, 3u << 13};
    const unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~(3u << 13)) | direction[round & 3]);
    f(call);
    _mm_setcsr(before);
#else
    static constexpr int direction[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const int before = std::fegetround();
    std::fesetround(direction[round & 3]);
    f(call);
    std::fesetround(before);
#endif
}

/// A float format's bits, for the rules that MODE gives.
template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
    using Bits = Word;
    using Signed = i32;
    static constexpr Bits magnitude = 0x7FFFFFFFu, infinity = 0x7F800000u, quiet = 0x00400000u,
                          canonical = canonical_nan, one = 0x3F800000u;
    static unsigned denorm(const FloatMode& m) { return m.denorm32; }
    static unsigned round(const FloatMode& m) { return m.round32; }
};
template <>
struct FloatBits<double> {
    using Bits = Word64;
    using Signed = i64;
    static constexpr Bits magnitude = 0x7FFFFFFFFFFFFFFFu, infinity = 0x7FF0000000000000u,
                          quiet = 0x0008000000000000u, canonical = 0x7FF8000000000000u,
                          one = 0x3FF0000000000000u;
    static unsigned denorm(const FloatMode& m) { return m.denorm64; }
    static unsigned round(const FloatMode& m) { return m.round64; }
};

/// Zero of the same sign for a subnormal where mask is the magnitude mask; the value itself where it is 0.
template <class T>
ZYFA_SIM_INLINE T flush(T value, typename FloatBits<T>::Bits mask) {
    using B = FloatBits<T>;
    const auto bits = bits_as<typename B::Bits>(value);
    using Bits = typename B::Bits;
    const Bits is_small = -static_cast<Bits>((bits & B::infinity) == 0);
    return bits_as<T>(bits & ~(mask & is_small));
}
template <class T>
ZYFA_SIM_INLINE typename FloatBits<T>::Bits flush_inputs(const FloatMode& mode) {
    return FloatBits<T>::denorm(mode) & 1 ? 0 : FloatBits<T>::magnitude;
}
template <class T>
ZYFA_SIM_INLINE typename FloatBits<T>::Bits flush_outputs(const FloatMode& mode) {
    return FloatBits<T>::denorm(mode) & 2 ? 0 : FloatBits<T>::magnitude;
}
template <class T>
ZYFA_SIM_INLINE bool is_nan(T value) {
    using B = FloatBits<T>;
    using Signed = typename B::Signed; // vectors compare signed integers
    return static_cast<Signed>(bits_as<typename B::Bits>(value) & B::magnitude) >
           static_cast<Signed>(B::infinity);
}
template <class T>
ZYFA_SIM_INLINE bool is_signaling(T value) {
    using B = FloatBits<T>;
    return is_nan(value) & !(bits_as<typename B::Bits>(value) & B::quiet);
}
template <class T>
ZYFA_SIM_INLINE T quieted(T value) {
    using B = FloatBits<T>;
    return bits_as<T>(bits_as<typename B::Bits>(value) | B::quiet);
}

/// Output modifiers: omod (ignored while denormals are on or IEEE is set: CDNA4 ISA, "Output modifiers") and
/// clamp to [0, 1], where DX10_CLAMP turns NaN into 0.
template <class T>
ZYFA_SIM_INLINE T modify(T value, const ValuCall& call, unsigned denorm) {
    using B = FloatBits<T>;
    const FloatMode& mode = *call.mode;
    if (call.omod && denorm == 0 && !mode.ieee)
        value = flush(call.omod == 1 ? value * 2 : call.omod == 2 ? value * 4 : value / 2, B::magnitude);
    if (call.clamp) {
        if (is_nan(value))
            return mode.dx10_clamp ? T(0) : value;
        value = value > 0 ? value < 1 ? value : T(1) : T(0);
    }
    return value;
}
template <class T>
ZYFA_SIM_INLINE T modify(T value, const ValuCall& call) {
    return modify(value, call, FloatBits<T>::denorm(*call.mode));
}
template <class T>
void modify_all(ValuCall& call, Result<T>& result) {
    if (call.omod == 0 && !call.clamp)
        return;
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane, modify(result.get(lane), call));
}

/// NaN results: the first NaN operand in source order, quieted; the canonical NaN where no operand is one.
/// The host's own choice depends on operand order in the machine code, so it is replaced.
template <class T>
void choose_nans(Result<T>& result, const Word* const* sources, unsigned count) {
    using B = FloatBits<T>;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if (!is_nan(result.get(lane)))
            continue;
        T nan = bits_as<T>(B::canonical);
        for (unsigned n = count; n-- > 0;)
            if (const T x = read<T>(sources[n], lane); is_nan(x))
                nan = quieted(x);
        result.set(lane, nan);
    }
}

/// Loop of an arithmetic operation over T.
template <class T, auto f>
struct FloatLoop {
    struct Work {
        const Word* s[3];
        typename FloatBits<T>::Bits in, out;
        Result<T>* result;
        bool any_nan;
    };
    static constexpr unsigned arity = signature<f>::arity;

    static __attribute__((noinline)) void run(Work& w) {
        Word nan = 0;
        // A restricted pointer: sources never are the result, and the loop vectorises.
        Word* __restrict out = w.result->words;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            T r;
            if constexpr (arity == 1)
                r = f(flush(read<T>(w.s[0], lane), w.in));
            else if constexpr (arity == 2)
                r = f(flush(read<T>(w.s[0], lane), w.in), flush(read<T>(w.s[1], lane), w.in));
            else
                r = f(flush(read<T>(w.s[0], lane), w.in), flush(read<T>(w.s[1], lane), w.in),
                      flush(read<T>(w.s[2], lane), w.in));
            nan |= static_cast<Word>(is_nan(r));
            write(out, lane, flush(r, w.out));
        }
        w.any_nan = nan != 0;
    }

    /// result = f of the three source registers, by MODE.
    static void evaluate(const FloatMode& mode, const Word* a, const Word* b, const Word* c,
                         Result<T>& result) {
        Work w{{a, b, c}, flush_inputs<T>(mode), flush_outputs<T>(mode), &result, false};
        if (const unsigned round = FloatBits<T>::round(mode); round == 0)
            run(w);
        else
            with_rounding<Work>(round, &run, w);
        if (w.any_nan)
            choose_nans(result, w.s, arity);
    }

    /// FromD: d is the last source (v_fmac).
    template <bool FromD>
    static void call(ValuCall& call) {
        Result<T> result;
        evaluate(*call.mode, call.s[0], call.s[1], FromD ? call.d : call.s[2], result);
        modify_all(call, result);
        commit(call, result);
    }
};
template <auto f>
inline constexpr ValuFunction f32op = FloatLoop<float, f>::template call<false>;
template <auto f>
inline constexpr ValuFunction f32op_d = FloatLoop<float, f>::template call<true>;
template <auto f>
inline constexpr ValuFunction f64op = FloatLoop<double, f>::template call<false>;
template <auto f>
inline constexpr ValuFunction f64op_d = FloatLoop<double, f>::template call<true>;

/// Operations that select or transform rather than round (min, max, med3, floor ...): inputs and outputs are
/// flushed by MODE, NaN is f's affair; f takes `bool ieee` last.
template <class T, auto f>
void select_op(ValuCall& call) {
    const FloatMode& mode = *call.mode;
    const auto in = flush_inputs<T>(mode), out = flush_outputs<T>(mode);
    const bool ieee = mode.ieee;
    Result<T> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        T r;
        if constexpr (signature<f>::arity == 2)
            r = f(flush(read<T>(call.s[0], lane), in), ieee);
        else if constexpr (signature<f>::arity == 3)
            r = f(flush(read<T>(call.s[0], lane), in), flush(read<T>(call.s[1], lane), in), ieee);
        else
            r = f(flush(read<T>(call.s[0], lane), in), flush(read<T>(call.s[1], lane), in),
                  flush(read<T>(call.s[2], lane), in), ieee);
        result.set(lane, flush(r, out));
    }
    modify_all(call, result);
    commit(call, result);
}

// ---- Table rows -----------------------------------------------------------------------------------------

using enum OperandType;
using enum ValuClass;

constexpr ValuOp row(std::string_view mnemonic, ValuFunction function, OperandType d, OperandType s0,
                     OperandType s1 = none, OperandType s2 = none, ValuClass pipe = four_cycle) {
    return {mnemonic, function, d, s0, s1, s2, pipe};
}
constexpr ValuOp row(std::string_view mnemonic, ValuFunction function, OperandType d, OperandType s0,
                     ValuClass pipe) {
    return row(mnemonic, function, d, s0, none, none, pipe);
}
constexpr ValuOp row(std::string_view mnemonic, ValuFunction function, OperandType d, OperandType s0,
                     OperandType s1, ValuClass pipe) {
    return row(mnemonic, function, d, s0, s1, none, pipe);
}
constexpr ValuOp reads_d(ValuOp op) {
    op.reads_d = true;
    return op;
}
constexpr ValuOp reads_mask(ValuOp op) {
    op.reads_mask = true;
    return op;
}
constexpr ValuOp writes_mask(ValuOp op) {
    op.writes_mask = true;
    return op;
}
constexpr ValuOp trans(ValuOp op) {
    op.transcendental = true;
    op.pipe = eight_cycle;
    return op;
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
