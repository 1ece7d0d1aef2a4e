// SPDX-License-Identifier: Apache-2.0
// Work distribution on the device: which item, tile and key block comes next. All of a workgroup's tiles form
// one flat sequence of key blocks, so that a tile's last block overlaps the next tile's first one.
//
// A block descriptor is 4 SGPRs: {first key | flags, first row of the tile, head unit, batch entry}; where
// keys are split, the last one is batch entry * parts + part. The fetch cursor runs ahead of the computation;
// three descriptors lie between them.
#pragma once

#include "templates/asm/allocator.hpp"
#include "templates/asm/emitter.hpp"
#include "templates/attention/options.hpp"

namespace zyfa::templates::attention {

inline constexpr unsigned flag_first = 0; ///< bit of a descriptor: first block of its tile
inline constexpr unsigned flag_end = 1;   ///< bit: no block; the workgroup is done

struct WorkRegisters {
    isa::SReg kernarg;   ///< as launched
    isa::SReg workgroup; ///< as launched; reused once the first item is known
    // Kernel arguments that stay resident, in the order of Kernarg
    isa::SReg arguments, q, k, v, q_strides, k_strides, v_strides, q_row, k_row, v_row, seq_q, seq_kv,
        score_scale, items, step, pairs, head_units, last_tile, group, by_pairs, by_head_units, by_group;
    isa::SReg diagonal; ///< seq_kv - seq_q: row i sees keys up to i + diagonal
    // Fetch cursor
    isa::SReg item, second_tile, blocks_left, key;
    isa::SReg k_resource, v_resource; ///< buffer descriptors of the block to fetch next
    // Descriptors of the blocks that are 1, 2 and 3 ahead of the one whose PV product runs, and of the tile
    // in the accumulator (first word: whether there is one)
    isa::SReg now, next, after, tile;
    isa::SReg scratch; ///< 16, free between blocks of code
};

WorkRegisters allocate_work(isa::SAllocator& s);

/// Loads the resident arguments and sets the cursor before the first item.
void emit_work_start(isa::Emitter& e, const WorkRegisters& w);

/// The cursor has left its tile: moves it to the first block of the next one, which is the second tile of a
/// pair, or the first of the next item, or to the end (a descriptor that says so; nothing is fetched).
void emit_next_tile(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                    unsigned v_row_bytes, const std::string& label_prefix);
/// The same where nothing will be fetched: descriptor `after` alone.
void emit_next_descriptor(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o,
                          const std::string& label_prefix);

/// Key blocks of the tile whose first query row is `row`, at least 1. `keys` is scratch.
void emit_tile_blocks(isa::Emitter& e, const ForwardOptions& o, isa::SReg row, isa::SReg seq_q,
                      isa::SReg seq_kv, isa::SReg diagonal, isa::SReg blocks, isa::SReg keys);

/// Of a split over keys: the key blocks of tile `tile` and those that come before it where its pair's blocks
/// are counted through, first tile first; `all`: blocks of the pair. Between the tiles are
/// `transition_blocks` that nobody computes, so that the item with the end of one and the begin of the other
/// gets as many fewer: it has two epilogues, and the pipeline runs empty between them. Behind the second are
/// `diagonal_blocks` for what its masks take. (The first one's are in the item with the transition.) Both
/// from cycles on the simulator's model (bench/few_heads.cpp). A tile alone is a pair of its own. Scratch: 4.
inline constexpr int transition_blocks = 3, diagonal_blocks = 1;
void emit_pair_blocks(isa::Emitter& e, const ForwardOptions& o, isa::SReg tile, isa::SReg last_tile,
                      isa::SReg seq_q, isa::SReg seq_kv, isa::SReg diagonal, isa::SReg blocks,
                      isa::SReg before, isa::SReg all, isa::SReg scratch);

/// Moves the descriptors up by one block and the cursor to the next block of its tile: descriptor `after`,
/// buffer descriptors with the bytes that exist. Once per block; scratch: 3 SGPRs.
void emit_advance(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o, unsigned k_row_bytes,
                  unsigned v_row_bytes, isa::SReg scratch);

/// The two parts of emit_advance, for kernels that do the second one right behind the fetch: buffer
/// descriptors of the block `keys_ahead` keys from the cursor's (0: the cursor has moved already). scratch: 3
/// SGPRs.
void emit_advance_descriptors(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o);
void emit_advance_buffers(isa::Emitter& e, const WorkRegisters& w, const ForwardOptions& o,
                          unsigned k_row_bytes, unsigned v_row_bytes, isa::SReg scratch, int keys_ahead);

} // namespace zyfa::templates::attention
