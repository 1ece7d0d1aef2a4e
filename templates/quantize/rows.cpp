// SPDX-License-Identifier: Apache-2.0
#include "templates/quantize/rows.hpp"

#include <bit>
#include <cstddef>

#include "templates/attention/scalar_math.hpp"
#include "templates/quantize/kernarg.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

namespace {

constexpr std::uint32_t raw_buffer = 0x00020000; // CDNA4 ISA, buffer resource descriptor: bounds in bytes

} // namespace

RowShape::RowShape(std::int64_t d) : dim(static_cast<unsigned>(d)) {
    if (dim == 256) {
        chunks = 2;
    } else {
        chunks = dim % 3 == 0 ? 3 : 1;
    }
    lane_bits = static_cast<unsigned>(std::countr_zero(dim / chunks / 8));
}

RowRegisters allocate_rows(SAllocator& s, VAllocator& v, const RowShape& shape) {
    RowRegisters r;
    r.kernarg = s.allocate("sKernarg", 2, 2, "kernel-argument block");
    r.group = s.allocate("sGroup", 3, 1, "workgroup of the head, head, batch entry");
    r.pointers = s.allocate("sPointers", 8, 4, "kernel arguments 0..31");
    r.x = s.alias("sX", r.pointers.sub(0, 2), "x; then the head's first row");
    r.codes = s.alias("sCodes", r.pointers.sub(2, 2), "codes; then the head's first row");
    r.mean = s.alias("sMean", r.pointers.sub(4, 2), "mean keys");
    r.report = s.alias("sReport", r.pointers.sub(6, 2), "report");
    r.strides = s.allocate("sStrides", 8, 4, "batch and head strides of x and codes, bytes");
    r.shape = s.allocate("sShape", 4, 4, "kernel arguments 64..79");
    r.x_row = s.alias("sXRow", r.shape.sub(0, 1), "row stride of x, bytes");
    r.codes_row = s.alias("sCodesRow", r.shape.sub(1, 1), "row stride of codes");
    r.rows = s.alias("sRows", r.shape.sub(2, 1), "rows of a head");
    r.heads = s.alias("sHeads", r.shape.sub(3, 1), "heads");
    r.scale = s.allocate("sScale", 8, 4, "kernel arguments 80..111");
    r.multiplier = s.alias("sMultiplier", r.scale.sub(0, 1), "factor of the values");
    r.descale = s.alias("sDescale", r.scale.sub(1, 1), "descale");
    r.limit = s.alias("sLimit", r.scale.sub(2, 1), "largest magnitude with the unit as descale");
    r.per_call = s.alias("sPerCall", r.scale.sub(3, 1), "1: scale of this call");
    r.norm = s.alias("sNorm", r.scale.sub(4, 1), "norm of the rotation");
    r.step = s.alias("sStep", r.scale.sub(5, 1), "rows from a workgroup's tile to its next one");
    r.parts = s.alias("sParts", r.scale.sub(6, 1), "partial sums of a head");
    r.inverse_rows = s.alias("sInverseRows", r.scale.sub(7, 1), "1 / rows");
    r.wave = s.allocate("sWave", 1, 1, "wave of the workgroup");
    r.row = s.allocate("sRow", 1, 1, "first row of the wave's tile");
    r.left = s.allocate("sLeft", 1, 1, "rows from there on");
    r.buffer = s.allocate("sBuffer", 4, 4, "descriptor of the tile's rows of x");
    r.out = s.allocate("sOut", 4, 4, "descriptor of the output");
    r.mask = s.allocate("sMask", 2, 2, "lane mask");
    r.t = s.allocate("sT", 8, 4, "scratch");
    r.lane = v.allocate("vLane", 1, 1, "lane (as launched: work-item)");
    r.coordinate = v.allocate("vPlace", 1, 1, "place of the lane in its row");
    r.lane_row = v.allocate("vRow", 1, 1, "row of the lane in a group of rows");
    r.address = v.allocate("vAddress", 1, 1, "of the lane's first chunk in the tile");
    r.out_address = v.allocate("vOutAddress", 1, 1, "the same in the output");
    r.group_address = v.allocate("vGroupAddress", 1, 1, "in the group of rows at hand");
    r.vt = v.allocate("vT", 4, 2, "scratch");
    r.raw = v.allocate("vRaw", 4 * shape.chunks * shape.groups(), 2, "the tile, packed BF16");
    r.value = v.allocate("vValue", shape.values(), 2, "values of one row");
    return r;
}

