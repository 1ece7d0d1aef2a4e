// SPDX-License-Identifier: Apache-2.0
// 32- and 64-bit integer arithmetic, carries and multiplies (CDNA4 ISA, VOP1, VOP2 and VOP3 opcode tables).
#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

// ---- Additions with carry: mask_in and mask_out are one bit per lane. Clamp saturates unsigned results.

enum class Carry { none, in };
/// f(a, b, carry in) as a 64-bit sum or difference; bit 32 is the carry or borrow.
template <auto f, Carry carry>
void with_carry(ValuCall& call) {
    Result<Word> result;
    alignas(64) Word flags[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word in = carry == Carry::in ? static_cast<Word>(call.mask_in >> lane) & 1 : 0;
        const Word64 wide = f(call.s[0][lane], call.s[1][lane], in);
        result.set(lane, static_cast<Word>(wide));
        flags[lane] = static_cast<Word>(wide >> 32) & 1;
    }
    call.mask_out = pack(flags) & call.exec;
    commit(call, result);
}
constexpr auto add_carry = [](Word a, Word b, Word c) { return static_cast<Word64>(a) + b + c; };
constexpr auto sub_carry = [](Word a, Word b, Word c) { return static_cast<Word64>(a) - b - c; };
constexpr auto subrev_carry = [](Word a, Word b, Word c) { return static_cast<Word64>(b) - a - c; };

/// 64-bit f and plain f by whether clamp is set: signed or unsigned saturation of a 32-bit result.
template <auto f>
void saturating_u32(ValuCall& call) {
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const i64 wide = f(static_cast<i64>(call.s[0][lane]), static_cast<i64>(call.s[1][lane]));
        const i64 saturated = wide < 0 ? 0 : wide > 0xFFFFFFFF ? 0xFFFFFFFF : wide;
        result.set(lane, static_cast<Word>(call.clamp ? saturated : wide));
    }
    commit(call, result);
}
template <auto f>
void saturating_i32(ValuCall& call) {
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const i64 wide = f(static_cast<i64>(static_cast<i32>(call.s[0][lane])),
                           static_cast<i64>(static_cast<i32>(call.s[1][lane])));
        const i64 saturated = wide < -0x80000000ll ? -0x80000000ll : wide > 0x7FFFFFFF ? 0x7FFFFFFF : wide;
        result.set(lane, static_cast<Word>(call.clamp ? saturated : wide));
    }
    commit(call, result);
}
constexpr auto add64 = [](i64 a, i64 b) { return a + b; };
constexpr auto sub64 = [](i64 a, i64 b) { return a - b; };
constexpr auto subrev64 = [](i64 a, i64 b) { return b - a; };

/// Chooses between the plain loop and the saturating one.
template <auto plain, ValuFunction saturating>
void clamped(ValuCall& call) {
    if (call.clamp)
        saturating(call);
    else
        map<plain>(call);
}
constexpr auto add_u32 = [](Word a, Word b) { return a + b; };
constexpr auto sub_u32 = [](Word a, Word b) { return a - b; };
constexpr auto subrev_u32 = [](Word a, Word b) { return b - a; };

ZYFA_SIM_INLINE i32 signed24(Word x) {
    return static_cast<i32>(x << 8) >> 8;
}
ZYFA_SIM_INLINE Word low24(Word x) {
    return x & 0xFFFFFF;
}

// v_mad_u64_u32, v_mad_i64_i32: 64-bit addend, carry out.
template <bool Signed>
void mad64(ValuCall& call) {
    Result<Word64> result;
    alignas(64) Word flags[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word a = call.s[0][lane], b = call.s[1][lane];
        const Word64 c = read<Word64>(call.s[2], lane);
        if constexpr (Signed) {
            const i64 product = static_cast<i64>(static_cast<i32>(a)) * static_cast<i32>(b);
            const Word64 sum = static_cast<Word64>(product) + c;
            // 65-bit signed sum: its top bit is the flag.
            const Word sign_a = product < 0, sign_c = static_cast<Word>(c >> 63), carry = sum < c;
            flags[lane] = (sign_a + sign_c + carry) & 1;
            result.set(lane, sum);
        } else {
            const Word64 sum = static_cast<Word64>(a) * b + c;
            flags[lane] = sum < c;
            result.set(lane, sum);
        }
    }
    call.mask_out = pack(flags) & call.exec;
    commit(call, result);
}

template <bool High>
void mbcnt(ValuCall& call) {
    Result<Word> result;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Word64 below = (1ull << lane) - 1;
        const Word mask = static_cast<Word>(High ? below >> 32 : below);
        result.set(lane, static_cast<Word>(__builtin_popcount(call.s[0][lane] & mask)) + call.s[1][lane]);
    }
    commit(call, result);
}

void cndmask(ValuCall& call) {
    Result<Word> result;
    select_lanes(result.words, call.mask_in, call.s[1], call.s[0]);
    commit(call, result);
}

constexpr auto min_i = [](i32 a, i32 b) { return a < b ? a : b; };
constexpr auto max_i = [](i32 a, i32 b) { return a > b ? a : b; };
constexpr auto min_u = [](Word a, Word b) { return a < b ? a : b; };
constexpr auto max_u = [](Word a, Word b) { return a > b ? a : b; };

