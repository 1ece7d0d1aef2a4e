// SPDX-License-Identifier: Apache-2.0
// What the stages of the eight-stage pipeline are made of.
#include "templates/attention/bf16_stages.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Bf16Geometry;
static_assert(G::key_tiles == 2 && G::pv_steps == 4);

void emit_read_k_half(Emitter& e, const Bf16StageKernel& k, unsigned half) {
    for (unsigned step = 0; step < k.geometry.qk_steps(); ++step)
        e.ds_read_b128(k.v.fragment(step), k.v.k_read, k_read_constant(k.geometry.k(), half, step),
                       "K keys " + std::to_string(32 * half) + "..+31, d " + std::to_string(16 * step) +
                           "..");
}

void emit_read_v_half(Emitter& e, const Bf16StageKernel& k, unsigned half) {
    const Bf16Geometry& g = k.geometry;
    for (unsigned i = 0; i < g.pv_products() / 2; ++i) {
        const unsigned step = 2 * half + i / g.column_tiles(), tile = i % g.column_tiles();
        for (unsigned part = 0; part < 2; ++part)
            e.ds_read_b64_tr_b16(k.v.fragment(i).sub(2 * part, 2), k.v.v_read,
                                 v_read_constant(g.v(), tile, step, part),
                                 "V^T columns " + std::to_string(32 * tile) + "..+31, keys " +
                                     std::to_string(16 * step + 8 * part) + "..");
    }
}

namespace {

/// slot_before = the ring slot before `slot`.
void emit_slot_before(Emitter& e, SReg slot_before, SReg slot) {
    e.s_sub_u32(slot_before, slot, 1, "V is one block behind K");
    e.s_cmp("eq_u32", slot, 0);
    e.s_cselect_b32(slot_before, G::slots - 1, slot_before);
}

void emit_next_slot(Emitter& e, SReg slot) {
    e.s_add_u32(slot, slot, 1);
    e.s_cmp("eq_u32", slot, G::slots);
    e.s_cselect_b32(slot, 0, slot);
}

} // namespace

void emit_fetch_stage(Emitter& e, const Bf16StageKernel& k) {
    const SReg before = k.work.scratch[1];
    emit_fetch_k(e, k, k.wave.slot_in);
    emit_slot_before(e, before, k.wave.slot_in);
    emit_fetch_v(e, k, k.v_behind, before);
    emit_next_slot(e, k.wave.slot_in);
}

void emit_cursor_work(Emitter& e, const Bf16StageKernel& k) {
    e.s_mov_b64(k.v_behind.sub(0, 2), k.work.v_resource.sub(0, 2), "V to fetch: one block behind K");
    e.s_mov_b32(k.v_behind[2], k.work.v_resource[2]);
    emit_cursor_work(e, static_cast<const Bf16Kernel&>(k));
}

void emit_next_addresses(Emitter& e, const Bf16StageKernel& k) {
    const SReg k_slot = k.work.scratch[4], v_slot = k.work.scratch[5];
    emit_slot_before(e, v_slot, k.wave.slot_out);
    e.s_mul_i32(k_slot, k.wave.slot_out, k.geometry.k().bytes());
    e.s_mul_i32(v_slot, v_slot, k.geometry.v().bytes());
    emit_next_slot(e, k.wave.slot_out);
    e.v_add_u32(k.v.k_read, k_slot, k.v.k_lane, "slots that the next iteration reads");
    e.v_add_u32(k.v.v_read, v_slot, k.v.v_lane);
}

void emit_qk_half(Emitter& e, const Bf16StageKernel& k, unsigned half) {
    const VReg d = k.v.scores(half);
    for (unsigned step = 0; step < k.geometry.qk_steps(); ++step)
        e.mfma(mfma_32x32x16_bf16, d, k.v.fragment(step), k.v.q.sub(4 * step, 4),
               step == 0 ? Source(0) : Source(d),
               "S^T keys " + std::to_string(32 * half) + ".. += K Q^T, d " + std::to_string(16 * step) +
                   "..");
}

