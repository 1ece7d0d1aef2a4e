// SPDX-License-Identifier: Apache-2.0
// Bit logic, shifts, fields, permutations of bytes (CDNA4 ISA, VOP1, VOP2 and VOP3 opcode tables).
#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

ZYFA_SIM_INLINE Word reversed(Word x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(x);
}
ZYFA_SIM_INLINE Word field_mask(Word width) {
    return (1u << (width & 31)) - 1;
}
ZYFA_SIM_INLINE i32 signed_field(Word x, Word offset, Word width) {
    const Word w = width & 31;
    return w == 0 ? 0 : static_cast<i32>(x >> (offset & 31) << (32 - w)) >> (32 - w);
}

/// v_perm_b32: selector byte 0-7 a byte of {s0, s1} (0 = lowest of s1), 8-11 a sign, 12 zero, 13 and up 0xFF.
ZYFA_SIM_INLINE Word permuted(Word64 data, Word selector) {
    Word r = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const Word s = selector >> (8 * i) & 255;
        const Word byte = static_cast<Word>(data >> (8 * (s & 7))) & 255;
        // 8: sign of byte 1, 9: of byte 3, 10: of byte 5, 11: of byte 7.
        const Word sign = (data >> (16 * (s & 3) + 15) & 1) ? 255u : 0u;
        const Word value = s < 8 ? byte : s < 12 ? sign : s == 12 ? 0u : 255u;
        r |= value << (8 * i);
    }
    return r;
}

void perm_b32(ValuCall& call) {
    Result<Word> result;
#if defined(__AVX2__)
    // Eight lanes at a time through the host's byte shuffle, which knows "a byte of 16" and "zero": selectors
    // 0-7 and 12. Others (signs, 0xFF) take the plain path.
    const __m256i limit = _mm256_set1_epi8(7), zero_code = _mm256_set1_epi8(12);
    __m256i other = _mm256_setzero_si256();
    // Each lane's eight bytes lie at 0 or 8 of a 128-bit half.
    const __m256i base = _mm256_setr_epi32(0, 0, 0x08080808, 0, 0, 0, 0x08080808, 0);
    for (unsigned lane = 0; lane < lanes; lane += 8) {
        const auto load = [&](unsigned n) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(call.s[n] + lane));
        };
        const __m256i s0 = load(0), s1 = load(1), selector = load(2);
        const __m256i is_zero = _mm256_cmpeq_epi8(selector, zero_code);
        const __m256i plain = _mm256_cmpeq_epi8(_mm256_min_epu8(selector, limit), selector);
        other = _mm256_or_si256(other, _mm256_andnot_si256(_mm256_or_si256(plain, is_zero), limit));
        const __m256i index = _mm256_or_si256(selector, is_zero); // all ones: zero
        const __m256i low = _mm256_shuffle_epi8(_mm256_unpacklo_epi32(s1, s0),
                                                _mm256_or_si256(_mm256_unpacklo_epi32(index, index), base));
        const __m256i high = _mm256_shuffle_epi8(_mm256_unpackhi_epi32(s1, s0),
                                                 _mm256_or_si256(_mm256_unpackhi_epi32(index, index), base));
        const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
        _mm256_storeu_ps(reinterpret_cast<float*>(result.words + lane), both);
    }
    if (_mm256_testz_si256(other, other))
        return commit(call, result);
#endif
    for (unsigned lane = 0; lane < lanes; ++lane)
        result.set(lane,
                   permuted(static_cast<Word64>(call.s[0][lane]) << 32 | call.s[1][lane], call.s[2][lane]));
    commit(call, result);
}

/// Truth table of three inputs: bit 4a + 2b + c of the table gives the result (V_BITOP3_B32).
void bitop3_b32(ValuCall& call) {
    const Word table = call.control;
    Word term[8];
    for (unsigned i = 0; i < 8; ++i)
        term[i] = (table >> i & 1) ? ~0u : 0u;
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word a = call.s[0][lane], b = call.s[1][lane], c = call.s[2][lane];
        const Word a0 = (~b & ((~c & term[0]) | (c & term[1]))) | (b & ((~c & term[2]) | (c & term[3])));
        const Word a1 = (~b & ((~c & term[4]) | (c & term[5]))) | (b & ((~c & term[6]) | (c & term[7])));
        result.set(lane, (~a & a0) | (a & a1));
    }
    commit(call, result);
}

