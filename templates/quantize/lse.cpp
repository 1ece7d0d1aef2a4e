// SPDX-License-Identifier: Apache-2.0
// LSE of the keys as they were, from the LSE of the smoothed ones: subtracting a row m from every key lowers
// all scores of a query q by softmax_scale * q m, which is added back.
#include <cstddef>

#include "templates/attention/scalar_math.hpp"
#include "templates/quantize/kernarg.hpp"
#include "templates/quantize/passes.hpp"
#include "templates/quantize/rows.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

void emit_lse(Pass& pass, const Kind& kind) {
    const RowShape shape(kind.dim);
    const RowRegisters r = allocate_rows(pass.scalars, pass.vectors, shape);
    const SReg pointer = pass.scalars.allocate("sLse", 4, 4, "LSE, batch stride");
    const SReg head = pass.scalars.allocate("sLseHead", 2, 2, "head stride");
    const SReg more = pass.scalars.allocate("sMore", 4, 4, "softmax scale, divider by the group, key heads");
    const VReg mean = pass.vectors.allocate("vMean", shape.values(), 2, "mean key of the lane's elements");
    const VReg lse = pass.vectors.allocate("vLse", shape.groups(), 1, "LSE of the lane's rows");
    const VReg sum = pass.vectors.allocate("vSum", 2, 1, "score of the mean key");
    const VReg four = pass.vectors.allocate("vFour", 1, 1, "4 * lane's row");
    Emitter e(pass.file.code);

    emit_start(e, r, shape, LanePlaces::in_order);
    e.s_load(pointer, r.kernarg, offsetof(Kernarg, lse));
    e.s_load(head, r.kernarg, offsetof(Kernarg, lse_head));
    e.s_load(more, r.kernarg, offsetof(Kernarg, softmax_scale));
    static_assert(offsetof(Kernarg, lse_batch) == offsetof(Kernarg, lse) + 8 &&
                  offsetof(Kernarg, mean_heads) == offsetof(Kernarg, softmax_scale) + 12);
    const SReg base = pointer.sub(0, 2), key_head = r.t[4], bytes = r.t[5];
    attention::add_product64(e, base, r.group[2], pointer.sub(2, 2), r.t.sub(0, 3), "+ batch * stride");
    attention::add_product64(e, base, r.group[1], head, r.t.sub(0, 3), "+ head * stride");
    attention::divide(e, key_head, r.group[1], more.sub(1, 2), "key head");
    e.s_mul_i32(r.t[0], r.group[2], more[3]);
    e.s_add_u32(key_head, key_head, r.t[0]);
    e.s_mov_b32(bytes, 4 * shape.dim);
    emit_descriptor(e, r.buffer, r.mean, 4 * shape.dim);
    attention::add_rows64(e, r.buffer.sub(0, 2), key_head, bytes, r.t.sub(0, 2), "+ rows of the mean");
    e.v_lshlrev_b32(r.vt[0], 5, r.coordinate);
    for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
        for (unsigned half = 0; half < 2; ++half)
            e.buffer_load_dwordx4(mean.sub(8 * chunk + 4 * half, 4), r.vt[0], r.buffer, 0,
                                  chunk * shape.chunk_stride(4) + 16 * half);
    e.v_lshlrev_b32(four, 2, r.lane_row);

    const auto before_groups = [&](Emitter& at) {
        at.s_mov_b64(r.out.sub(0, 2), base);
        at.s_lshl_b32(r.t[0], r.row, 2, "rows are contiguous");
        at.s_add_u32(r.out[0], r.out[0], r.t[0]);
        at.s_addc_u32(r.out[1], r.out[1], 0);
        at.s_min_i32(r.t[0], r.left, wave_rows);
        at.s_lshl_b32(r.out[2], r.t[0], 2);
        for (unsigned group = 0; group < shape.groups(); ++group)
            at.buffer_load_dword(lse[group], four, r.out, 0, 4 * group * shape.rows_at_once());
    };
    emit_tiles(e, r, shape, "lse", before_groups, [&](Emitter& at, unsigned group) {
        emit_unpack(at, r, shape, group);
        at.v_mul_f32(sum[0], r.value[0], mean[0]);
        at.v_mul_f32(sum[1], r.value[1], mean[1]);
        for (unsigned i = 2; i < shape.values(); ++i)
            at.v_fma_f32(sum[i % 2], r.value[i], mean[i], sum[i % 2]);
        at.v_add_f32(sum[0], sum[0], sum[1]);
        constexpr Dpp other[] = {Dpp::xor_1, Dpp::xor_2, Dpp::xor_7, Dpp::xor_15};
        for (unsigned bit = 0; bit < shape.lane_bits; ++bit)
            at.v_add_f32_dpp(sum[0], sum[0], sum[0], other[bit]);
        at.v_fma_f32(lse[group], more[0], sum[0], lse[group]);
        at.v_mov_b32(r.vt[0], 0);
        at.v_cmp("eq_u32", vcc, r.coordinate, r.vt[0], "one lane of each row stores");
        at.s_mov_b64(exec, vcc);
        at.buffer_store_dword(lse[group], four, r.out, 0, 4 * group * shape.rows_at_once());
        at.s_mov_b64(exec, -1);
    });
    e.s_endpgm();
    pass.file.workgroup_yz = true;
}

} // namespace zyfa::templates::quantize
