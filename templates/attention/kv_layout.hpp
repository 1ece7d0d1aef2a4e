// SPDX-License-Identifier: Apache-2.0
// Where a 64-key block of K or V lies in LDS, and which 16 bytes of it each lane of an LDS-DMA brings.
//
// An LDS-DMA writes 1024 consecutive bytes per wave, so a layout is chosen by the global address of each
// lane: one instruction brings 128 bytes (a whole L2 line) of each of 8 keys that lie 8 apart. Chunk c of key
// n (a chunk is 128 bytes of the row) is at
//     chunk * 8 * pitch + (n % 8) * pitch + (n / 8) * 128,
// where the pitch of a DMA block is 1024 bytes plus padding. Reads are free of bank conflicts because of the
// padding, in the lane groups and with the 64 banks that HipKittens measured on gfx950:
//   K, ds_read_b128, lane = key: pitch 1040 moves neighbouring keys by one 16-byte step, and the 16 lanes of
//   a
//     group are 16 keys that differ modulo 16;
//   V, ds_read_b64_tr_b16, 4 neighbouring keys x 64 bytes per group of 32 lanes: pitch 1088 moves
//   neighbouring
//     keys by 64 bytes, so the four fill all 64 banks.
#pragma once

#include <cstdint>

namespace zyfa::templates::attention {

inline constexpr unsigned block_keys = 64;

struct KvLayout {
    unsigned pitch;     ///< bytes from one DMA block to the next: 1024 and padding
    unsigned row_bytes; ///< bytes of one row (key) in memory

    constexpr unsigned chunks() const { return row_bytes / 128; }
    constexpr unsigned chunk_bytes() const { return 8 * pitch; }
    constexpr unsigned bytes() const { return chunks() * chunk_bytes(); }
    /// LDS offset of byte `byte` of key `key` within the block.
    constexpr unsigned offset(unsigned key, unsigned byte) const {
        return byte / 128 * chunk_bytes() + key % 8 * pitch + key / 8 * 128 + byte % 128;
    }
};

constexpr KvLayout k_layout(unsigned row_bytes) {
    return {1024 + 16, row_bytes};
}
constexpr KvLayout v_layout(unsigned row_bytes) {
    return {1024 + 64, row_bytes};
}

/// Key and first byte of the row that lane `lane` of wave `wave` (of 8) brings with the DMA of one chunk.
constexpr unsigned dma_key(unsigned wave, unsigned lane) {
    return wave + 8 * (lane / 8);
}
constexpr unsigned dma_byte(unsigned lane) {
    return 16 * (lane % 8);
}

// BF16 operand reads. Keys of the S^T tile: lane l, register r of tile T (32 keys) holds key
// 32 T + 8 (r / 4) + 4 (l / 32) + r % 4; V is read so that its 8 elements per lane are the same keys.

/// ds_read_b128 of K for tile T and 16-wide step ks: the part that depends on the lane, and the constant
/// part.
constexpr unsigned k_read_lane(KvLayout layout, unsigned lane) {
    return layout.offset(lane % 32, 16 * (lane / 32));
}
constexpr unsigned k_read_constant(KvLayout layout, unsigned tile, unsigned step) {
    return layout.offset(32 * tile, 32 * step);
}

/// ds_read_b64_tr_b16 of V for columns 32 * column_tile.., keys 16 * step + 8 * half..
constexpr unsigned v_read_lane(KvLayout layout, unsigned lane) {
    return layout.offset(4 * (lane / 32) + lane % 16 / 4, 32 * (lane % 32 / 16) + 8 * (lane % 4));
}
constexpr unsigned v_read_constant(KvLayout layout, unsigned column_tile, unsigned step, unsigned half) {
    return layout.offset(8 * (2 * step + half), 64 * column_tile);
}

} // namespace zyfa::templates::attention
