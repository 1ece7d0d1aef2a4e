// SPDX-License-Identifier: Apache-2.0
// Vector registers of the BF16 forward kernel at head dimension 128, and where its LDS goes.
//
// A wave owns 32 query rows. It computes S^T = K Q^T, so that lane l holds scores of query l % 32 only
// (paper Section IV-A), and O^T = V^T P^T, so that P^T is an operand where it lies.
#pragma once

#include "templates/asm/allocator.hpp"
#include "templates/attention/kv_layout.hpp"

namespace zyfa::templates::attention {

struct Bf16Geometry {
    static constexpr unsigned dim = 128, row_bytes = 2 * dim, rows = 32;
    static constexpr unsigned key_tiles = block_keys / 32; ///< S^T tiles of 32 keys
    static constexpr unsigned qk_steps = dim / 16;         ///< MFMAs along the head dimension
    static constexpr unsigned column_tiles = dim / 32;     ///< O^T tiles of 32 columns
    static constexpr unsigned pv_steps = block_keys / 16;  ///< MFMAs along the keys
    static constexpr unsigned fragments = 16;              ///< operand fragments of one K or V block
    static constexpr unsigned spare_fragments = 4;         ///< lets V reads run ahead of QK by four
    static constexpr unsigned slots = 3;                   ///< K/V blocks in LDS
    static constexpr KvLayout k = k_layout(row_bytes), v = v_layout(row_bytes);
    static constexpr unsigned k_ring = 0, v_ring = slots * k.bytes();
    /// O is staged 64 columns at a time: rows of 128 bytes and 16 of padding, a region per wave.
    static constexpr unsigned stage = v_ring + slots * v.bytes();
    static constexpr unsigned stage_pitch = 144, stage_wave = rows * stage_pitch;
    static constexpr unsigned lds_bytes = stage + 8 * stage_wave;
};
static_assert(Bf16Geometry::lds_bytes <= 163840); // LDS of a compute unit (paper Table I)

struct Bf16Registers {
    isa::VReg q;                  ///< B operands of QK: 8 x 4
    isa::VReg s;                  ///< scores, 2 tiles x 16; then probabilities, packed in place
    isa::VReg o;                  ///< accumulator, 4 tiles x 16
    isa::VReg fragments;          ///< operands from LDS: 20 x 4
    isa::VReg maximum, sum;       ///< per query: the maximum applied (base-2 units), the lane's part of l
    isa::VReg lane_row, lane_key; ///< l % 32; 4 * (l / 32)
    isa::VReg k_read, v_read;     ///< LDS addresses in the current slot
    isa::VReg k_lane, v_lane;     ///< the same in slot 0
    isa::VReg k_fetch, v_fetch;   ///< byte offsets of the lane's part of a block in memory
    isa::VReg q_fetch, lse_store; ///< byte offsets within the wave's rows
    isa::VReg o_store;            ///< 4: row groups of 8
    isa::VReg stage_write, stage_read; ///< LDS addresses
    isa::VReg arguments;               ///< lane i: dword i of the kernel-argument block
    isa::VReg factor;                  ///< of a rescale under way
    isa::VReg t;                       ///< scratch

    isa::VReg fragment(unsigned i) const { return fragments.sub(4 * i, 4); }
    /// S^T tile of 32 keys
    isa::VReg scores(unsigned tile) const { return s.sub(16 * tile, 16); }
    /// B operand of PV for 16 keys: the first four of the eight score registers it came from
    isa::VReg probabilities(unsigned step) const { return s.sub(8 * step, 4); }
    isa::VReg output(unsigned column_tile) const { return o.sub(16 * column_tile, 16); }
};

Bf16Registers allocate_bf16(isa::VAllocator& v);

/// K fragment i goes where V fragment i was; the last four have registers of their own.
constexpr unsigned k_fragment_slot(unsigned i) {
    return i < Bf16Geometry::fragments - Bf16Geometry::spare_fragments ? i
                                                                       : i + Bf16Geometry::spare_fragments;
}

} // namespace zyfa::templates::attention
