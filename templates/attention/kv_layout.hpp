// SPDX-License-Identifier: Apache-2.0
// Where a block of K or V lies in LDS, and which 16 bytes of it each lane of an LDS-DMA brings.
//
// An LDS-DMA writes 1024 consecutive bytes per wave, so a layout is chosen by the global address of each
// lane: one instruction brings 128 bytes (a whole L2 line) of each of 8 keys that lie 8 apart, and the eight
// waves' instructions make a chunk of 64 keys. Chunk c of key n (128 bytes of the row; of a block of more
// than 64 keys, the chunks of the first 64 come first) is at
//     c * 8 * pitch + (n % 8) * pitch + (n % 64 / 8) * 128,
// where the pitch of a DMA block is 1024 bytes plus padding. Reads are free of bank conflicts because of the
// padding, in the lane groups and with the 64 banks that HipKittens measured on gfx950:
//   K, ds_read_b128, lane = key: pitch 1040 moves neighbouring keys by one 16-byte step, and the 16 lanes of
//   a
//     group are 16 keys that differ modulo 16;
//   V, ds_read_b64_tr_b16, 4 neighbouring keys x 64 bytes per group of 32 lanes: pitch 1088 moves
//   neighbouring
//     keys by 64 bytes, so the four fill all 64 banks;
//   V, ds_read_b64_tr_b8, 4 neighbouring keys and those 8 further x 32 bytes per group: pitch 1056 moves
//     neighbouring keys by 32 bytes, the 8 further ones lie 128 bytes on.
#pragma once

#include <cstdint>

namespace zyfa::templates::attention {

inline constexpr unsigned block_keys = 64; ///< of the BF16 kernels

struct KvLayout {
    unsigned pitch;             ///< bytes from one DMA block to the next: 1024 and padding
    unsigned row_bytes;         ///< bytes of one row (key) in memory; a multiple of 64 in blocks of 128 keys
    unsigned keys = block_keys; ///< keys of a block, a multiple of 64

    constexpr unsigned row_chunks() const { return row_bytes / 128; } ///< whole ones
    /// Whether 64 bytes of each row are left: those of keys n and n + 64 share 128 bytes of one more chunk.
    constexpr bool has_half_chunk() const { return row_bytes % 128 != 0; }
    constexpr unsigned whole_chunks() const { return keys / 64 * row_chunks(); }
    constexpr unsigned chunks() const { return whole_chunks() + (has_half_chunk() ? 1 : 0); }
    constexpr unsigned chunk_bytes() const { return 8 * pitch; }
    constexpr unsigned bytes() const { return chunks() * chunk_bytes(); }
    /// LDS offset of byte `byte` of key `key` within the block.
    constexpr unsigned offset(unsigned key, unsigned byte) const {
        if (byte >= 128 * row_chunks())
            return whole_chunks() * chunk_bytes() + key % 8 * pitch + key % 64 / 8 * 128 + key / 64 * 64 +
                   byte % 128;
        return (key / 64 * row_chunks() + byte / 128) * chunk_bytes() + key % 8 * pitch + key % 64 / 8 * 128 +
               byte % 128;
    }
};

constexpr KvLayout k_layout(unsigned row_bytes) {
    return {1024 + 16, row_bytes};
}
constexpr KvLayout v_layout(unsigned row_bytes) {
    return {1024 + 64, row_bytes};
}
/// FP8: blocks of 128 keys.
constexpr KvLayout k_layout_fp8(unsigned row_bytes) {
    return {1024 + 16, row_bytes, 128};
}
constexpr KvLayout v_layout_fp8(unsigned row_bytes) {
    return {1024 + 32, row_bytes, 128};
}

/// Key (of 64) and first byte of the row that lane `lane` of wave `wave` (of 8) brings with the DMA of one
/// chunk.
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

/// The same for the half chunk.
constexpr unsigned dma_half_key(unsigned wave, unsigned lane) {
    return wave + 8 * (lane / 8) + 64 * (lane % 8 / 4);
}
constexpr unsigned dma_half_byte(unsigned row_bytes, unsigned lane) {
    return row_bytes / 128 * 128 + 16 * (lane % 4);
}

// FP8 operand reads. Operands of 64 keys or channels: register 4 c + b / 4, byte b % 4 of lane l holds
// k = 32 c + 16 (l / 32) + b (CDNA4 ISA, f8f6f4 operand layout). P^T packed where its scores lie has key
// 32 c + 8 r + 4 (l / 32) + b in register 4 c + r, byte b; V is read so that it has the same.

/// ds_read_b128 of K for the 32 keys of tile T, 64-wide step ks, half c of its channels
constexpr unsigned k_read_lane_fp8(KvLayout layout, unsigned lane) {
    return layout.offset(lane % 32, 16 * (lane / 32));
}
constexpr unsigned k_read_constant_fp8(KvLayout layout, unsigned tile, unsigned step, unsigned half) {
    return layout.offset(32 * tile, 64 * step + 32 * half);
}

/// ds_read_b64_tr_b8 of V for columns 32 * column_tile.., registers 2 * pair and 2 * pair + 1 of key half h
/// (64 keys); lanes point at 8 bytes of key m / 2 of the 8 that a group of 16 lanes reads.
constexpr unsigned v_read_lane_fp8(KvLayout layout, unsigned lane) {
    const unsigned m = lane % 16, i = m / 2;
    return layout.offset(4 * (lane / 32) + i % 4 + 8 * (i / 4), 16 * (lane % 32 / 16) + 8 * (m % 2));
}
constexpr unsigned v_read_constant_fp8(KvLayout layout, unsigned column_tile, unsigned key_half,
                                       unsigned pair) {
    return layout.offset(64 * key_half + 16 * pair, 32 * column_tile);
}

} // namespace zyfa::templates::attention
