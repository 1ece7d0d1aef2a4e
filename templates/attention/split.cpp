// SPDX-License-Identifier: Apache-2.0
#include "templates/attention/split.hpp"

#include <algorithm>
#include <cstddef>
#include <numbers>

#include "templates/attention/kernarg.hpp"
#include "templates/attention/scalar_math.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/waits.hpp"

namespace zyfa::templates::attention {

using namespace isa;

namespace {

/// base += index * stride
void add_constant_product64(Emitter& e, SReg base, SReg index, unsigned stride, SReg scratch) {
    e.s_mul_i32(scratch[0], index, stride);
    e.s_mov_b32(scratch[1], stride);
    e.s_mul_hi_u32(scratch[1], index, scratch[1]);
    e.s_add_u32(base[0], base[0], scratch[0]);
    e.s_addc_u32(base[1], base[1], scratch[1]);
}

} // namespace

void emit_store_part(Emitter& e, const WorkRegisters& w, const WaveRegisters& wave, const ForwardOptions& o,
                     SReg row_buffer, VReg arguments, const PartRegisters& part) {
    const SReg t = w.scratch, value = t[0], head = t[1], index = t[2], tile = t[3], partner = t[4];
    const SReg base = row_buffer.sub(0, 2);
    auto argument = [&](SReg d, std::size_t offset) {
        e.v_readlane_b32(d, arguments, static_cast<unsigned>(offset / 4));
    };
    argument(value, offsetof(Kernarg, heads_q));
    argument(base[0], offsetof(Kernarg, workspace));
    argument(base[1], offsetof(Kernarg, workspace) + 4);
    e.s_mov_b32(row_buffer[2], part_bytes);
    if (o.two_heads) {
        e.s_lshl_b32(head, w.tile[2], 1, "head of this wave: waves 4-7 take the second one");
        e.s_lshr_b32(index, wave.index, 2);
        e.s_add_u32(head, head, index);
    } else {
        e.s_mov_b32(head, w.tile[2]);
    }
    e.s_lshr_b32(index, w.tile[3], o.split_bits,
                 "(((batch * heads + head) * pairs + pair) * slots + slot) * waves + wave");
    e.s_mul_i32(index, index, value);
    e.s_add_u32(index, index, head);
    e.s_mul_i32(index, index, w.pairs);
    e.s_lshr_b32(tile, w.tile[1], o.tile_row_bits());
    const SReg slot = t[0];
    if (o.causal) {
        e.s_sub_u32(partner, w.last_tile, tile);
        e.s_min_u32(head, tile, partner, "the pair");
        e.s_add_u32(index, index, head);
        e.s_mul_i32(index, index, part_slots(o));
        e.s_and_b32(slot, w.tile[3], (1 << o.split_bits) - 1);
        e.s_cmp("gt_u32", tile, partner, "second tile of the pair: one slot on");
        e.s_addc_u32(slot, slot, 0);
    } else {
        e.s_add_u32(index, index, tile);
        e.s_mul_i32(index, index, part_slots(o));
        e.s_and_b32(slot, w.tile[3], (1 << o.split_bits) - 1);
    }
    e.s_add_u32(index, index, slot);
    argument(value, offsetof(Kernarg, tile_waves));
    e.s_mul_i32(index, index, value);
    e.s_lshr_b32(tile, wave.row, 5);
    e.s_add_u32(index, index, tile);
    add_constant_product64(e, base, index, part_bytes, t.sub(4, 2));

    const VReg lane = part.scratch[0], address = part.scratch[1];
    e.v_lshl_add_u32(lane, part.lane_key, 3, part.lane_row, "lane");
    e.v_lshlrev_b32(address, 4, lane);
    for (unsigned piece = 0; piece < 16; ++piece) {
        if (piece > 0 && piece % 4 == 0)
            e.v_add_u32(address, 4 * part_piece_bytes, address);
        e.buffer_store_dwordx4(
            part.accumulator.sub(4 * piece, 4), address, row_buffer, 0, part_piece_bytes * (piece % 4),
            piece == 0 ? "accumulator, columns 8 n + 4 (lane / 32) .. of row lane % 32" : "");
    }
    e.v_lshlrev_b32(address, 2, part.lane_row);
    e.v_add_u32(address, part_maximum, address);
    e.buffer_store_dword(part.maximum, address, row_buffer, 0, 0, "both lanes of a row store the same");
    e.buffer_store_dword(part.sum, address, row_buffer, 0, part_sum - part_maximum);
}

namespace {

struct Merge {
    // Scalar
    SReg kernarg, group, sizes, outputs, workspace, wave, diagonal, row, buffer, parts, stride, mask, t;
    // Of `sizes`
    SReg seq_q, seq_kv, score_scale, pairs, last_tile;
    // Of `outputs`, in the order of Kernarg
    SReg lse, lse_batch, lse_head, o_batch, o_head, o_row, output_scale, o;
    // Vector
    VReg lane_row, half, maxima, sums, values, result, highest, total, address, a, b, scratch;
};

Merge allocate(SAllocator& s, VAllocator& v, unsigned parts) {
    Merge m;
    m.kernarg = s.allocate("sKernarg", 2, 2, "kernel-argument block");
    m.group = s.allocate("sGroup", 3, 1, "tile of 32 rows, query head, batch entry");
    m.sizes = s.allocate("sSizes", 8, 4, "kernel arguments 84..115");
    m.seq_q = s.alias("sSeqQ", m.sizes[0], "query rows");
    m.seq_kv = s.alias("sSeqKv", m.sizes[1], "keys");
    m.score_scale = s.alias("sScale", m.sizes[2], "softmax scale * log2(e)");
    m.pairs = s.alias("sPairs", m.sizes[5], "pairs of query tiles of one head");
    m.last_tile = s.alias("sLastTile", m.sizes[7], "index of the last query tile");
    m.outputs = s.allocate("sOutputs", 16, 4, "kernel arguments 144..207");
    m.lse = s.alias("sLse", m.outputs.sub(0, 2), "LSE");
    m.lse_batch = s.alias("sLseBatch", m.outputs.sub(2, 2), "LSE: batch stride, bytes");
    m.lse_head = s.alias("sLseHead", m.outputs.sub(4, 2), "LSE: head stride");
    m.o_batch = s.alias("sOBatch", m.outputs.sub(6, 2), "O: batch stride");
    m.o_head = s.alias("sOHead", m.outputs.sub(8, 2), "O: head stride");
    m.o_row = s.alias("sORow", m.outputs.sub(10, 1), "O: row stride");
    m.output_scale = s.alias("sOutputScale", m.outputs.sub(11, 1), "descale of V");
    m.o = s.alias("sO", m.outputs.sub(12, 2), "O");
    m.workspace = s.allocate("sWorkspace", 8, 4, "workspace, query heads, tiles of 32 rows, waves of a tile");
    m.buffer = s.allocate("sBuffer", 4, 4, "buffer descriptor");
    m.wave = s.allocate("sWave", 1, 1, "which 16 columns");
    m.diagonal = s.allocate("sDiagonal", 1, 1, "seq_kv - seq_q");
    m.row = s.allocate("sRow", 1, 1, "first row");
    m.parts = s.allocate("sParts", 1, 1, "parts that exist");
    m.stride = s.allocate("sStride", 1, 1, "bytes from a part to the next");
    m.mask = s.allocate("sMask", 2, 2, "lane mask");
    m.t = s.allocate("sT", 12, 4, "scratch");
    m.lane_row = v.allocate("vLaneRow", 1, 1, "row lane % 32 (as launched: work-item id)");
    m.half = v.allocate("vHalf", 1, 1, "lane / 32: which 8 of the 16 columns");
    m.address = v.allocate("vAddress", 1, 1, "of the lane's data in the workspace");
    m.highest = v.allocate("vHighest", 1, 1, "largest maximum");
    m.total = v.allocate("vTotal", 1, 1, "row sum");
    m.a = v.allocate("vA", 1, 1, "scratch");
    m.b = v.allocate("vB", 1, 1, "scratch");
    m.scratch = v.allocate("vT", 2, 2, "scratch");
    m.maxima = v.allocate("vMax", parts, 1, "maximum of each part; then its factor");
    m.sums = v.allocate("vSum", parts, 1, "sum of each part");
    m.result = v.allocate("vO", 8, 2, "8 columns of O");
    m.values = v.allocate("vPart", 8 * parts, 2, "8 columns of each part");
    return m;
}

/// Which parts have blocks of the tile: m.parts of them, `first` on. m.b, m.scratch and m.mask are scratch.
void emit_parts(Emitter& e, const Merge& m, const ForwardOptions& o, SReg blocks, SReg before, SReg all,
                SReg first, VReg lane, SReg t) {
    const int parts = 1 << o.split_bits;
    if (!o.causal) {
        e.s_mov_b32(first, 0);
        e.s_min_u32(m.parts, blocks, parts, "fewer blocks than parts: one each");
        return;
    }
    const SReg end = t[0];
    const VReg product = m.b, begin = m.scratch[0];
    e.s_add_u32(end, before, blocks);
    e.s_cmp("lt_u32", all, parts, "fewer blocks than parts: one each");
    e.s_cselect_b32(all, parts, all);
    e.v_mul_lo_u32(product, lane, all, "lane i: where part i begins");
    e.v_lshrrev_b32(begin, o.split_bits, product);
    e.v_cmp("gt_u32", m.mask, end, begin, "parts that begin before the tile's end ...");
    e.s_and_b32(m.mask[0], m.mask[0], (1 << parts) - 1);
    e.s_bcnt1_i32_b32(m.parts, m.mask[0]);
    e.v_add_u32(product, all, product);
    e.v_lshrrev_b32(begin, o.split_bits, product);
    e.v_cmp("ge_u32", m.mask, before, begin, "... but for those that end before its begin");
    e.s_and_b32(m.mask[0], m.mask[0], (1 << parts) - 1);
    e.s_bcnt1_i32_b32(first, m.mask[0]);
    e.s_sub_u32(m.parts, m.parts, first);
}

void emit_start(Emitter& e, const Merge& m, const ForwardOptions& o) {
    e.remark("---- what the wave merges");
    static_assert(offsetof(Kernarg, seq_kv) == offsetof(Kernarg, seq_q) + 4 &&
                  offsetof(Kernarg, score_scale) == offsetof(Kernarg, seq_q) + 8 &&
                  offsetof(Kernarg, pairs) == offsetof(Kernarg, seq_q) + 20 &&
                  offsetof(Kernarg, last_tile) == offsetof(Kernarg, seq_q) + 28 &&
                  offsetof(Kernarg, tile_waves) == offsetof(Kernarg, workspace) + 16);
    e.s_load(m.sizes, m.kernarg, offsetof(Kernarg, seq_q));
    e.s_load(m.outputs, m.kernarg, offsetof(Kernarg, lse));
    e.s_load(m.workspace, m.kernarg, offsetof(Kernarg, workspace));
    e.v_lshrrev_b32(m.a, 6, m.lane_row);
    e.v_readfirstlane_b32(m.wave, m.a, "wave");
    e.v_and_b32(m.a, 63, m.lane_row);
    e.v_lshrrev_b32(m.half, 5, m.a);
    e.v_and_b32(m.lane_row, 31, m.a);
    e.s_sub_u32(m.diagonal, m.seq_kv, m.seq_q);
    e.s_lshl_b32(m.row, m.group[0], 5);

    const SReg tile = m.t[0], blocks = m.t[1], before = m.t[2], all = m.t[3], first = m.t[8];
    e.s_lshr_b32(tile, m.row, o.tile_row_bits(), "the forward kernel's tile");
    emit_pair_blocks(e, o, tile, m.last_tile, m.seq_q, m.seq_kv, m.diagonal, blocks, before, all,
                     m.t.sub(4, 4));
    emit_parts(e, m, o, blocks, before, all, first, m.a, m.t.sub(4, 1));

    const SReg base = m.buffer.sub(0, 2), index = m.t[1], pair = m.t[2];
    e.s_mul_i32(index, m.group[2], m.workspace[2],
                "(((batch * heads + head) * pairs + pair) * slots + slot) * waves + wave");
    e.s_add_u32(index, index, m.group[1]);
    e.s_mul_i32(index, index, m.pairs);
    if (o.causal) {
        const SReg partner = m.t[3];
        e.s_sub_u32(partner, m.last_tile, tile);
        e.s_min_u32(pair, tile, partner);
        e.s_cmp("gt_u32", tile, partner, "second tile of the pair: one slot on");
        e.s_addc_u32(first, first, 0);
    } else {
        e.s_mov_b32(pair, tile);
    }
    e.s_add_u32(index, index, pair);
    e.s_mul_i32(index, index, part_slots(o));
    e.s_add_u32(index, index, first);
    e.s_mul_i32(index, index, m.workspace[4]);
    e.s_and_b32(pair, m.group[0], o.tile_rows() / 32 - 1, "wave of the forward kernel");
    e.s_add_u32(index, index, pair);
    e.s_mov_b64(base, m.workspace.sub(0, 2));
    add_constant_product64(e, base, index, part_bytes, m.t.sub(4, 2));
    e.s_mul_i32(m.stride, m.workspace[4], part_bytes);
    e.s_sub_u32(m.buffer[2], m.parts, 1);
    e.s_mul_i32(m.buffer[2], m.buffer[2], m.stride);
    e.s_add_u32(m.buffer[2], m.buffer[2], part_bytes);
    e.s_mov_b32(m.buffer[3], Literal{0x00020000}, "raw buffer, bounds in bytes: other parts read as 0");
}

void emit_loads(Emitter& e, const Merge& m, unsigned parts) {
    e.v_lshlrev_b32(m.a, 2, m.lane_row);
    e.v_add_u32(m.a, part_maximum, m.a);
    for (unsigned part = 0; part < parts; ++part) {
        if (part > 0)
            e.v_add_u32(m.a, m.stride, m.a);
        e.buffer_load_dword(m.maxima[part], m.a, m.buffer, 0, 0, "maximum");
        e.buffer_load_dword(m.sums[part], m.a, m.buffer, 0, part_sum - part_maximum, "sum");
    }
    e.s_lshl_b32(m.t[0], m.wave, 11, "piece 2 * wave + lane / 32");
    e.v_lshlrev_b32(m.address, 4, m.lane_row);
    e.v_lshl_add_u32(m.address, m.half, 10, m.address);
    static_assert(part_piece_bytes == 1 << 10);
    e.v_add_u32(m.address, m.t[0], m.address);
    for (unsigned part = 0; part < parts; ++part) {
        if (part > 0)
            e.v_add_u32(m.address, m.stride, m.address);
        e.buffer_load_dwordx4(m.values.sub(8 * part, 4), m.address, m.buffer, 0, 0, "columns 0-3 of 8");
        e.buffer_load_dwordx4(m.values.sub(8 * part + 4, 4), m.address, m.buffer, 0, part_piece_bytes / 2,
                              "columns 4-7");
    }
}

/// O = sum of factor * part / L with factor = 2^(maximum - highest), L = sum of factor * sum.
void emit_merge(Emitter& e, const Merge& m, const ForwardOptions& o, const PartForm& form, unsigned parts) {
    if (form.unit == PartForm::Unit::significand_of_score_scale) {
        e.s_and_b32(m.score_scale, m.score_scale, Literal{0x007fffff});
        e.s_or_b32(m.score_scale, m.score_scale, Literal{0x3f800000}, "f of the score scale f * 2^e");
    }
    e.v_mov_b32(m.b, Literal{0xff7fffff}, "lowest finite value: the maximum of a part that sees no key");
    for (unsigned part = 1; part < parts; ++part) {
        e.s_cmp("gt_u32", m.parts, part);
        e.s_cselect_b32(m.mask[0], -1, 0);
        e.s_cselect_b32(m.mask[1], -1, 0);
        e.v_cndmask_b32(m.maxima[part], m.b, m.maxima[part], m.mask);
    }
    e.v_mov_b32(m.highest, m.maxima[0]);
    for (unsigned part = 1; part < parts; ++part)
        e.v_max_f32(m.highest, m.highest, m.maxima[part]);
    for (unsigned part = 0; part < parts; ++part) {
        e.v_sub_f32(m.maxima[part], m.maxima[part], m.highest);
        if (form.unit != PartForm::Unit::one)
            e.v_mul_f32(m.maxima[part], m.score_scale, m.maxima[part], "in base-2 units");
        e.v_exp_f32(m.maxima[part], m.maxima[part], part == 0 ? "factor of the part" : "");
    }
    e.v_mul_f32(m.total, m.maxima[0], m.sums[0]);
    for (unsigned part = 1; part < parts; ++part)
        e.v_fma_f32(m.total, m.maxima[part], m.sums[part], m.total);
    for (unsigned part = 0; part < parts; ++part)
        for (unsigned column = 0; column < 8; ++column) {
            const VReg x = m.values[8 * part + column];
            if (part == 0)
                e.v_mul_f32(m.result[column], m.maxima[0], x);
            else
                e.v_fma_f32(m.result[column], m.maxima[part], x, m.result[column]);
        }
    e.v_rcp_f32(m.a, m.total);
    if (form.descale_v)
        e.v_mul_f32(m.a, m.output_scale, m.a, "descale of V");
    if (o.causal) {
        e.s_add_i32(m.t[0], m.row, m.diagonal);
        e.v_add_u32(m.b, m.t[0], m.lane_row, "last key that the row sees; none if negative");
        e.v_cmp("gt_i32", vcc, 0, m.b);
        e.v_cndmask_b32(m.a, m.a, 0, vcc, "row without keys: O = 0 * 0");
    }
    for (unsigned column = 0; column < 8; ++column)
        e.v_mul_f32(m.result[column], m.a, m.result[column]);
    for (unsigned pair = 0; pair < 4; ++pair)
        e.v_cvt_pk_bf16_f32(m.result[pair], m.result[2 * pair], m.result[2 * pair + 1]);
}

/// Buffer descriptor of the rows of one output that exist.
void emit_rows(Emitter& e, const Merge& m, SReg pointer, SReg batch, SReg head, Source row_stride,
               unsigned row_bytes) {
    const SReg base = m.buffer.sub(0, 2), rows = m.t[3];
    e.s_mov_b64(base, pointer);
    add_product64(e, base, m.group[2], batch, m.t.sub(0, 3), "+ batch * stride");
    add_product64(e, base, m.group[1], head, m.t.sub(0, 3), "+ head * stride");
    e.s_mul_i32(m.t[0], m.row, row_stride, "+ row * stride");
    e.s_mul_hi_u32(m.t[1], m.row, row_stride);
    e.s_add_u32(base[0], base[0], m.t[0]);
    e.s_addc_u32(base[1], base[1], m.t[1]);
    e.s_sub_i32(rows, m.seq_q, m.row, "rows that exist");
    e.s_min_i32(rows, rows, 32);
    record_bytes(e, m.buffer[2], rows, row_stride, row_bytes, m.t[0]);
}

void emit_store(Emitter& e, const Merge& m, const ForwardOptions& o, const PartForm& form) {
    e.remark("---- store");
    emit_rows(e, m, m.o, m.o_batch, m.o_head, m.o_row, 256);
    e.s_lshl_b32(m.t[0], m.wave, 5, "16 columns of BF16 per wave");
    e.v_lshlrev_b32(m.b, 4, m.half);
    e.v_add_u32(m.b, m.t[0], m.b);
    lane_row_offset(e, m.address, m.lane_row, m.o_row, m.b, m.scratch, "O");
    e.buffer_store_dwordx4(m.result.sub(0, 4), m.address, m.buffer, 0, 0);
    if (o.lse) {
        e.s_cmp("lg_u32", m.wave, 0, "the first wave stores LSE");
        e.s_cbranch_scc1(".Lmerge_end");
        e.v_log_f32(m.total, m.total);
        if (form.unit != PartForm::Unit::one)
            e.v_mul_f32(m.highest, m.score_scale, m.highest, "in base-2 units");
        e.v_add_f32(m.total, m.total, m.highest, "log2 of the row sum; -inf for a row without keys");
        if (form.sigma != 0)
            e.v_add_f32(m.total, Float{-form.sigma}, m.total);
        e.v_mul_f32(m.total, Float{std::numbers::ln2_v<float>}, m.total, "natural logarithm");
        emit_rows(e, m, m.lse, m.lse_batch, m.lse_head, 4, 4);
        e.v_lshlrev_b32(m.a, 2, m.lane_row);
        e.v_lshl_or_b32(m.a, m.half, 12, m.a);
        e.buffer_store_dword(m.total, m.a, m.buffer, 0, 0, "lanes 32-63 are out of bounds");
        e.label(".Lmerge_end");
    }
    e.s_endpgm();
}

} // namespace

KernelFile make_merge_kernel(const std::string& name, const ForwardOptions& o, const PartForm& form) {
    const unsigned parts = 1u << o.split_bits;
    SAllocator scalars(102);
    VAllocator vectors(256);
    const Merge m = allocate(scalars, vectors, parts);
    KernelFile file;
    file.name = name;
    Emitter e(file.code);
    emit_start(e, m, o);
    emit_loads(e, m, parts);
    emit_merge(e, m, o, form, parts);
    emit_store(e, m, o, form);
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);

    file.workgroup_size = 512;
    file.kernarg_bytes = sizeof(Kernarg);
    file.vgprs = vectors.peak();
    file.sgprs = scalars.peak();
    file.workgroup_yz = true;
    file.register_maps = "// Scalar registers of the merge\n" + register_map(scalars) +
                         "\n// Vector registers of the merge\n" + register_map(vectors);
    file.arguments.push_back({"shape", 0, static_cast<std::uint32_t>(offsetof(Kernarg, lse)), false});
    file.arguments.push_back({"lse", offsetof(Kernarg, lse), 8, true});
    file.arguments.push_back({"output_shape", 152, 40, false});
    file.arguments.push_back({"o", offsetof(Kernarg, o), 8, true});
    file.arguments.push_back({"reserved", 200, 24, false});
    file.arguments.push_back({"workspace", offsetof(Kernarg, workspace), 8, true});
    file.arguments.push_back({"workspace_shape", 232, 24, false});
    return file;
}

} // namespace zyfa::templates::attention
