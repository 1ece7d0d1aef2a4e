// SPDX-License-Identifier: Apache-2.0
#include "templates/quantize/transform.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "templates/attention/scalar_math.hpp"
#include "templates/quantize/kernarg.hpp"

namespace zyfa::templates::quantize {

using namespace isa;

namespace {

Literal literal(double value) {
    return {std::bit_cast<std::uint32_t>(static_cast<float>(value))};
}

/// (a, b) -> (a + b, a - b), in names: b's sum goes to the spare register, which b's becomes.
void butterfly(Emitter& e, VReg& a, VReg& b, VReg& spare) {
    e.v_sub_f32(spare, a, b);
    e.v_add_f32(a, a, b);
    std::swap(b, spare);
}

/// x C with the orthonormal DCT-II C[k][n] of size 3 (paper Section V-E), in place.
void cosine_3(Emitter& e, VReg x0, VReg x1, VReg x2, SReg c, VReg a, VReg t) {
    e.v_mul_f32(a, c[0], x0, "x0 / sqrt 3");
    e.v_mul_f32(t, c[1], x1, "x1 / sqrt 2");
    e.v_fma_f32(x1, x2, c[3], a, "n = 1: - 2 x2 / sqrt 6");
    e.v_fma_f32(a, x2, c[2], a, "n = 0, 2: + x2 / sqrt 6");
    e.v_add_f32(x0, a, t);
    e.v_sub_f32(x2, a, t);
}

} // namespace

TransformRegisters allocate_transform(SAllocator& s, VAllocator& v, const RowShape& shape, const Kind& kind) {
    TransformRegisters t;
    if (kind.smooth)
        t.mean = v.allocate("vMean", shape.values(), 2, "mean key of the lane's elements");
    if (!kind.rotate)
        return t;
    t.signs = v.allocate("vSigns", 4 * shape.chunks, 2, "random signs of the lane's elements, packed");
    t.turn = v.allocate("vTurn", shape.lane_bits, 1, "per bit of the place: -1 if set");
    t.flip = v.allocate("vFlip", 1, 1, "product of vTurn");
    if (shape.chunks == 3)
        t.thirds = s.allocate("sThirds", 4, 1, "DCT-II of size 3");
    return t;
}

void emit_transform_start(Emitter& e, const RowRegisters& r, const RowShape& shape, const Kind& kind,
                          const TransformRegisters& t) {
    const VReg address = r.vt[0];
    if (kind.rotate) {
        e.remark("---- signs of the rotation: a row of BF16 zeros in the kernel arguments");
        e.s_mov_b64(r.buffer.sub(0, 2), r.kernarg);
        e.s_mov_b32(r.buffer[2], static_cast<unsigned>(offsetof(Kernarg, signs)) + shape.row_bytes());
        e.v_lshlrev_b32(address, 4, r.coordinate);
        for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
            e.buffer_load_dwordx4(t.signs.sub(4 * chunk, 4), address, r.buffer, 0,
                                  static_cast<unsigned>(offsetof(Kernarg, signs)) +
                                      chunk * shape.chunk_stride(2));
        for (unsigned bit = 0; bit < shape.lane_bits; ++bit) {
            e.v_lshlrev_b32(t.turn[bit], 31 - bit, r.coordinate);
            e.v_and_b32(t.turn[bit], Literal{0x80000000}, t.turn[bit]);
            e.v_or_b32(t.turn[bit], Float{1.0f}, t.turn[bit]);
            if (bit == 1)
                e.v_mul_f32(t.flip, t.turn[0], t.turn[1]);
            else if (bit > 1)
                e.v_mul_f32(t.flip, t.flip, t.turn[bit]);
        }
        if (shape.chunks == 3) {
            e.s_mov_b32(t.thirds[0], literal(1 / std::sqrt(3.0)));
            e.s_mov_b32(t.thirds[1], literal(1 / std::sqrt(2.0)));
            e.s_mov_b32(t.thirds[2], literal(1 / std::sqrt(6.0)));
            e.s_mov_b32(t.thirds[3], literal(-2 / std::sqrt(6.0)));
        }
    }
    if (!kind.smooth)
        return;
    e.remark("---- mean key of the head");
    emit_descriptor(e, r.buffer, r.mean, 4 * shape.dim);
    e.s_mul_i32(r.t[0], r.group[2], r.heads, "batch entry * heads + head");
    e.s_add_u32(r.t[0], r.t[0], r.group[1]);
    e.s_mov_b32(r.t[1], 4 * shape.dim);
    attention::add_rows64(e, r.buffer.sub(0, 2), r.t[0], r.t[1], r.t.sub(2, 2), "+ rows of the mean");
    e.v_lshlrev_b32(address, 5, r.coordinate);
    for (unsigned chunk = 0; chunk < shape.chunks; ++chunk)
        for (unsigned half = 0; half < 2; ++half)
            e.buffer_load_dwordx4(t.mean.sub(8 * chunk + 4 * half, 4), address, r.buffer, 0,
                                  chunk * shape.chunk_stride(4) + 16 * half);
    if (kind.rotate)
        for (unsigned i = 0; i < shape.values(); ++i) {
            const VReg sign = t.signs[i / 2];
            if (i % 2 == 0) {
                e.v_lshlrev_b32(address, 16, sign);
                e.v_xor_b32(t.mean[i], t.mean[i], address);
            } else {
                e.v_and_b32(address, Literal{0xffff0000}, sign);
                e.v_xor_b32(t.mean[i], t.mean[i], address);
            }
        }
}

std::vector<VReg> emit_transform(Emitter& e, const RowRegisters& r, const RowShape& shape, const Kind& kind,
                                 const TransformRegisters& t, unsigned group) {
    if (kind.rotate)
        for (unsigned dword = 0; dword < 4 * shape.chunks; ++dword) {
            const VReg packed = r.raw[4 * shape.chunks * group + dword];
            e.v_xor_b32(packed, packed, t.signs[dword], dword == 0 ? "random signs" : "");
        }
    emit_unpack(e, r, shape, group);
    std::vector<VReg> values;
    for (unsigned i = 0; i < shape.values(); ++i) {
        values.push_back(r.value[i]);
        if (kind.smooth)
            e.v_sub_f32(r.value[i], r.value[i], t.mean[i], i == 0 ? "minus the mean key" : "");
    }
    if (!kind.rotate)
        return values;

    if (shape.chunks == 3)
        for (unsigned i = 0; i < 8; ++i)
            cosine_3(e, values[i], values[8 + i], values[16 + i], t.thirds, r.vt[0], r.vt[1]);
    VReg spare = r.vt[0];
    e.remark("Hadamard within the lane");
    for (unsigned distance = 1; distance < (shape.chunks == 2 ? 16u : 8u); distance *= 2)
        for (unsigned i = 0; i < shape.values(); ++i)
            if ((i & distance) == 0)
                butterfly(e, values[i], values[i + distance], spare);
    e.remark("across lanes: self + turn * other is (1 1; -1 1) on the place's bit, which is Hadamard's "
             "(1 1; 1 -1) with the sign of vFlip");
    constexpr Dpp other[] = {Dpp::xor_1, Dpp::xor_2, Dpp::xor_7, Dpp::xor_15};
    for (unsigned bit = 0; bit < shape.lane_bits; ++bit)
        for (VReg value : values)
            e.v_fmac_f32_dpp(value, value, t.turn[bit], other[bit]);
    return values;
}

} // namespace zyfa::templates::quantize
