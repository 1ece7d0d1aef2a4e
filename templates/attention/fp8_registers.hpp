// SPDX-License-Identifier: Apache-2.0
// Head dimensions of an FP8 (e4m3) forward kernel: what follows from them, its vector registers, and where
// its LDS goes.
//
// A wave owns 32 query rows and takes 128 keys at once. It computes S^T = K Q^T, so that lane l holds scores
// of query l % 32 only (paper Section IV-A), and O^T = V^T P^T, so that P^T is an operand where it lies.
// Block scales and row sums belong to 64 keys, a "half" of the block (paper Section IV-B).
#pragma once

#include <array>

#include "templates/asm/allocator.hpp"
#include "templates/attention/kv_layout.hpp"

namespace zyfa::templates::attention {

struct Fp8Geometry {
    unsigned dim_qk = 128, dim_v = 128; ///< dim_qk is 128 or 192, dim_v 128
    unsigned spare_fragments = 2;       ///< beside those of V: how far LDS reads run ahead

    static constexpr unsigned rows = 32;         ///< query rows of a wave
    static constexpr unsigned key_tiles = 4;     ///< S^T tiles of 32 keys
    static constexpr unsigned halves = 2;        ///< MFMAs along the keys, of 64 each
    static constexpr unsigned slots = 3;         ///< K/V blocks in LDS
    static constexpr unsigned stage_pitch = 144; ///< O is staged 64 columns at a time: 128 bytes and 16

    constexpr unsigned qk_row_bytes() const { return dim_qk; }
    constexpr unsigned v_row_bytes() const { return dim_v; }
    constexpr unsigned qk_steps() const { return dim_qk / 64; }    ///< MFMAs along the head dimension
    constexpr unsigned column_tiles() const { return dim_v / 32; } ///< O^T tiles of 32 columns
    constexpr unsigned qk_products() const { return key_tiles * qk_steps(); }  ///< MFMAs of QK
    constexpr unsigned pv_products() const { return halves * column_tiles(); } ///< MFMAs of PV
    /// Operand fragments (64 keys or channels, 8 registers) that registers hold: all of V, which is read
    /// before its softmax phase, and spare ones.
    constexpr unsigned fragments() const { return pv_products() + spare_fragments; }
    /// Place of K fragment j, the operand of QK's MFMA number j. The places are a ring: QK's last MFMAs use
    /// the spare ones, so that by then all others hold V of the same block.
    constexpr unsigned k_fragment_slot(unsigned j) const {
        return (j + 2 * fragments() - qk_products()) % fragments();
    }

    constexpr KvLayout k() const { return k_layout_fp8(qk_row_bytes()); }
    constexpr KvLayout v() const { return v_layout_fp8(v_row_bytes()); }
    /// LDS-DMA instructions of a wave for one block
    constexpr unsigned fetch_instructions() const { return k().chunks() + v().chunks(); }
    constexpr unsigned v_ring() const { return slots * k().bytes(); } ///< K's ring is at 0
    constexpr unsigned stage() const { return v_ring() + slots * v().bytes(); }
    static constexpr unsigned stage_wave = rows * stage_pitch - 16; ///< no padding behind the last row
    constexpr unsigned lds_bytes() const { return stage() + 8 * stage_wave; }
};
inline constexpr Fp8Geometry fp8_d128{128, 128, 2}, fp8_d192{192, 128, 1};
static_assert(fp8_d128.lds_bytes() <= 163840); // LDS of a compute unit (paper Table I)
static_assert(fp8_d192.lds_bytes() <= 163840);

struct Fp8Registers {
    isa::VReg q;                  ///< B operands of QK: 8 per step
    isa::VReg s;                  ///< scores, 4 tiles x 16; then probabilities, packed in place
    isa::VReg o;                  ///< accumulator, 4 tiles x 16
    isa::VReg fragments;          ///< operands from LDS: 8 each
    isa::VReg start;              ///< MatrixWork::fold: 16 times where QK starts from
    isa::VReg maximum;            ///< per query: the score that probabilities are relative to, as QK gives it
    isa::VReg sum;                ///< per query: l, times 2^sigma
    isa::VReg scales;             ///< E8M0: bytes 0, 1 of P's halves; byte 2 is 1.0, byte 3 fold's 2^e
    isa::VReg selector;           ///< FP4 operand of the row sum: 0 and 1
    isa::VReg lane_row, lane_key; ///< l % 32; 4 * (l / 32)
    isa::VReg k_read, v_read;     ///< LDS addresses in the current slot
    isa::VReg k_lane, v_lane;     ///< the same in slot 0
    isa::VReg k_fetch, v_fetch;   ///< byte offsets of the lane's part of a block in memory
    isa::VReg k_fetch_half;       ///< the same for the last 64 bytes of K's rows, where dim_qk is 192
    isa::VReg q_fetch, lse_store; ///< byte offsets within the wave's rows
    isa::VReg o_store;            ///< 4: row groups of 8
    isa::VReg stage_write, stage_read; ///< LDS addresses
    isa::VReg arguments;               ///< lane i: dword i of the kernel-argument block
    isa::VReg factor;                  ///< of a rescale under way
    isa::VReg t;                       ///< scratch

    isa::VReg fragment(unsigned i) const { return fragments.sub(8 * i, 8); }
    /// S^T tile of 32 keys
    isa::VReg scores(unsigned tile) const { return s.sub(16 * tile, 16); }
    /// B operand of PV for 64 keys: the first eight of the 32 score registers it came from
    isa::VReg probabilities(unsigned half) const { return s.sub(32 * half, 8); }
    /// What packing leaves free, 24 registers of each half until QK begins
    isa::VReg gap(unsigned half) const { return s.sub(32 * half + 8, 24); }
    isa::VReg output(unsigned column_tile) const { return o.sub(16 * column_tile, 16); }
    /// Register of P that holds keys 32 c + 8 r + 4 (lane / 32) .. + 3 of a half: 4 c + r of the operand.
    isa::VReg packed(unsigned half, unsigned c, unsigned r) const { return probabilities(half)[4 * c + r]; }
    /// Two running maxima of a half's scores, merged to the first.
    std::array<isa::VReg, 2> maximum_chain(unsigned half) const { return {t[half], t[2 + half]}; }
    isa::VReg setup_scratch() const { return s; }
};

/// At most 256 registers: all that two waves per SIMD leave a wave (paper Table I).
Fp8Registers allocate_fp8(isa::VAllocator& v, const Fp8Geometry& g, bool folds);

} // namespace zyfa::templates::attention
