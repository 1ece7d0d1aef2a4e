// SPDX-License-Identifier: Apache-2.0
// Head dimensions of a BF16 forward kernel: what follows from them, its vector registers, and where its LDS
// goes.
//
// A wave owns 32 query rows. It computes S^T = K Q^T, so that lane l holds scores of query l % 32 only
// (paper Section IV-A), and O^T = V^T P^T, so that P^T is an operand where it lies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "templates/asm/allocator.hpp"
#include "templates/attention/kv_layout.hpp"

namespace zyfa::templates::attention {

/// How a block's two products, its operand reads and its softmax follow one another.
enum class Bf16Pipeline : std::uint8_t {
    two_phase,   ///< a matrix phase with all reads in its shadow, a softmax phase (forward_flow.hpp)
    eight_stage, ///< four memory and four compute stages (bf16_stages.hpp; paper Section IV-D)
};

struct Bf16Geometry {
    unsigned dim_qk = 128, dim_v = 128; ///< multiples of 64 (chunks of 128 bytes); dim_v is 128

    static constexpr unsigned rows = 32;                   ///< query rows of a wave
    static constexpr unsigned key_tiles = block_keys / 32; ///< S^T tiles of 32 keys
    static constexpr unsigned pv_steps = block_keys / 16;  ///< MFMAs along the keys
    static constexpr unsigned slots = 3;                   ///< K/V blocks in LDS
    static constexpr unsigned spare_fragments = 4;         ///< beside those of V: how far LDS reads run ahead
    static constexpr unsigned stage_pitch = 144; ///< O is staged 64 columns at a time: 128 bytes and 16

    constexpr unsigned qk_row_bytes() const { return 2 * dim_qk; }
    constexpr unsigned v_row_bytes() const { return 2 * dim_v; }
    constexpr unsigned qk_steps() const { return dim_qk / 16; }    ///< MFMAs along the head dimension
    constexpr unsigned column_tiles() const { return dim_v / 32; } ///< O^T tiles of 32 columns
    constexpr unsigned qk_products() const { return key_tiles * qk_steps(); }    ///< MFMAs of QK
    constexpr unsigned pv_products() const { return pv_steps * column_tiles(); } ///< MFMAs of PV
    /// Operand fragments that registers hold: all of V, which is read before its softmax phase, and spare
    /// ones.
    constexpr unsigned fragments() const { return pv_products() + spare_fragments; }
    /// Registers of K fragment j, the operand of QK's MFMA number j. The registers are a ring: QK's last
    /// MFMAs use the spare ones, so that by then all others hold V of the same block.
    constexpr unsigned k_fragment_slot(unsigned j) const {
        return (j + 2 * fragments() - qk_products()) % fragments();
    }

    constexpr KvLayout k() const { return k_layout(qk_row_bytes()); }
    constexpr KvLayout v() const { return v_layout(v_row_bytes()); }
    /// LDS-DMA instructions of a wave for one block
    constexpr unsigned fetch_instructions() const { return k().chunks() + v().chunks(); }
    /// Operand fragments of a memory stage: half of K (32 keys), or half of V (32 keys). PV where V holds Inf
    /// or NaN takes 12 (bf16_special.cpp).
    constexpr unsigned stage_fragments() const { return std::max({qk_steps(), pv_products() / 2, 12u}); }
    constexpr unsigned v_ring() const { return slots * k().bytes(); } ///< K's ring is at 0
    constexpr unsigned stage() const { return v_ring() + slots * v().bytes(); }
    static constexpr unsigned stage_wave = rows * stage_pitch - 16; ///< no padding behind the last row
    constexpr unsigned lds_bytes() const { return stage() + 8 * stage_wave; }
};
inline constexpr Bf16Geometry bf16_d128{128, 128}, bf16_d192{192, 128};
static_assert(bf16_d128.lds_bytes() <= 163840); // LDS of a compute unit (paper Table I)
static_assert(bf16_d192.lds_bytes() <= 163840);

struct Bf16Registers {
    isa::VReg q;         ///< B operands of QK: 4 per step
    isa::VReg s;         ///< scores, 2 tiles x 16; then probabilities, packed in place
    isa::VReg o;         ///< accumulator, 4 tiles x 16
    isa::VReg fragments; ///< operands from LDS: 20 x 4; with eight stages 12 x 4
    isa::VReg scaled; ///< eight stages: scores of keys 32-63, scaled, while QK writes those of the next block
    isa::VReg packed; ///< eight stages: probabilities, 4 per 16 keys
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
    isa::VReg probabilities(unsigned step) const {
        return packed.count > 0 ? packed.sub(4 * step, 4) : s.sub(8 * step, 4);
    }
    isa::VReg setup_scratch() const { return t; }
    isa::VReg output(unsigned column_tile) const { return o.sub(16 * column_tile, 16); }
};

/// 256 registers with dim_qk = 192: all that two waves per SIMD leave a wave (paper Table I).
Bf16Registers allocate_bf16(isa::VAllocator& v, const Bf16Geometry& g, Bf16Pipeline pipeline);

} // namespace zyfa::templates::attention
