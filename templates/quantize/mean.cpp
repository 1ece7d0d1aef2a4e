// SPDX-License-Identifier: Apache-2.0
// The mean row of a head, for K smoothing: sums of up to 1024 rows per workgroup, then the sum of these. The
// order is fixed by the length alone, so the mean is the same in every launch. What is not finite counts as
// 0: a NaN in one key stays in that key.
#include <cstddef>

#include "templates/attention/scalar_math.hpp"
#include "templates/quantize/kernarg.hpp"
#include "templates/quantize/passes.hpp"
#include "templates/quantize/rows.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

namespace {

constexpr std::uint32_t largest_float = 0x7f7fffff;

/// Every lane gets the sum over the lanes that hold the same place of other rows.
void emit_add_rows(Emitter& e, const RowShape& shape, VReg value, VReg copy) {
    if (shape.lane_bits < 4)
        e.v_add_f32_dpp(value, value, value, Dpp::rotate_8);
    if (shape.lane_bits < 3)
        e.v_add_f32_dpp(value, value, value, Dpp::rotate_4);
    e.v_mov_b32(copy, value);
    e.v_permlane16_swap_b32(value, copy);
    e.v_add_f32(value, value, copy);
    e.v_mov_b32(copy, value);
    e.v_permlane32_swap_b32(value, copy);
    e.v_add_f32(value, value, copy);
}

} // namespace

void emit_sum(Pass& pass, const Kind& kind) {
    const RowShape shape(kind.dim);
    const RowRegisters r = allocate_rows(pass.scalars, pass.vectors, shape);
    const SReg sums = pass.scalars.allocate("sSums", 2, 2, "partial sums");
    const VReg sum = pass.vectors.allocate("vSum", shape.values(), 2, "sums of the lane's elements");
    const VReg largest = pass.vectors.allocate("vLargest", 1, 1, "largest magnitude of a row's values");
    const VReg limit = pass.vectors.allocate("vLimit", 1, 1, "largest finite number");
    Emitter e(pass.file.code);
    Stream careful_code;
    Emitter careful(careful_code);
    std::vector<VReg> values;
    for (unsigned i = 0; i < shape.values(); ++i)
        values.push_back(r.value[i]);

    emit_start(e, r, shape, LanePlaces::in_order);
    e.s_load(sums, r.kernarg, offsetof(Kernarg, sums));
    for (unsigned i = 0; i < shape.values(); ++i)
        e.v_mov_b32(sum[i], 0);
    e.v_mov_b32(limit, Literal{largest_float});
    emit_tiles(
        e, r, shape, "sum", [](Emitter&) {},
        [&](Emitter& at, unsigned group) {
            emit_unpack(at, r, shape, group);
            emit_largest_magnitude(at, largest, values);
            const std::string there = ".Lsum_careful" + std::to_string(group),
                              back = ".Lsum_add" + std::to_string(group);
            at.v_cmp("nge_f32", vcc, Literal{largest_float}, largest, "a value that is not finite?");
            at.s_cbranch_vccnz(there);
            at.label(back);
            for (unsigned i = 0; i < shape.values(); ++i)
                at.v_add_f32(sum[i], sum[i], r.value[i]);

            careful.label(there);
            for (VReg value : values) {
                careful.v_cmp("le_f32", r.mask, Source(value).magnitude(), limit, "finite");
                careful.v_cndmask_b32(value, 0, value, r.mask);
            }
            careful.s_branch(back);
        });
    e.remark("---- store: row workgroup * 4 + wave of the head's partial sums");
    for (unsigned i = 0; i < shape.values(); ++i)
        emit_add_rows(e, shape, sum[i], r.vt[2 * (i % 2)]);
    const SReg index = r.t[0], stride = r.t[1];
    emit_descriptor(e, r.buffer, sums, 4 * shape.dim);
    e.s_mul_i32(index, r.group[2], r.heads);
    e.s_add_u32(index, index, r.group[1]);
    e.s_mul_i32(index, index, r.parts);
    e.s_lshl_b32(stride, r.group[0], 2);
    e.s_add_u32(index, index, stride);
    e.s_add_u32(index, index, r.wave);
    e.s_mov_b32(stride, 4 * shape.dim);
    attention::add_rows64(e, r.buffer.sub(0, 2), index, stride, r.t.sub(2, 2), "+ index * row");
    e.v_lshlrev_b32(r.vt[0], 5, r.coordinate);
    e.s_mov_b64(exec, static_cast<int>((1u << shape.lanes()) - 1), "the lanes of one row");
    for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
        for (unsigned half = 0; half < 2; ++half)
            e.buffer_store_dwordx4(sum.sub(8 * chunk + 4 * half, 4), r.vt[0], r.buffer, 0,
                                   chunk * shape.chunk_stride(4) + 16 * half);
    e.s_endpgm();
    pass.file.code.append(careful_code);
    pass.file.workgroup_yz = true;
}

