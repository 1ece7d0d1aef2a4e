// SPDX-License-Identifier: Apache-2.0
// How the blocks of the FP8 kernels fill the phases of the common flow.
#include "templates/attention/fp8_kernel.hpp"

#include <algorithm>

#include "templates/attention/forward_arguments.hpp"
#include "templates/attention/fp8_blocks.hpp"
#include "templates/attention/kernarg.hpp"
#include "templates/schedule/hazards.hpp"
#include "templates/schedule/interleave.hpp"
#include "templates/schedule/waits.hpp"

namespace zyfa::templates::attention {

using namespace isa;
using G = Fp8Geometry;

namespace {

constexpr unsigned row_sum_products = G::halves;

template <typename Block>
Stream stream_of(Block&& block) {
    Stream out;
    Emitter e(out);
    block(e);
    return out;
}

/// LDS reads of a matrix phase: each fragment as soon as the MFMA that used its registers has been issued,
/// and at most one K fragment per MFMA.
class Reads {
  public:
    Reads(const Fp8Kernel& k, PvOrder8 order) : k_(k) {
        const Fp8Geometry& g = k.geometry;
        const unsigned pv = g.pv_products(), qk = g.qk_products();
        std::vector<unsigned> free_after(g.fragments(), 0); // leading MFMA that is the last to use a place
        for (unsigned n = 0; n < pv; ++n) {
            const unsigned tiles = g.column_tiles();
            free_after[order == PvOrder8::keys_outer ? n : n % G::halves * tiles + n / G::halves] =
                row_sum_products + n;
        }
        std::vector<unsigned> k_at(qk, 0);
        for (unsigned j = 0; j < qk; ++j) { // QK's MFMA number j is leading MFMA first_qk + j
            unsigned& place = free_after[g.k_fragment_slot(j)];
            k_at[j] = place;
            place = row_sum_products + pv + j;
        }
        for (unsigned j = 0; j < qk; ++j)
            add(k_at[j], stream_of([&](Emitter& e) { emit_read_k(e, k_, j); }));
        for (unsigned i = 0; i < pv; ++i)
            add(free_after[i], stream_of([&](Emitter& e) { emit_read_v(e, k_, i); }));
    }

    std::vector<schedule::Companion> companions() const { return companions_; }
    /// What has to wait for QK's last MFMA, which has its place in the flow.
    Stream behind() const { return behind_; }

