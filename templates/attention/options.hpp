// SPDX-License-Identifier: Apache-2.0
// What the code of a forward kernel depends on: the problem class and the schedule, as plain values.
#pragma once

#include <cstdint>

namespace zyfa::templates::attention {

/// Which items the workgroups of one chiplet (XCD) get; workgroup i runs on chiplet i mod 8 (paper IV-A).
enum class ChipletMap : std::uint8_t {
    none,       ///< tile pair fastest: neighbouring pairs of one head on different chiplets
    runs,       ///< a contiguous run of one head's pairs per chiplet: they share K and V in its L2
    head_first, ///< head fastest: chiplet i mod 8 gets heads i mod 8
};

/// Where the end of a tile, O and LSE from its accumulator, has its place.
enum class Epilogue : std::uint8_t {
    next_softmax, ///< in the softmax phase of the next tile's first block, beside the other wave's products
    idle_matrix,  ///< where the tile's last block is of no concern to the wave: in the matrix phase before,
                  ///< which has no PV, behind QK of the next tile's first block
};

/// Who issues first where both waves of a SIMD could: how matrix and vector instructions interleave.
enum class IssueOrder : std::uint8_t {
    matrix_first, ///< the wave in its matrix phase
    vector_first, ///< the wave in its softmax phase
};

struct ForwardOptions {
    bool causal = true;
    bool two_heads = false; ///< even GQA group: waves 0-3 take head 2u, waves 4-7 head 2u + 1
    bool lse = true;
    bool nan_exact = true;
    bool from_diagonal = false; ///< key blocks from the last one backwards
    ChipletMap map = ChipletMap::none;
    Epilogue epilogue = Epilogue::next_softmax;
    IssueOrder issue_order = IssueOrder::matrix_first;
    float tau = 0.5f;        ///< rescale where a row's maximum grew by more, base-2 units
    unsigned block_bits = 6; ///< log2 of the keys of a block
    unsigned split_bits = 0; ///< log2 of the parts into which a tile's keys are split, each an item

    unsigned matrix_priority() const { return issue_order == IssueOrder::matrix_first ? 1 : 0; }
    unsigned softmax_priority() const { return issue_order == IssueOrder::vector_first ? 1 : 0; }
    unsigned tile_row_bits() const { return two_heads ? 7 : 8; }
    unsigned tile_rows() const { return 1u << tile_row_bits(); }
    int block_keys() const { return 1 << block_bits; }
    int key_step() const { return from_diagonal ? -block_keys() : block_keys(); } ///< to a tile's next block
};

/// What of an FP8 softmax the matrix phase takes over.
enum class MatrixWork : std::uint8_t {
    none,
    maximum, ///< maxima of the scores of the first 96 keys, as the paper has it (Section IV-C)
    fold,    ///< exact P: QK starts from minus the maximum in use and applies the scale's power of two
};

/// How FP8 kernels form their probabilities (paper Section IV-B).
struct Fp8Probability {
    bool lean = true;   ///< e4m3 code by one multiply-add; otherwise 2^x, rounded
    float sigma = 6;    ///< probabilities are multiplied by 2^sigma
    float beta = 0.35f; ///< lean: centres the error of the straight line between powers of two
    MatrixWork matrix_work = MatrixWork::none;
    /// Where a rescale multiplies the accumulator: all of it in the softmax phase that finds the new maximum,
    /// or columns 32.. in the matrix phase after it, between the MFMAs.
    bool rescale_in_softmax = false;
};

} // namespace zyfa::templates::attention