constexpr ValuOp ops[] = {
    row("v_and_b32", map<([](Word a, Word b) { return a & b; })>, b32, b32, b32),
    row("v_or_b32", map<([](Word a, Word b) { return a | b; })>, b32, b32, b32),
    row("v_xor_b32", map<([](Word a, Word b) { return a ^ b; })>, b32, b32, b32),
    row("v_xnor_b32", map<([](Word a, Word b) { return ~(a ^ b); })>, b32, b32, b32),
    row("v_not_b32", map<([](Word a) { return ~a; })>, b32, b32),
    row("v_and_or_b32", map<([](Word a, Word b, Word c) { return (a & b) | c; })>, b32, b32, b32, b32),
    row("v_or3_b32", map<([](Word a, Word b, Word c) { return a | b | c; })>, b32, b32, b32, b32),
    row("v_bitop3_b32", bitop3_b32, b32, b32, b32, b32),
    row("v_lshlrev_b32", map<([](Word a, Word b) { return b << (a & 31); })>, b32, b32, b32),
    row("v_lshrrev_b32", map<([](Word a, Word b) { return b >> (a & 31); })>, b32, b32, b32),
    row("v_ashrrev_i32", map<([](Word a, i32 b) { return b >> (a & 31); })>, b32, b32, b32),
    row("v_lshlrev_b64", map<([](Word a, Word64 b) { return b << (a & 63); })>, b64, b32, b64),
    row("v_lshrrev_b64", map<([](Word a, Word64 b) { return b >> (a & 63); })>, b64, b32, b64),
    row("v_ashrrev_i64", map<([](Word a, i64 b) { return b >> (a & 63); })>, b64, b32, b64),
    row("v_lshl_or_b32", map<([](Word a, Word b, Word c) { return a << (b & 31) | c; })>, b32, b32, b32, b32),
    row("v_bfe_u32", map<([](Word a, Word b, Word c) { return a >> (b & 31) & field_mask(c); })>, b32, b32,
        b32, b32),
    row("v_bfe_i32", map<([](Word a, Word b, Word c) {
            return signed_field(static_cast<Word>(static_cast<i32>(a) >> (b & 31)), 0, c);
        })>,
        b32, b32, b32, b32),
    row("v_bfi_b32", map<([](Word a, Word b, Word c) { return (a & b) | (~a & c); })>, b32, b32, b32, b32),
    row("v_bfm_b32", map<([](Word a, Word b) { return field_mask(a) << (b & 31); })>, b32, b32, b32),
    row("v_bfrev_b32", map<([](Word a) { return reversed(a); })>, b32, b32),
    row("v_bcnt_u32_b32", map<([](Word a, Word b) { return static_cast<Word>(__builtin_popcount(a)) + b; })>,
        b32, b32, b32),
    row("v_ffbh_u32", map<([](Word a) { return a ? static_cast<Word>(__builtin_clz(a)) : ~0u; })>, b32, b32),
    row("v_ffbl_b32", map<([](Word a) { return a ? static_cast<Word>(__builtin_ctz(a)) : ~0u; })>, b32, b32),
    row("v_ffbh_i32", map<([](i32 a) {
            return a == 0 || a == -1 ? ~0u
                                     : static_cast<Word>(__builtin_clz(static_cast<Word>(a < 0 ? ~a : a)));
        })>,
        b32, b32),
    row("v_alignbit_b32", map<([](Word a, Word b, Word c) {
            return static_cast<Word>((static_cast<Word64>(a) << 32 | b) >> (c & 31));
        })>,
        b32, b32, b32, b32),
    row("v_alignbyte_b32", map<([](Word a, Word b, Word c) {
            return static_cast<Word>((static_cast<Word64>(a) << 32 | b) >> (8 * (c & 3)));
        })>,
        b32, b32, b32, b32),
    row("v_perm_b32", perm_b32, b32, b32, b32, b32),
    row("v_prng_b32", map<([](Word a) { return a << 1 ^ (a >> 31 ? 0xC5u : 0u); })>, b32, b32),
};

} // namespace

Span<ValuOp> bit_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