void emit_pv_half(Emitter& e, const Bf16StageKernel& k, unsigned half) {
    const Bf16Geometry& g = k.geometry;
    for (unsigned i = 0; i < g.pv_products() / 2; ++i) {
        const unsigned step = 2 * half + i / g.column_tiles(), tile = i % g.column_tiles();
        const VReg o = k.v.output(tile);
        e.mfma(mfma_32x32x16_bf16, o, k.v.fragment(i), k.v.probabilities(step), o,
               "O^T columns " + std::to_string(32 * tile) + ".. += V^T P^T, keys " +
                   std::to_string(16 * step) + "..");
    }
}

void emit_exponentials(Emitter& e, const Bf16StageKernel& k, unsigned half) {
    const VReg x = half == 0 ? k.v.scores(0) : k.v.scaled, partials = k.v.t.sub(5, 2);
    // Each score's exponential, sum and conversion lie a few instructions apart.
    constexpr unsigned add_lag = 2, pack_lag = 4;
    for (unsigned turn = 0; turn < x.count + pack_lag; ++turn) {
        if (turn < x.count)
            e.v_exp_f32(x[turn], x[turn], turn == 0 ? "probabilities" : "");
        if (const unsigned r = turn - add_lag; turn >= add_lag && r < x.count) {
            const VReg partial = partials[r % 2];
            if (half == 1 || r > 3)
                e.v_add_f32(partial, partial, x[r]);
            else if (r > 1)
                e.v_add_f32(partial, x[r - 2], x[r], "row sum of unrounded probabilities");
        }
        if (const unsigned r = turn - pack_lag; turn >= pack_lag && r % 2 == 1 && r < x.count)
            e.v_cvt_pk_bf16_f32(k.v.packed[8 * half + r / 2], x[r - 1], x[r],
                                r % 8 == 7 ? "P^T operand of 16 keys complete" : "");
    }
    if (half == 1) {
        e.v_add_f32(partials[0], partials[0], partials[1]);
        e.v_add_f32(k.v.sum, k.v.sum, partials[0]);
    }
}

void emit_scale_scores(Emitter& e, const Bf16StageKernel& k) {
    for (unsigned half = 0; half < 2; ++half) {
        const VReg from = k.v.scores(half), to = half == 0 ? from : k.v.scaled;
        for (unsigned r = 0; r < from.count; ++r)
            e.v_fma_f32(to[r], from[r], k.work.score_scale, -Source(k.v.maximum),
                        r == 0 ? "score in base-2 units - maximum" : "");
    }
}

void emit_take_maximum(Emitter& e, const Bf16StageKernel& k) {
    const VReg block_maximum = k.v.t[2], growth = k.v.t[3]; // as emit_maximum leaves them
    e.v_cndmask_b32(growth, 0, growth, vcc, "rows that move: by how much; 0 for the others");
    e.v_exp_f32(k.v.factor, -Source(growth), "2^(old - new); exactly 1 for the others");
    e.v_cndmask_b32(k.v.maximum, k.v.maximum, block_maximum, vcc, "rows that move take the new maximum");
    e.v_mul_f32(k.v.sum, k.v.factor, k.v.sum);
}

void emit_rescale_accumulator(Emitter& e, const Bf16StageKernel& k) {
    for (unsigned r = 0; r < k.v.o.count; ++r)
        e.v_mul_f32(k.v.o[r], k.v.factor, k.v.o[r], r == 0 ? "rescale" : "");
}

void emit_begin_tile(Emitter& e, const Bf16StageKernel& k) {
    emit_begin_tile(e, static_cast<const Bf16Kernel&>(k));
    emit_clear_accumulator(e, k);
    e.s_mov_b32(k.wave.fresh, 0, "PV need not know");
    e.s_and_b32(k.wave.mode, k.wave.mode, ~mode_fresh & 63);
}

} // namespace zyfa::templates::attention
