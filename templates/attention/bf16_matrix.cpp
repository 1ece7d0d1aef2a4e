// SPDX-License-Identifier: Apache-2.0
// Memory to LDS, LDS to operand fragments, and the two matrix products.
#include "templates/attention/bf16_blocks.hpp"

#include <vector>

#include "templates/attention/scalar_math.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;

namespace {

void emit_fetch(Emitter& e, const KvLayout& layout, SReg base, SReg resource, SReg slot, VReg offset,
                SReg scratch, const std::string& name) {
    e.s_mul_i32(scratch, slot, layout.bytes());
    e.s_add_u32(m0, base, scratch);
    for (unsigned chunk = 0; chunk < layout.chunks(); ++chunk) {
        // The immediate moves both the memory and the LDS address (AITER's kernels rely on it).
        if (chunk > 0)
            e.s_add_u32(m0, m0, layout.chunk_bytes() - 128);
        e.buffer_load_dwordx4_lds(offset, resource, 0, 128 * chunk, {},
                                  name + " to LDS, bytes " + std::to_string(128 * chunk) + ".. of 8 keys");
    }
}

} // namespace

void emit_fetch_k(Emitter& e, const Bf16Kernel& k, SReg slot) {
    emit_fetch(e, k.geometry.k(), k.wave.dma_k, k.work.k_resource, slot, k.v.k_fetch, k.work.scratch[0], "K");
}

void emit_fetch_v(Emitter& e, const Bf16Kernel& k, SReg resource, SReg slot) {
    emit_fetch(e, k.geometry.v(), k.wave.dma_v, resource, slot, k.v.v_fetch, k.work.scratch[0], "V");
}

void emit_fetch_block(Emitter& e, const Bf16Kernel& k) {
    emit_fetch_k(e, k, k.wave.slot_in);
    emit_fetch_v(e, k, k.work.v_resource, k.wave.slot_in);
    e.s_add_u32(k.wave.slot_in, k.wave.slot_in, 1);
    e.s_cmp("eq_u32", k.wave.slot_in, G::slots);
    e.s_cselect_b32(k.wave.slot_in, 0, k.wave.slot_in);
}

namespace {

/// V fragment that MFMA number n of PV uses.
unsigned pv_fragment(const Bf16Geometry& g, PvOrder order, unsigned n) {
    return order == PvOrder::keys_outer ? n : n % G::pv_steps * g.column_tiles() + n / G::pv_steps;
}

} // namespace

void emit_pv(Emitter& e, const Bf16Kernel& k, PvOrder order, bool fresh) {
    const Bf16Geometry& g = k.geometry;
    for (unsigned n = 0; n < g.pv_products(); ++n) {
        const unsigned i = pv_fragment(g, order, n), step = i / g.column_tiles(), tile = i % g.column_tiles();
        const VReg o = k.v.output(tile);
        e.mfma(mfma_32x32x16_bf16, o, k.v.fragment(i), k.v.probabilities(step),
               fresh && step == 0 ? Source(0) : Source(o),
               "O^T columns " + std::to_string(32 * tile) + ".. += V^T P^T, keys " +
                   std::to_string(16 * step) + "..");
    }
}

namespace {

struct QkStep {
    unsigned tile, step;
};
/// MFMA number n of QK. The two key tiles alternate, the first one two steps ahead: its scores are done three
/// MFMAs before the phase ends, so that the softmax phase can begin on them without waiting.
QkStep qk_step(const Bf16Geometry& g, unsigned n) {
    constexpr unsigned lead = 2;
    const unsigned last = g.qk_products();
    static_assert(G::key_tiles == 2);
    if (n < lead)
        return {0, n};
    if (n >= last - lead)
        return {1, n - g.qk_steps()};
    return n % 2 == 0 ? QkStep{0, n / 2 + 1} : QkStep{1, n / 2 - 1};
}

/// K fragments in the order in which their registers get free.
std::vector<unsigned> k_read_order(const Bf16Geometry& g, PvOrder order) {
    const unsigned spare = g.pv_products();
    std::vector<unsigned> out;
    for (unsigned j = 0; j < g.qk_products(); ++j) // in spare registers that no earlier fragment of K uses
        if (g.k_fragment_slot(j) >= spare && j < g.fragments())
            out.push_back(j);
    for (unsigned n = 0; n < g.pv_products(); ++n)
        for (unsigned j = 0; j < g.qk_products(); ++j)
            if (g.k_fragment_slot(j) == pv_fragment(g, order, n))
                out.push_back(j);
    for (unsigned j = g.fragments(); j < g.qk_products(); ++j)
        out.push_back(j);
    return out;
}

} // namespace

void emit_qk(Emitter& e, const Bf16Kernel& k) {
    const Bf16Geometry& g = k.geometry;
    for (unsigned n = 0; n < g.qk_products(); ++n) {
        const auto [tile, step] = qk_step(g, n);
        const VReg d = k.v.scores(tile);
        e.mfma(mfma_32x32x16_bf16, d, k.v.fragment(g.k_fragment_slot(n)), k.v.q.sub(4 * step, 4),
               step == 0 ? Source(0) : Source(d),
               "S^T keys " + std::to_string(32 * tile) + ".. += K Q^T, d " + std::to_string(16 * step) +
                   "..");
    }
}

void emit_read_k(Emitter& e, const Bf16Kernel& k, PvOrder order, unsigned first, unsigned count) {
    const Bf16Geometry& g = k.geometry;
    const std::vector<unsigned> fragments = k_read_order(g, order);
    for (unsigned n = first; n < first + count; ++n) {
        const unsigned j = fragments.at(n);
        const auto [tile, step] = qk_step(g, j);
        e.ds_read_b128(k.v.fragment(g.k_fragment_slot(j)), k.v.k_read, k_read_constant(g.k(), tile, step),
                       "K keys " + std::to_string(32 * tile) + "..+31, d " + std::to_string(16 * step) +
                           "..");
    }
}

void emit_read_v(Emitter& e, const Bf16Kernel& k) {
    const Bf16Geometry& g = k.geometry;
    for (unsigned i = 0; i < g.pv_products(); ++i) {
        const unsigned step = i / g.column_tiles(), tile = i % g.column_tiles();
        for (unsigned half = 0; half < 2; ++half)
            e.ds_read_b64_tr_b16(k.v.fragment(i).sub(2 * half, 2), k.v.v_read,
                                 v_read_constant(g.v(), tile, step, half),
                                 "V^T columns " + std::to_string(32 * tile) + "..+31, keys " +
                                     std::to_string(16 * step + 8 * half) + "..");
    }
}

} // namespace zyfa::templates::attention