  private:
    void add(unsigned slot, Stream stream) {
        if (slot + 1 < row_sum_products + k_.geometry.pv_products() + k_.geometry.qk_products())
            companions_.push_back({std::move(stream), slot, slot});
        else
            behind_.append(stream);
    }
    const Fp8Kernel& k_;
    std::vector<schedule::Companion> companions_;
    Stream behind_;
};

/// Slot behind which the work on a tile's scores begins: two MFMAs after its last one.
unsigned matrix_work_slot(const Fp8Geometry& g, unsigned tile) {
    return row_sum_products + g.pv_products() + (tile + 1) * g.qk_steps() + 1;
}

/// The work on the last tile of scores that the matrix phase takes: what goes before QK's last MFMA, which
/// has its place in the flow, and what behind it.
std::pair<Stream, Stream> split_work(const Fp8Kernel& k) {
    const Fp8Geometry& g = k.geometry;
    Stream all = stream_of([&](Emitter& e) { emit_tile_maximum(e, k, matrix_work_tiles - 1); });
    const unsigned last = row_sum_products + g.pv_products() + g.qk_products() - 1,
                   first = matrix_work_slot(g, matrix_work_tiles - 1);
    const std::size_t before = all.items.size() * (last - first) / (last - first + 1);
    Stream behind;
    behind.items.assign(all.items.begin() + static_cast<std::ptrdiff_t>(before), all.items.end());
    all.items.resize(before);
    return {all, behind};
}

} // namespace

Stream matrix_phase(const Fp8Kernel& k, Phase phase) {
    const Fp8Geometry& g = k.geometry;
    const unsigned first_pv = row_sum_products, first_qk = first_pv + g.pv_products(),
                   all = first_qk + g.qk_products();
    const PvOrder8 order = phase == Phase::rescale ? PvOrder8::columns_outer : PvOrder8::keys_outer;
    Stream leading = stream_of([&](Emitter& e) {
        emit_row_sums(e, k);
        emit_pv(e, k, order, phase == Phase::fresh);
        emit_qk(e, k);
    });
    leading.items.pop_back();
    auto companion = [&](auto block, unsigned first, unsigned last) {
        return schedule::Companion{stream_of([&](Emitter& e) { block(e, k); }), first, last};
    };
    std::vector<schedule::Companion> companions;
    if (phase == Phase::rescale)
        // Column tile t is multiplied well before its first MFMA, number first_pv + 2 t.
        companions.push_back(companion(emit_rescale_rest<Fp8Kernel>, 0, first_pv + 3));
    for (schedule::Companion& c : Reads(k, order).companions())
        companions.push_back(std::move(c));
    // The fetch before QK, so that Q of a new tile is older than it in vmcnt; beside a rescale, behind its
    // multiplications.
    const unsigned fetch = phase == Phase::rescale ? first_pv + 4 : first_pv;
    companions.push_back(companion(emit_add_row_sums, first_qk - 1, first_qk - 1));
    if (k.probability.matrix_work != MatrixWork::maximum) {
        companions.push_back(companion(emit_fetch_block, fetch, first_qk - 2));
        companions.push_back(companion(emit_next_block_work<Fp8Kernel>, first_qk, all - 3));
    } else { // the maxima need the issue slots of QK's last MFMAs
        companions.push_back(companion(emit_fetch_block, fetch, first_qk - 3));
        companions.push_back(companion(emit_next_block_work<Fp8Kernel>, first_qk - 2, first_qk + 2));
        for (unsigned tile = 0; tile + 1 < matrix_work_tiles; ++tile) {
            const unsigned first = matrix_work_slot(g, tile);
            companions.push_back(
                companion([tile](Emitter& e, const Fp8Kernel& kernel) { emit_tile_maximum(e, kernel, tile); },
                          first, first + g.qk_steps() - 1));
        }
        if (const unsigned first = matrix_work_slot(g, matrix_work_tiles - 1); first <= all - 2)
            companions.push_back({split_work(k).first, first, all - 2});
    }
    if (!k.folds()) // else behind the last reads
        companions.push_back(companion(emit_next_addresses<Fp8Kernel>, all - 2, all - 2));
    return schedule::interleave(leading, companions);
}

void emit_last_qk(Emitter& e, const Fp8Kernel& k) {
    const Stream qk = stream_of([&](Emitter& q) { emit_qk(q, k); });
    e.stream().items.push_back(qk.items.back());
    if (k.probability.matrix_work == MatrixWork::maximum)
        e.stream().append(split_work(k).second);
    e.stream().append(Reads(k, PvOrder8::keys_outer).behind());
    if (k.folds())
        emit_next_addresses(e, k);
}

Stream softmax_phase(const Fp8Kernel& k) {
    const Stream vector = stream_of([&](Emitter& e) {
        if (k.folds())
            emit_folded_probabilities(e, k);
        else
            emit_probabilities(e, k, false);
    });
    const Stream scalar = stream_of([&](Emitter& e) { emit_cursor_work(e, k); });
    if (k.probability.lean)
        return schedule::interleave(vector, {{scalar, 20, 80}});
    // A v_exp_f32 holds the vector pipe for 8 cycles, the wave may issue again after 4 (paper Section III-A).
    Stream out;
    if (k.folds())
        out = stream_of([&](Emitter& e) { emit_conversion_scales(e, k); });
    out.append(schedule::interleave(vector, {{scalar, 0, 30, Kind::trans}}));
    return out;
}

void emit_rare_pv(Emitter& e, const Fp8Kernel& k) {
    emit_row_sums(e, k);
    emit_pv(e, k, PvOrder8::keys_outer, false);
    emit_add_row_sums(e, k);
}

void emit_rare_qk(Emitter& e, const Fp8Kernel& k) {
    const Fp8Geometry& g = k.geometry;
    const unsigned at_once = std::min(g.fragments(), g.qk_products());
    for (unsigned j = 0; j < at_once; ++j)
        emit_read_k(e, k, j);
    std::vector<schedule::Companion> companions;
    for (unsigned j = at_once; j < g.qk_products(); ++j)
        companions.push_back(
            {stream_of([&](Emitter& r) { emit_read_k(r, k, j); }), j - g.fragments(), j - g.fragments()});
    e.stream().append(schedule::interleave(stream_of([&](Emitter& q) { emit_qk(q, k); }), companions));
    if (k.probability.matrix_work == MatrixWork::maximum)
        for (unsigned tile = 0; tile < matrix_work_tiles; ++tile)
            emit_tile_maximum(e, k, tile);
    for (unsigned i = 0; i < g.pv_products(); ++i)
        emit_read_v(e, k, i);
}

KernelFile make_fp8_kernel(const std::string& name, const Fp8Geometry& geometry,
                           const ForwardOptions& options, const Fp8Probability& probability,
                           std::vector<std::string> heading) {
    SAllocator scalars(102);
    VAllocator vectors(256);
    Fp8Kernel k;
    k.geometry = geometry;
    if (probability.matrix_work == MatrixWork::fold)
        k.geometry.spare_fragments = 0; // their registers hold `start`
    k.options = options;
    k.probability = probability;
    k.work = allocate_work(scalars);
    k.wave = allocate_wave(scalars);
    k.row_buffer = scalars.allocate("sRows", 4, 4, "buffer descriptor of the wave's rows of Q, O or LSE");
    k.first_key = scalars.allocate("sFirstKey", 1, 1, "first key of the block in the softmax phase");
    k.large = scalars.allocate("sLarge", 1, 1, "8: scores of the tile are too large for the fast path");
    k.code_scale = k.work.score_scale;
    if (probability.lean)
        k.code_scale = scalars.allocate("sCodeScale", 1, 1, "8 * softmax scale * log2(e)");
    else if (k.folds())
        k.code_scale = scalars.allocate("sCodeScale", 1, 1, "softmax scale * log2(e), less its power of two");
    k.wave.fresh = scalars.alias("sFresh", k.work.workgroup, "16: the accumulator is to be taken as zero");
    k.v = allocate_fp8(vectors, k.geometry, k.folds());

    KernelFile file;
    file.name = name;
    file.heading = std::move(heading);
    Emitter e(file.code);
    emit_setup(e, k);
    flow::emit_flow(e, k);
    schedule::insert_memory_waits(file.code);
    schedule::insert_hazard_nops(file.code);

    file.workgroup_size = 512;
    file.lds_bytes = geometry.lds_bytes();
    file.kernarg_bytes = sizeof(Kernarg);
    file.vgprs = vectors.peak();
    file.sgprs = scalars.peak();
    file.register_maps =
        "// Scalar registers\n" + register_map(scalars) + "\n// Vector registers\n" + register_map(vectors);
    declare_arguments(file, options.split_bits > 0);
    return file;
}

} // namespace zyfa::templates::attention
