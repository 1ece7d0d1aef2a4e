// SPDX-License-Identifier: Apache-2.0
// Building blocks of the FP8 forward kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "templates/attention/forward_flow.hpp"
#include "templates/attention/forward_steps.hpp"
#include "templates/attention/fp8_registers.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

struct Fp8Kernel {
    using Geometry = Fp8Geometry;
    static constexpr const char* softmax_entry = ".Lsoftmax_entry"; ///< of a block that is not masked
    Fp8Geometry geometry;
    ForwardOptions options;
    Fp8Probability probability;
    WorkRegisters work;
    WaveRegisters wave;
    isa::SReg row_buffer; ///< buffer descriptor of the wave's rows of Q, O or LSE
    isa::SReg first_key;  ///< of the masked block in the softmax phase
    /// Lean P: 8 * score scale, from scores to e4m3 codes; exact P: the score scale, and with
    /// MatrixWork::fold what is left of it, in [1, 2).
    isa::SReg code_scale;
    isa::SReg large; ///< state_large where a row's maximum is too large for the fast path, else 0; with
                     ///< MatrixWork::fold state_raw where the next block's scores are raw
    Fp8Registers v;
    bool folds() const { return probability.matrix_work == MatrixWork::fold; }
    /// Code (lean) or logarithm (exact) of the probability of a score that equals the maximum.
    float code_offset() const {
        const Fp8Probability& p = probability;
        return p.lean ? 8 * (p.sigma + 7) - p.beta : p.sigma;
    }
};

/// Registers of a softmax phase
struct Fp8Scratch {
    std::array<isa::VReg, 2> half; ///< maxima of the halves' scores; then their biases
    isa::VReg a, b, block_maximum, growth;
    explicit Fp8Scratch(const Fp8Registers& v)
        : half{v.t[0], v.t[1]}, a(v.t[2]), b(v.t[3]), block_maximum(v.t[4]), growth(v.t[5]) {}
};

/// Base-2 units up to which the fast path goes. There FP32 still holds every integer, and with it what a
/// half's exponent adds to `base` (fp8_rescale.cpp), less than 256. Beyond, the maximum is subtracted from
/// the scores first, which is exact where it matters (Sterbenz).
inline constexpr float largest_fast_score = 16777216 - 256;
/// Base-2 units by which a row's maximum may grow, up to tau, whatever becomes of its probability. With a
/// larger tau, it keeps its place up to tau where rounding misses its probability by at most stale_error of
/// the sum of that and of the probability at the maximum in use. The key with a row's largest probability may
/// be nearly all of the row; at its maximum it is exact, but not beside it. Up to 1 the key at the maximum in
/// use has a third of the sum or more.
inline constexpr float free_growth = 1, stale_error = 0.02f;
/// Beside the state_* bits of wave.hpp: a row's maximum is too large for the fast path; with MatrixWork::fold
/// that the block's scores are raw, for this reason or another.
inline constexpr int state_large = 8, state_raw = state_large;

/// Once per wave: lane constants, addresses, the cursor.
void emit_setup(isa::Emitter& e, const Fp8Kernel& k);
void emit_v_lane_address(isa::Emitter& e, const Fp8Kernel& k, isa::VReg lane, isa::VReg half, isa::VReg a,
                         isa::VReg b, isa::SReg scratch);
void emit_constants(isa::Emitter& e, const Fp8Kernel& k, isa::VReg lane, isa::VReg half, isa::VReg a,
                    isa::VReg b, isa::VReg scratch);

// Memory to LDS and registers

/// LDS-DMA of the cursor's K and V block: each wave brings an eighth.
void emit_fetch_block(isa::Emitter& e, const Fp8Kernel& k);

// Matrix phase

enum class PvOrder8 : std::uint8_t {
    keys_outer,    ///< consecutive MFMAs on different accumulators
    columns_outer, ///< one column tile after the other, so that the later ones can still be rescaled
};
/// Row sums of the two halves of P: one MFMA each, to the gaps of P.
void emit_row_sums(isa::Emitter& e, const Fp8Kernel& k);
/// l += 2^-o * row sum
void emit_add_row_sums(isa::Emitter& e, const Fp8Kernel& k);
/// O^T += V^T P^T with block scales: 8 MFMAs. `fresh`: the accumulator counts as zero.
void emit_pv(isa::Emitter& e, const Fp8Kernel& k, PvOrder8 order, bool fresh);
void emit_qk(isa::Emitter& e, const Fp8Kernel& k);                 ///< S^T = K Q^T: 8 or 12 MFMAs
void emit_read_k(isa::Emitter& e, const Fp8Kernel& k, unsigned j); ///< K fragment of QK's MFMA number j
void emit_read_v(isa::Emitter& e, const Fp8Kernel& k, unsigned i); ///< V fragment in place i
/// PV where V holds NaN that some rows do not see.
void emit_pv_special(isa::Emitter& e, const Fp8Kernel& k);

// Softmax phase

