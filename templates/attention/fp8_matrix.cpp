// SPDX-License-Identifier: Apache-2.0
// Memory to LDS, LDS to operand fragments, the two matrix products and the row sums.
#include "templates/attention/fp8_blocks.hpp"

#include "templates/attention/scalar_math.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

void emit_fetch_block(Emitter& e, const Fp8Kernel& k) {
    const SReg t = k.work.scratch[0], rows = k.work.scratch[1];
    struct Ring {
        KvLayout layout;
        SReg base, resource, row_stride;
        VReg offset;
        const char* name;
    };
    const Fp8Geometry& g = k.geometry;
    for (const Ring& ring : {Ring{g.k(), k.wave.dma_k, k.work.k_resource, k.work.k_row, k.v.k_fetch, "K"},
                             Ring{g.v(), k.wave.dma_v, k.work.v_resource, k.work.v_row, k.v.v_fetch, "V"}}) {
        e.s_mul_i32(t, k.wave.slot_in, ring.layout.bytes());
        e.s_add_u32(m0, ring.base, t);
        e.buffer_load_dwordx4_lds(ring.offset, ring.resource, 0, 0, {},
                                  std::string(ring.name) + " to LDS, 128 bytes of 8 keys");
        e.s_lshl_b32(rows, ring.row_stride, 6, "64 keys on");
        e.s_add_u32(m0, m0, ring.layout.chunk_bytes());
        e.buffer_load_dwordx4_lds(ring.offset, ring.resource, rows, 0, {}, "of the next 64");
        if (ring.layout.has_half_chunk()) {
            e.s_add_u32(m0, m0, ring.layout.chunk_bytes());
            e.buffer_load_dwordx4_lds(k.v.k_fetch_half, ring.resource, 0, 0, {},
                                      "the last 64 bytes of 16 keys");
        }
    }
    e.s_add_u32(k.wave.slot_in, k.wave.slot_in, 1);
    e.s_cmp("eq_u32", k.wave.slot_in, G::slots);
    e.s_cselect_b32(k.wave.slot_in, 0, k.wave.slot_in);
    // Here, where the wave waits for the matrix pipe anyway, rather than in the softmax phase, which has no
    // time to spare.
    emit_advance_buffers(e, k.work, k.options, g.qk_row_bytes(), g.v_row_bytes(), k.work.scratch.sub(0, 3),
                         k.options.key_step());
}

void emit_row_sums(Emitter& e, const Fp8Kernel& k) {
    for (unsigned half = 0; half < G::halves; ++half)
        e.mfma(mfma_16x16x128_fp4_fp8, k.v.gap(half).sub(0, 4), k.v.selector, k.v.probabilities(half), 0,
               "row sums of P, keys " + std::to_string(64 * half) + "..");
}

void emit_add_row_sums(Emitter& e, const Fp8Kernel& k) {
    const VReg scale0 = k.v.t[0], scale1 = k.v.t[1];
    e.v_lshlrev_b32(scale0, 23, k.v.scales, "E8M0 to FP32: the exponent field");
    e.v_lshlrev_b32(scale1, 15, k.v.scales);
    e.v_and_b32(scale0, Literal{0x7f800000}, scale0);
    e.v_and_b32(scale1, Literal{0x7f800000}, scale1);
    e.v_fma_f32(k.v.sum, k.v.gap(0)[0], scale0, k.v.sum, "l += 2^-o * row sum of the rounded probabilities");
    e.v_fma_f32(k.v.sum, k.v.gap(1)[0], scale1, k.v.sum);
}

namespace {

struct PvStep {
    unsigned half, tile;
};
PvStep pv_step(PvOrder8 order, unsigned n, unsigned column_tiles) {
    return order == PvOrder8::keys_outer ? PvStep{n / column_tiles, n % column_tiles}
                                         : PvStep{n % G::halves, n / G::halves};
}

struct QkStep {
    unsigned tile, step;
};
/// MFMA number n of QK: tiles in pairs, so that consecutive MFMAs have different accumulators; or one after
/// the other (an accumulator is forwarded to the next MFMA of the same kind), so that the first are finished
/// early.
QkStep qk_step(const Fp8Kernel& k, unsigned n) {
    const Fp8Geometry& g = k.geometry;
    if (k.probability.matrix_work == MatrixWork::maximum)
        return {n / g.qk_steps(), n % g.qk_steps()};
    const unsigned of_pair = n % (2 * g.qk_steps());
    return {n / (2 * g.qk_steps()) * 2 + of_pair % 2, of_pair / 2};
}

} // namespace

void emit_pv(Emitter& e, const Fp8Kernel& k, PvOrder8 order, bool fresh) {
    const unsigned tiles = k.geometry.column_tiles();
    for (unsigned n = 0; n < k.geometry.pv_products(); ++n) {
        const auto [half, tile] = pv_step(order, n, tiles);
        const VReg o = k.v.output(tile);
        e.mfma_scale(mfma_scale_32x32x64_fp8, o, k.v.fragment(half * tiles + tile), k.v.probabilities(half),
                     fresh && half == 0 ? Source(0) : Source(o), k.v.scales, 2, k.v.scales, half,
                     "O^T columns " + std::to_string(32 * tile) + ".. += 2^-o V^T P^T, keys " +
                         std::to_string(64 * half) + "..");
    }
}

void emit_qk(Emitter& e, const Fp8Kernel& k) {
    for (unsigned n = 0; n < k.geometry.qk_products(); ++n) {
        const auto [tile, step] = qk_step(k, n);
        const VReg d = k.v.scores(tile);
        const VReg key = k.v.fragment(k.geometry.k_fragment_slot(n)), query = k.v.q.sub(8 * step, 8);
        const std::string note =
            "S^T keys " + std::to_string(32 * tile) + ".. += K Q^T, d " + std::to_string(64 * step) + "..";
        if (k.folds())
            e.mfma_scale(mfma_scale_32x32x64_fp8, d, key, query, step == 0 ? Source(k.v.start) : Source(d),
                         k.v.scales, 2, k.v.scales, 3, note);
        else
            e.mfma(mfma_32x32x64_fp8, d, key, query, step == 0 ? Source(0) : Source(d), note);
    }
}

void emit_read_k(Emitter& e, const Fp8Kernel& k, unsigned j) {
    const auto [tile, step] = qk_step(k, j);
    const VReg fragment = k.v.fragment(k.geometry.k_fragment_slot(j));
    for (unsigned half = 0; half < 2; ++half)
        e.ds_read_b128(fragment.sub(4 * half, 4), k.v.k_read,
                       k_read_constant_fp8(k.geometry.k(), tile, step, half),
                       "K keys " + std::to_string(32 * tile) + "..+31, d " +
                           std::to_string(64 * step + 32 * half) + "..");
}

void emit_read_v(Emitter& e, const Fp8Kernel& k, unsigned i) {
    const unsigned half = i / k.geometry.column_tiles(), tile = i % k.geometry.column_tiles();
    for (unsigned pair = 0; pair < 4; ++pair)
        e.ds_read_b64_tr_b8(k.v.fragment(i).sub(2 * pair, 2), k.v.v_read,
                            v_read_constant_fp8(k.geometry.v(), tile, half, pair),
                            "V^T columns " + std::to_string(32 * tile) + "..+31, keys " +
                                std::to_string(64 * half + 16 * pair) + "..");
}

} // namespace zyfa::templates::attention
