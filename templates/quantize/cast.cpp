// SPDX-License-Identifier: Apache-2.0
// Rows to codes. What is finite and too large is clamped and counted, what is not finite becomes NaN and is
// counted; both take a path of their own, for groups of rows that have such values.
#include <cstddef>

#include "templates/attention/scalar_math.hpp"
#include "templates/quantize/kernarg.hpp"
#include "templates/quantize/passes.hpp"
#include "templates/quantize/transform.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

namespace {

constexpr std::uint32_t largest_code = 0x43e00000; // 448, the largest e4m3 value
constexpr std::uint32_t infinity = 0x7f800000, quiet_nan = 0x7fc00000;

struct Cast {
    RowRegisters r;
    TransformRegisters t;
    SReg group_stride, clamped, non_finite, other_mask;
    VReg factor, largest, codes, limit, inf, nan;
};

Cast allocate(Pass& pass, const RowShape& shape, const Kind& kind) {
    SAllocator& s = pass.scalars;
    VAllocator& v = pass.vectors;
    Cast c;
    c.r = allocate_rows(s, v, shape);
    c.t = allocate_transform(s, v, shape, kind);
    c.group_stride = s.allocate("sGroupStride", 1, 1, "stride of a group of rows of codes");
    c.clamped = s.allocate("sClamped", 1, 1, "values clamped");
    c.non_finite = s.allocate("sNonFinite", 1, 1, "values that are not finite");
    c.other_mask = s.allocate("sMask2", 2, 2, "lane mask");
    c.factor = v.allocate("vFactor", 1, 1, "what values are multiplied by");
    c.largest = v.allocate("vLargest", 1, 1, "largest magnitude of the lane's values");
    c.codes = v.allocate("vCodes", 2 * shape.chunks, 2, "codes of one row");
    c.limit = v.allocate("vLimit", 1, 1, "448");
    c.inf = v.allocate("vInf", 1, 1, "infinity");
    c.nan = v.allocate("vNaN", 1, 1, "NaN");
    return c;
}

/// Shifts multiplier and descale by the least power of two n with largest <= limit * 2^n: the difference of
/// the bits, rounded up to whole exponents.
void emit_scale(Emitter& e, const RowRegisters& r) {
    const SReg largest = r.t[0], n = r.t[1];
    e.remark("---- scale of this call");
    e.s_cmp("eq_u32", r.per_call, 0);
    e.s_cbranch_scc1(".Lcast_scaled");
    e.s_load(largest, r.report, offsetof(Report, largest_bits));
    e.s_sub_u32(n, largest, r.limit);
    e.s_add_u32(n, n, Literal{0x007fffff});
    e.s_ashr_i32(n, n, 23);
    e.s_cmp("eq_u32", largest, 0);
    e.s_cselect_b32(n, 0, n, "nothing but zeros: the unit");
    e.s_max_i32(n, n, -120, "normal numbers only");
    e.s_min_i32(n, n, 120);
    e.s_lshl_b32(n, n, 23);
    e.s_add_u32(r.descale, r.descale, n);
    e.s_sub_u32(r.multiplier, r.multiplier, n);
    e.label(".Lcast_scaled");
}

/// The first wave of the launch stores the descale.
void emit_store_descale(Emitter& e, const Cast& c) {
    const RowRegisters& r = c.r;
    e.s_or_b32(r.t[0], r.group[0], r.group[1]);
    e.s_or_b32(r.t[0], r.t[0], r.group[2]);
    e.s_or_b32(r.t[0], r.t[0], r.wave);
    e.s_cmp("eq_u32", r.t[0], 0);
    e.s_cbranch_scc0(".Lcast_begin");
    emit_descriptor(e, r.buffer, r.report, sizeof(Report));
    e.s_mov_b64(exec, 1);
    e.v_mov_b32(r.vt[0], r.descale);
    e.v_mov_b32(r.vt[1], 0);
    e.buffer_store_dword(r.vt[0], r.vt[1], r.buffer, 0, offsetof(Report, descale), "descale");
    e.s_mov_b64(exec, -1);
    e.label(".Lcast_begin");
}

void emit_add_counts(Emitter& e, const Cast& c) {
    const RowRegisters& r = c.r;
    e.s_or_b32(r.t[0], c.clamped, c.non_finite);
    e.s_cmp("eq_u32", r.t[0], 0);
    e.s_cbranch_scc1(".Lcast_counted");
    emit_descriptor(e, r.buffer, r.report, sizeof(Report));
    e.s_mov_b64(exec, 1);
    e.v_mov_b32(r.vt[0], c.clamped);
    e.v_mov_b32(r.vt[1], c.non_finite);
    e.v_mov_b32(r.vt[2], 0);
    e.buffer_atomic_add(r.vt[0], r.vt[2], r.buffer, 0, offsetof(Report, clamped));
    e.buffer_atomic_add(r.vt[1], r.vt[2], r.buffer, 0, offsetof(Report, non_finite));
    e.label(".Lcast_counted");
}

/// Marks, scales, clamps and counts value by value.
void emit_careful(Emitter& e, const Cast& c, const std::vector<VReg>& values) {
    const SReg n = c.r.t[1];
    for (VReg value : values) {
        const Source magnitude = Source(value).magnitude();
        e.v_cmp("nlt_f32", c.r.mask, magnitude, c.inf, "not finite");
        e.v_mul_f32(value, c.factor, value);
        e.v_cmp("gt_f32", c.other_mask, magnitude, c.limit);
        e.s_bcnt1_i32_b64(n, c.r.mask);
        e.s_add_u32(c.non_finite, c.non_finite, n);
        e.s_andn2_b64(c.other_mask, c.other_mask, c.r.mask, "finite and too large");
        e.s_bcnt1_i32_b64(n, c.other_mask);
        e.s_add_u32(c.clamped, c.clamped, n);
        e.v_med3_f32(value, value, -Source(c.limit), c.limit);
        e.v_cndmask_b32(value, value, c.nan, c.r.mask);
    }
}

} // namespace