void emit_start(Emitter& e, const RowRegisters& r, const RowShape& shape, LanePlaces places) {
    e.s_load(r.pointers, r.kernarg, offsetof(Kernarg, x));
    e.s_load(r.strides, r.kernarg, offsetof(Kernarg, x_batch));
    e.s_load(r.shape, r.kernarg, offsetof(Kernarg, x_row));
    e.s_load(r.scale, r.kernarg, offsetof(Kernarg, multiplier));
    e.v_lshrrev_b32(r.vt[0], 6, r.lane);
    e.v_readfirstlane_b32(r.wave, r.vt[0], "wave");
    e.v_and_b32(r.lane, 63, r.lane);
    e.v_lshrrev_b32(r.lane_row, shape.lane_bits, r.lane);
    e.v_and_b32(r.coordinate, shape.lanes() - 1, r.lane);
    if (places == LanePlaces::butterfly && shape.lane_bits > 2) {
        e.remark("lane = xor of {1, 2, 7, 15} over the place's bits: place = l ^ (l/2 & 6) ^ (l/4 & 1)");
        e.v_lshrrev_b32(r.vt[0], 1, r.coordinate);
        e.v_and_b32(r.vt[0], 6, r.vt[0]);
        e.v_lshrrev_b32(r.vt[1], 2, r.coordinate);
        e.v_and_b32(r.vt[1], 1, r.vt[1]);
        e.v_xor_b32(r.coordinate, r.coordinate, r.vt[0]);
        e.v_xor_b32(r.coordinate, r.coordinate, r.vt[1]);
    }
    e.s_mov_b32(r.buffer[3], Literal{raw_buffer}, "raw buffer, bounds in bytes");
    e.s_mov_b32(r.out[3], Literal{raw_buffer});
    e.s_lshl_b32(r.row, r.group[0], 7);
    static_assert(workgroup_rows == 1 << 7 && wave_rows == 1 << 5);
    e.s_lshl_b32(r.t[0], r.wave, 5);
    e.s_add_u32(r.row, r.row, r.t[0], "first row of the wave");
    attention::add_product64(e, r.x, r.group[2], r.strides.sub(0, 2), r.t.sub(0, 3), "+ batch * stride");
    attention::add_product64(e, r.x, r.group[1], r.strides.sub(2, 2), r.t.sub(0, 3), "+ head * stride");
    attention::add_product64(e, r.codes, r.group[2], r.strides.sub(4, 2), r.t.sub(0, 3),
                             "codes: + batch * stride");
    attention::add_product64(e, r.codes, r.group[1], r.strides.sub(6, 2), r.t.sub(0, 3), "+ head * stride");
    e.v_lshlrev_b32(r.vt[0], 4, r.coordinate, "16 bytes per chunk");
    e.v_mul_lo_u32(r.address, r.lane_row, r.x_row);
    e.v_add_u32(r.address, r.address, r.vt[0]);
}

void emit_tiles(Emitter& e, const RowRegisters& r, const RowShape& shape, const std::string& label,
                const std::function<void(Emitter&)>& before_groups,
                const std::function<void(Emitter&, unsigned)>& body) {
    const std::string loop = ".L" + label + "_tile", end = ".L" + label + "_end";
    e.label(loop);
    e.s_sub_i32(r.left, r.rows, r.row, "rows from here on");
    e.s_cmp("gt_i32", r.left, 0);
    e.s_cbranch_scc0(end);
    const SReg base = r.buffer.sub(0, 2);
    e.s_mov_b64(base, r.x);
    attention::add_rows64(e, base, r.row, r.x_row, r.t.sub(0, 2), "+ row * stride");
    e.s_min_i32(r.t[0], r.left, wave_rows);
    attention::record_bytes(e, r.buffer[2], r.t[0], r.x_row, shape.row_bytes(), r.t[1]);
    e.s_lshl_b32(r.t[0], r.x_row, 6 - shape.lane_bits, "stride of a group of rows");
    for (unsigned group = 0; group < shape.groups(); ++group) {
        const VReg address = group == 0 ? r.address : r.group_address;
        if (group > 0)
            e.v_add_u32(r.group_address, r.t[0], group == 1 ? r.address : r.group_address);
        for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
            e.buffer_load_dwordx4(r.raw.sub(4 * (group * shape.chunks + chunk), 4), address, r.buffer, 0,
                                  chunk * shape.chunk_stride(2),
                                  chunk == 0 ? "rows " + std::to_string(group * shape.rows_at_once()) + ".."
                                             : "");
    }
    before_groups(e);
    for (unsigned group = 0; group < shape.groups(); ++group) {
        e.remark("-- rows " + std::to_string(group * shape.rows_at_once()) + " to " +
                 std::to_string((group + 1) * shape.rows_at_once() - 1));
        e.s_sub_i32(r.t[0], r.left, group * shape.rows_at_once());
        e.v_cmp("gt_i32", r.mask, r.t[0], r.lane_row, "rows that exist");
        e.s_mov_b64(exec, r.mask);
        body(e, group);
    }
    e.s_mov_b64(exec, -1);
    e.s_add_u32(r.row, r.row, r.step);
    e.s_branch(loop);
    e.label(end);
}

void emit_unpack(Emitter& e, const RowRegisters& r, const RowShape& shape, unsigned group) {
    for (unsigned dword = 0; dword < 4 * shape.chunks; ++dword) {
        const VReg packed = r.raw[4 * shape.chunks * group + dword];
        e.v_lshlrev_b32(r.value[2 * dword], 16, packed);
        e.v_and_b32(r.value[2 * dword + 1], Literal{0xffff0000}, packed);
    }
}

void emit_largest_magnitude(Emitter& e, VReg largest, const std::vector<VReg>& values) {
    for (std::size_t i = 0; i < values.size(); i += 2) {
        const Source a = Source(values[i]).magnitude(), b = Source(values[i + 1]).magnitude();
        e.v_maximum3_f32(largest, a, b, i == 0 ? b : Source(largest));
    }
}

void emit_descriptor(Emitter& e, SReg out, SReg pointer, unsigned bytes) {
    e.s_mov_b64(out.sub(0, 2), pointer);
    e.s_mov_b32(out[2], bytes);
}

} // namespace zyfa::templates::quantize