constexpr ValuOp ops[] = {
    row("v_mov_b32", map<([](Word a) { return a; })>, b32, b32),
    row("v_mov_b64", map<([](Word64 a) { return a; })>, b64, b64),
    row("v_accvgpr_read_b32", map<([](Word a) { return a; })>, b32, b32),
    row("v_accvgpr_write_b32", map<([](Word a) { return a; })>, b32, b32),
    row("v_accvgpr_mov_b32", map<([](Word a) { return a; })>, b32, b32),
    reads_mask(row("v_cndmask_b32", cndmask, b32, b32, b32, mask)),

    row("v_add_u32", clamped<add_u32, saturating_u32<add64>>, b32, b32, b32),
    row("v_sub_u32", clamped<sub_u32, saturating_u32<sub64>>, b32, b32, b32),
    row("v_subrev_u32", clamped<subrev_u32, saturating_u32<subrev64>>, b32, b32, b32),
    row("v_add_i32", clamped<add_u32, saturating_i32<add64>>, b32, b32, b32),
    row("v_sub_i32", clamped<sub_u32, saturating_i32<sub64>>, b32, b32, b32),
    writes_mask(row("v_add_co_u32", with_carry<add_carry, Carry::none>, b32, b32, b32)),
    writes_mask(row("v_sub_co_u32", with_carry<sub_carry, Carry::none>, b32, b32, b32)),
    writes_mask(row("v_subrev_co_u32", with_carry<subrev_carry, Carry::none>, b32, b32, b32)),
    writes_mask(reads_mask(row("v_addc_co_u32", with_carry<add_carry, Carry::in>, b32, b32, b32, mask))),
    writes_mask(reads_mask(row("v_subb_co_u32", with_carry<sub_carry, Carry::in>, b32, b32, b32, mask))),
    writes_mask(
        reads_mask(row("v_subbrev_co_u32", with_carry<subrev_carry, Carry::in>, b32, b32, b32, mask))),
    row("v_add3_u32", map<([](Word a, Word b, Word c) { return a + b + c; })>, b32, b32, b32, b32),
    row("v_lshl_add_u32", map<([](Word a, Word b, Word c) { return (a << (b & 31)) + c; })>, b32, b32, b32,
        b32),
    row("v_add_lshl_u32", map<([](Word a, Word b, Word c) { return (a + b) << (c & 31); })>, b32, b32, b32,
        b32),
    row("v_xad_u32", map<([](Word a, Word b, Word c) { return (a ^ b) + c; })>, b32, b32, b32, b32),
    row("v_lshl_add_u64", map<([](Word64 a, Word b, Word64 c) { return (a << (b & 7)) + c; })>, b64, b64, b32,
        b64),

    row("v_mul_lo_u32", map<([](Word a, Word b) { return a * b; })>, b32, b32, b32, sixteen_cycle),
    row("v_mul_hi_u32",
        map<([](Word a, Word b) { return static_cast<Word>(static_cast<Word64>(a) * b >> 32); })>, b32, b32,
        b32, sixteen_cycle),
    row("v_mul_hi_i32", map<([](i32 a, i32 b) { return static_cast<i32>(static_cast<i64>(a) * b >> 32); })>,
        b32, b32, b32, sixteen_cycle),
    row("v_mul_i32_i24",
        map<([](Word a, Word b) { return static_cast<Word>(signed24(a)) * static_cast<Word>(signed24(b)); })>,
        b32, b32, b32),
    row("v_mul_u32_u24", map<([](Word a, Word b) { return low24(a) * low24(b); })>, b32, b32, b32),
    row("v_mul_hi_i32_i24", map<([](Word a, Word b) {
            return static_cast<Word>(static_cast<i64>(signed24(a)) * signed24(b) >> 32);
        })>,
        b32, b32, b32),
    row("v_mul_hi_u32_u24", map<([](Word a, Word b) {
            return static_cast<Word>(static_cast<Word64>(low24(a)) * low24(b) >> 32);
        })>,
        b32, b32, b32),
    row("v_mad_i32_i24", map<([](Word a, Word b, Word c) {
            return static_cast<Word>(signed24(a)) * static_cast<Word>(signed24(b)) + c;
        })>,
        b32, b32, b32, b32),
    row("v_mad_u32_u24", map<([](Word a, Word b, Word c) { return low24(a) * low24(b) + c; })>, b32, b32, b32,
        b32),
    writes_mask(row("v_mad_u64_u32", mad64<false>, b64, b32, b32, b64, sixteen_cycle)),
    writes_mask(row("v_mad_i64_i32", mad64<true>, b64, b32, b32, b64, sixteen_cycle)),

    row("v_min_i32", map<min_i>, b32, b32, b32),
    row("v_max_i32", map<max_i>, b32, b32, b32),
    row("v_min_u32", map<min_u>, b32, b32, b32),
    row("v_max_u32", map<max_u>, b32, b32, b32),
    row("v_min3_i32", map<([](i32 a, i32 b, i32 c) { return min_i(min_i(a, b), c); })>, b32, b32, b32, b32),
    row("v_max3_i32", map<([](i32 a, i32 b, i32 c) { return max_i(max_i(a, b), c); })>, b32, b32, b32, b32),
    row("v_med3_i32", map<([](i32 a, i32 b, i32 c) { return max_i(min_i(a, b), min_i(max_i(a, b), c)); })>,
        b32, b32, b32, b32),
    row("v_min3_u32", map<([](Word a, Word b, Word c) { return min_u(min_u(a, b), c); })>, b32, b32, b32,
        b32),
    row("v_max3_u32", map<([](Word a, Word b, Word c) { return max_u(max_u(a, b), c); })>, b32, b32, b32,
        b32),
    row("v_med3_u32", map<([](Word a, Word b, Word c) { return max_u(min_u(a, b), min_u(max_u(a, b), c)); })>,
        b32, b32, b32, b32),

    row("v_mbcnt_lo_u32_b32", mbcnt<false>, b32, b32, b32),
    row("v_mbcnt_hi_u32_b32", mbcnt<true>, b32, b32, b32),
};

} // namespace

Span<ValuOp> integer_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
