// SPDX-License-Identifier: Apache-2.0
// Split over keys, for problems with too few tiles to fill the chip: the key blocks of a pair of query tiles
// (causal; otherwise of one tile), counted through, are cut into equal parts, each an item of its own. An
// item leaves accumulator, maximum and sum of each tile that it has blocks of in a workspace, and a second
// kernel merges them. As a pair is cut and not each of its tiles, only one item has blocks of both, so n
// parts leave n + 1 accumulators and not 2 n.
//
// The parts follow from the lengths and the number of parts alone, and they are merged in order, so equal
// requests give equal bits whatever the batch, the grid and the order of workgroups.
#pragma once

#include <cstdint>
#include <string>

#include "templates/asm/emitter.hpp"
#include "templates/asm/kernel_file.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

inline constexpr unsigned max_split_bits = 4;

/// Workspace of one part of 32 rows x 128 columns: 16 pieces of 8 columns, each the first four columns of the
/// 32 rows in FP32 and then the other four, as the accumulator's lanes hold them; then the rows' maxima
/// and sums.
///
/// The workspace holds them by batch entry, query head, pair, slot and wave of the tile. A part's slot is its
/// number, and one more for the second tile of a pair.
inline constexpr unsigned part_piece_bytes = 1024, part_maximum = 16 * part_piece_bytes,
                          part_sum = part_maximum + 4 * 32, part_bytes = part_sum + 4 * 32;

/// What differs between the kernels' parts.
struct PartForm {
    /// What the maxima are to be multiplied by to be in base-2 units. Differences are taken first.
    enum class Unit : std::uint8_t { one, score_scale, significand_of_score_scale };
    Unit unit = Unit::one;
    float sigma = 0;        ///< sums and accumulators are times 2^sigma
    bool descale_v = false; ///< O is to be multiplied by the kernel argument output_scale
};

/// Slots of a pair's parts.
constexpr unsigned part_slots(const ForwardOptions& o) {
    return (1u << o.split_bits) + (o.causal ? 1 : 0);
}

struct PartRegisters {
    isa::VReg accumulator;        ///< O^T, 4 tiles of 32 columns x 16
    isa::VReg maximum, sum;       ///< of the lane's row
    isa::VReg lane_row, lane_key; ///< lane % 32, 4 * (lane / 32)
    isa::VReg scratch;            ///< 2
};

/// Stores the part of the tile that the wave has in its accumulator. `row_buffer` is overwritten, but for
/// word 3. `arguments`: dword i of the kernel arguments in lane i.
void emit_store_part(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                     const ForwardOptions& o, isa::SReg row_buffer, isa::VReg arguments,
                     const PartRegisters& part);

/// The kernel that merges the parts of 32 rows of one head into O (BF16) and LSE. Grid {tiles of 32 rows,
/// query heads, batch}, 8 waves of 16 columns each. `o` is that of the kernel that left the parts.
isa::KernelFile make_merge_kernel(const std::string& name, const ForwardOptions& o, const PartForm& form);

} // namespace zyfa::templates::attention