void emit_cast(Pass& pass, const Kind& kind) {
    const RowShape shape(kind.dim);
    const Cast c = allocate(pass, shape, kind);
    const RowRegisters& r = c.r;
    Emitter e(pass.file.code);
    Stream careful_code;
    Emitter careful(careful_code);

    emit_start(e, r, shape, kind.rotate ? LanePlaces::butterfly : LanePlaces::in_order);
    emit_scale(e, r);
    emit_transform_start(e, r, shape, kind, c.t);
    emit_store_descale(e, c);
    if (kind.rotate)
        e.v_mul_f32(c.factor, r.multiplier, c.t.flip);
    else
        e.v_mov_b32(c.factor, r.multiplier);
    e.v_mov_b32(c.limit, Literal{largest_code});
    e.v_mov_b32(c.inf, Literal{infinity});
    e.v_mov_b32(c.nan, Literal{quiet_nan});
    for (unsigned i = 0; i < 2 * shape.chunks; ++i)
        e.v_mov_b32(c.codes[i], 0, i == 0 ? "a conversion writes half of its register" : "");
    e.s_mov_b32(c.clamped, 0);
    e.s_mov_b32(c.non_finite, 0);
    e.v_lshlrev_b32(r.vt[0], 3, r.coordinate, "8 codes per chunk");
    e.v_mul_lo_u32(r.out_address, r.lane_row, r.codes_row);
    e.v_add_u32(r.out_address, r.out_address, r.vt[0]);
    e.s_lshl_b32(c.group_stride, r.codes_row, 6 - shape.lane_bits);

    const auto before_groups = [&](Emitter& at) {
        at.s_mov_b64(r.out.sub(0, 2), r.codes);
        attention::add_rows64(at, r.out.sub(0, 2), r.row, r.codes_row, r.t.sub(0, 2),
                              "codes: + row * stride");
        at.s_min_i32(r.t[0], r.left, wave_rows);
        attention::record_bytes(at, r.out[2], r.t[0], r.codes_row, shape.dim, r.t[1]);
        at.v_mov_b32(r.group_address, r.out_address);
    };
    emit_tiles(e, r, shape, "cast", before_groups, [&](Emitter& at, unsigned group) {
        const std::vector<VReg> values = emit_transform(at, r, shape, kind, c.t, group);
        emit_largest_magnitude(at, c.largest, values);
        at.v_mul_f32(c.largest, r.multiplier, c.largest);
        const std::string there = ".Lcast_careful" + std::to_string(group),
                          back = ".Lcast_convert" + std::to_string(group);
        at.v_cmp("nge_f32", vcc, Literal{largest_code}, c.largest, "too large, or not a number?");
        at.s_cbranch_vccnz(there);
        for (VReg value : values)
            at.v_mul_f32(value, c.factor, value);
        at.label(back);
        for (const bool high : {false, true})
            for (unsigned i = 0; i < 2 * shape.chunks; ++i)
                at.v_cvt_pk_fp8_f32(c.codes[i], values[4 * i + 2 * high], values[4 * i + 2 * high + 1], high);
        for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
            at.buffer_store_dwordx2(c.codes.sub(2 * chunk, 2), r.group_address, r.out, 0,
                                    chunk * shape.chunk_stride(1));
        at.v_add_u32(r.group_address, c.group_stride, r.group_address);

        careful.label(there);
        emit_careful(careful, c, values);
        careful.s_branch(back);
    });
    emit_add_counts(e, c);
    e.s_endpgm();
    pass.file.code.append(careful_code);
    pass.file.workgroup_yz = true;
}

} // namespace zyfa::templates::quantize
