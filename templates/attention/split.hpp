// SPDX-License-Identifier: Apache-2.0
// Split over keys, for problems with too few tiles to fill the chip: the key blocks of a pair of query tiles
// (causal; otherwise of one tile), counted through, are cut into equal parts, each an item of its own. An
// item leaves accumulator, maximum and sum of each tile that it has blocks of in a workspace, and whoever
// comes last merges them (merge.hpp). As a pair is cut and not each of its tiles, only one item has blocks of
// both, so n parts leave n + 1 accumulators and not 2 n.
//
// The parts follow from the lengths and the number of parts alone, and they are merged in order, so equal
// requests give equal bits whatever the batch, the grid and the order of workgroups.
#pragma once

#include <array>
#include <cstdint>

#include "templates/asm/emitter.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

inline constexpr unsigned max_split_bits = 4;

/// Workspace of one part of 32 rows x 128 columns: 8 pieces of 16 registers' worth of columns, 8 values of
/// each lane as the accumulator's registers hold them, in FP16; then 16 bytes for each row: maximum, sum, and
/// the power of two that its values are to be multiplied by.
///
/// FP16 with a power of two for each row has 11 significant bits for all that is within 2^29 of the row's
/// largest value, eight times finer than the BF16 that O is rounded to in the end, whatever the range of V,
/// and costs half the traffic of FP32.
///
/// The workspace holds the parts by batch entry, query head, pair, slot and wave of the tile. A part's slot
/// is its number, and one more for the second tile of a pair.
inline constexpr unsigned part_piece_bytes = 1024, part_pieces = 8,
                          part_rows = part_pieces * part_piece_bytes, part_row_bytes = 16,
                          part_bytes = part_rows + 32 * part_row_bytes;

/// Bytes of the counter of 32 rows of one head: of the parts that have been released.
inline constexpr unsigned part_counter_bytes = 4;

/// Slots of a pair's parts.
constexpr unsigned part_slots(const ForwardOptions& o) {
    return (1u << o.split_bits) + (o.causal ? 1 : 0);
}

struct PartRegisters {
    isa::VReg accumulator;        ///< O^T, 4 tiles of 32 columns x 16
    isa::VReg maximum, sum;       ///< of the lane's row
    isa::VReg lane_row, lane_key; ///< lane % 32, 4 * (lane / 32)
    std::array<isa::VReg, 4> scratch;
};

/// Stores the part of the tile that the wave has in its accumulator. The accumulator and `row_buffer` are
/// overwritten, but for the latter's word 3. `arguments`: dword i of the kernel arguments in lane i.
void emit_store_part(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                     const ForwardOptions& o, isa::SReg row_buffer, isa::VReg arguments,
                     const PartRegisters& part);

/// d = batch * query heads + query head of the wave, of the tile in w.tile. scratch: 1.
void emit_head_index(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                     const ForwardOptions& o, isa::SReg d, isa::VReg arguments, isa::SReg scratch);
/// Pair of tile `tile`; `slot` grows by one where the tile is the second of its pair. scratch: 1.
void emit_pair_slot(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o, isa::SReg tile,
                    isa::SReg pair, isa::SReg slot, isa::SReg scratch);
/// base (2) = address of the wave's part in a slot of a pair. `head`, of emit_head_index, is overwritten.
/// scratch: 2.
void emit_part_address(isa::Emitter& e, const WorkRegisters& w, const WaveRegisters& wave,
                       const ForwardOptions& o, isa::SReg base, isa::VReg arguments, isa::SReg head,
                       isa::SReg pair, isa::SReg slot, isa::SReg scratch);
/// base (2) += index * stride. scratch: 2.
void emit_add_product64(isa::Emitter& e, isa::SReg base, isa::SReg index, unsigned stride, isa::SReg scratch);

} // namespace zyfa::templates::attention