void emit_mean(Pass& pass, const Kind& kind) {
    const RowShape shape(kind.dim);
    SAllocator& s = pass.scalars;
    const SReg kernarg = s.allocate("sKernarg", 2, 2, "kernel-argument block");
    const SReg group = s.allocate("sGroup", 3, 1, "0, head, batch entry");
    const SReg mean = s.allocate("sMean", 2, 2, "mean keys");
    const SReg sums = s.allocate("sSums", 2, 2, "partial sums");
    const SReg heads = s.allocate("sHeads", 1, 1, "heads");
    const SReg parts = s.allocate("sParts", 2, 2, "partial sums of a head, 1 / rows");
    const SReg buffer = s.allocate("sBuffer", 4, 4, "descriptor");
    const SReg t = s.allocate("sT", 4, 1, "scratch");
    const VReg element =
        pass.vectors.allocate("vElement", 1, 1, "byte of the element (as launched: work-item)");
    const VReg total = pass.vectors.allocate("vTotal", 1, 1, "sum");
    const VReg part = pass.vectors.allocate("vPart", 4, 1, "four partial sums");
    Emitter e(pass.file.code);

    e.s_load(mean, kernarg, offsetof(Kernarg, mean));
    e.s_load(sums, kernarg, offsetof(Kernarg, sums));
    e.s_load(heads, kernarg, offsetof(Kernarg, heads));
    e.s_load(parts, kernarg, offsetof(Kernarg, parts));
    static_assert(offsetof(Kernarg, inverse_rows) == offsetof(Kernarg, parts) + 4);
    e.s_mov_b32(buffer[3], Literal{0x00020000}, "raw buffer, bounds in bytes");
    e.s_mul_i32(t[0], group[2], heads, "batch entry * heads + head");
    e.s_add_u32(t[0], t[0], group[1]);
    e.v_cmp("gt_u32", vcc, shape.dim, element);
    e.s_mov_b64(exec, vcc, "elements that exist");
    e.v_lshlrev_b32(element, 2, element);
    e.v_mov_b32(total, 0);
    e.s_mov_b64(buffer.sub(0, 2), sums);
    e.s_mov_b32(buffer[2], 16 * shape.dim, "four rows of partial sums");
    e.s_mul_i32(t[1], t[0], parts[0]);
    e.s_mov_b32(t[2], 4 * shape.dim);
    e.s_mul_hi_u32(t[3], t[1], t[2]);
    e.s_mul_i32(t[1], t[1], t[2]);
    e.s_add_u32(buffer[0], buffer[0], t[1]);
    e.s_addc_u32(buffer[1], buffer[1], t[3]);
    e.label(".Lmean_parts");
    for (unsigned i = 0; i < 4; ++i)
        e.buffer_load_dword(part[i], element, buffer, 0, 4 * shape.dim * i);
    for (unsigned i = 0; i < 4; ++i)
        e.v_add_f32(total, total, part[i]);
    e.s_add_u32(buffer[0], buffer[0], 16 * shape.dim);
    e.s_addc_u32(buffer[1], buffer[1], 0);
    e.s_sub_u32(parts[0], parts[0], 4);
    e.s_cmp("lg_u32", parts[0], 0);
    e.s_cbranch_scc1(".Lmean_parts");
    e.v_mul_f32(total, parts[1], total, "/ rows");
    emit_descriptor(e, buffer, mean, 4 * shape.dim);
    e.s_mul_hi_u32(t[3], t[0], t[2]);
    e.s_mul_i32(t[1], t[0], t[2]);
    e.s_add_u32(buffer[0], buffer[0], t[1]);
    e.s_addc_u32(buffer[1], buffer[1], t[3]);
    e.buffer_store_dword(total, element, buffer, 0, 0);
    e.s_endpgm();
    pass.file.workgroup_yz = true;
}

} // namespace zyfa::templates::quantize
