// SPDX-License-Identifier: Apache-2.0
// Packed FP32: two operations on register pairs. op_sel and op_sel_hi choose, per source, which dword of the
// pair feeds the low and the high result (CDNA4 ISA, VOP3P).
#include "sim/valu/kernels/apply.hpp"

namespace zyfa::sim::ZYFA_SIM_ISA {
namespace {

/// Source n for one of the two results, negated into `buffer` where the modifier says so.
ZYFA_SIM_INLINE const Word* pick(const ValuCall& call, unsigned n, bool high, Word (&buffer)[lanes]) {
    const unsigned select = high ? call.op_sel_hi : call.op_sel, negate = high ? call.neg_hi : call.neg;
    const Word* s = call.s[n] + ((select >> n & 1) ? lanes : 0);
    if ((negate >> n & 1) == 0)
        return s;
    for (unsigned lane = 0; lane < lanes; ++lane)
        buffer[lane] = s[lane] ^ 0x80000000u;
    return buffer;
}

template <auto f>
void packed(ValuCall& call) {
    constexpr unsigned arity = signature<f>::arity;
    alignas(64) Word buffer[arity][lanes];
    Result<float> half[2]; // neighbours: the low register, then the high one
    for (unsigned high = 0; high < 2; ++high) {
        const Word* s[3] = {};
        for (unsigned n = 0; n < arity; ++n)
            s[n] = pick(call, n, high, buffer[n]);
        FloatLoop<float, f>::evaluate(*call.mode, s[0], s[1], s[2], half[high]);
        modify_all(call, half[high]);
    }
    static_assert(sizeof half == 2 * lanes * sizeof(Word));
    commit(call, half[0].words, 2);
}

void packed_move(ValuCall& call) {
    alignas(64) Word result[2 * lanes];
    // op_sel bit 0 picks the dword of source 0 for the low result, bit 1 that of source 1 for the high one.
    __builtin_memcpy(result, call.s[0] + (call.op_sel & 1 ? lanes : 0), lanes * sizeof(Word));
    __builtin_memcpy(result + lanes, call.s[1] + (call.op_sel & 2 ? lanes : 0), lanes * sizeof(Word));
    commit(call, result, 2);
}

constexpr ValuOp ops[] = {
    row("v_pk_fma_f32", packed<([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })>, pk_f32,
        pk_f32, pk_f32, pk_f32, packed_fp32),
    row("v_pk_mul_f32", packed<([](float a, float b) { return a * b; })>, pk_f32, pk_f32, pk_f32,
        packed_fp32),
    row("v_pk_add_f32", packed<([](float a, float b) { return a + b; })>, pk_f32, pk_f32, pk_f32,
        packed_fp32),
    row("v_pk_mov_b32", packed_move, b64, b64, b64, packed_fp32),
};

} // namespace

Span<ValuOp> packed32_ops() {
    return {ops, sizeof ops / sizeof *ops};
}

} // namespace zyfa::sim::ZYFA_SIM_ISA