/// The flow's: scores of unseen keys = -inf; and begins the search for NaN in V.
void emit_mask(isa::Emitter& e, const Fp8Kernel& k);
/// Sets mode_special where V of the block holds NaN.
void emit_find_special(isa::Emitter& e, const Fp8Kernel& k);
/// Maxima of the halves and of the row, of what the matrix phase has left of them; VCC says which rows grew
/// by more than tau, or hold a NaN.
void emit_maximum(isa::Emitter& e, const Fp8Kernel& k);
/// Of the lane's running maxima (maximum_chain): those of the halves and of the row.
void emit_block_maximum(isa::Emitter& e, const Fp8Kernel& k);
/// emit_block_maximum, and VCC: which rows grew by more than tau or free_growth, or hold a NaN.
void emit_growth(isa::Emitter& e, const Fp8Kernel& k);
/// base = what a score's code begins from with the maximum in use. Overwrites the last scalar scratch.
void emit_base(isa::Emitter& e, const Fp8Kernel& k, isa::VReg base);
/// coarse (mask): rows that grew by more than free_growth to a maximum whose rounded probability is off by
/// too much. Overwrites VCC, a, b.
void emit_coarse(isa::Emitter& e, const Fp8Kernel& k, isa::SReg coarse, isa::VReg growth, isa::VReg a,
                 isa::VReg b);
/// Takes the new maximum where VCC says so and multiplies the first column tile; the others are left to the
/// matrix phase (mode_rescale), where they fit between the MFMAs. Ends at .Lprobabilities, .Llarge, or, where
/// NaN was found and replaced, at softmax_entry.
void emit_rescale(isa::Emitter& e, const Fp8Kernel& k);
/// Block scales, probabilities, packing to e4m3. `shifted`: the maximum is already taken from the scores.
void emit_probabilities(isa::Emitter& e, const Fp8Kernel& k, bool shifted);
void emit_cursor_work(isa::Emitter& e, const Fp8Kernel& k); ///< behind the softmax phase's branches

/// Running maxima (maximum_chain) of the half that the tile of 32 keys belongs to, with its scores.
void emit_tile_maximum(isa::Emitter& e, const Fp8Kernel& k, unsigned tile);
/// Tiles whose maxima the matrix phase takes with MatrixWork::maximum; the last one is finished too late.
inline constexpr unsigned matrix_work_tiles = 3;

// MatrixWork::fold (fp8_fold.cpp)

/// scratch: a
void emit_fold_constants(isa::Emitter& e, const Fp8Kernel& k, isa::VReg a);
void emit_raw_next(isa::Emitter& e, const Fp8Kernel& k); ///< the next block's scores are to be raw
void emit_load_q(isa::Emitter& e, const Fp8Kernel& k);   ///< the flow's: the next block begins a tile
/// emit_rescale's part: rows that VCC says take their new maximum.
void emit_grow(isa::Emitter& e, const Fp8Kernel& k);
void emit_raw_block(isa::Emitter& e, const Fp8Kernel& k); ///< .Lraw, up to .Lrescale_accumulator
/// Block scales and what conversions divide by, from the halves' maxima; and what is left of the scale.
void emit_conversion_scales(isa::Emitter& e, const Fp8Kernel& k);
void emit_folded_probabilities(isa::Emitter& e, const Fp8Kernel& k);

// Phases of the flow (forward_flow.hpp)

/// Row sums, PV, then QK, with the reads of the next operands, the fetch and the scalar work of the next
/// block in their shadow. QK's last MFMA is left to the head of the loop.
isa::Stream matrix_phase(const Fp8Kernel& k, Phase phase);
void emit_last_qk(isa::Emitter& e, const Fp8Kernel& k);
isa::Stream softmax_phase(const Fp8Kernel& k);
void emit_to_softmax(isa::Emitter& e, const Fp8Kernel& k); ///< from a masked block
void emit_rare_pv(isa::Emitter& e, const Fp8Kernel& k);    ///< row sums and PV on their own
void emit_rare_qk(isa::Emitter& e, const Fp8Kernel& k);    ///< QK on its own, with its reads

// Ends of a tile

/// Stores O and LSE of the tile in the accumulator. Uses the labels <label_prefix>_*.
void emit_epilogue(isa::Emitter& e, const Fp8Kernel& k, const std::string& label_prefix);
void emit_row_total(isa::Emitter& e, const Fp8Kernel& k, isa::VReg total, isa::VReg other);
void emit_output_scale(isa::Emitter& e, const Fp8Kernel& k, isa::VReg inverse, isa::SReg scratch);
void emit_add_maximum(isa::Emitter& e, const Fp8Kernel& k, isa::VReg lse);
/// Makes accumulator and `total` relative to the maximum itself. Overwrites a, b. Uses the label
/// <label_prefix>_relative.
void emit_part_reference(isa::Emitter& e, const Fp8Kernel& k, isa::VReg total, isa::VReg a, isa::VReg b,
                         const std::string& label_prefix);
isa::VReg emit_part_maximum(isa::Emitter& e, const Fp8Kernel& k, isa::VReg total,
                            const std::string& label_prefix);
/// The merge of a split over keys, by the workgroup that comes last (forward_merge.hpp).
void emit_merge_parts(isa::Emitter& e, const Fp8Kernel& k, const std::string& label_prefix,
                      const std::string& end);
void emit_begin_tile(isa::Emitter& e, const Fp8Kernel& k); ///< block `now` begins a tile

} // namespace zyfa::templates::attention
