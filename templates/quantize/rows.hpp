// SPDX-License-Identifier: Apache-2.0
// How rows lie in lanes, and the loop over tiles of rows that all kernels of a quantization have.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "templates/asm/allocator.hpp"
#include "templates/asm/emitter.hpp"
#include "templates/quantize/kernel.hpp"

namespace zyfa::templates::quantize {

struct RowShape {
    explicit RowShape(std::int64_t dim);
    unsigned dim, lane_bits, chunks;
    unsigned lanes() const { return 1u << lane_bits; }
    unsigned rows_at_once() const { return 64 >> lane_bits; } ///< per instruction of a wave
    unsigned groups() const { return wave_rows / rows_at_once(); }
    unsigned values() const { return 8 * chunks; } ///< elements of a row in one lane
    unsigned row_bytes() const { return 2 * dim; }
    /// Bytes from a lane's chunk to its next one.
    unsigned chunk_stride(unsigned element_bytes) const { return 8 * element_bytes * lanes(); }
};

/// Registers of the loop.
struct RowRegisters {
    isa::SReg kernarg, group; ///< as launched: pointer; workgroup x, head, batch entry
    isa::SReg pointers;       ///< kernel arguments 0..31: x, codes, mean, report
    isa::SReg x, codes, mean, report;
    isa::SReg strides; ///< 32..63
    isa::SReg shape;   ///< 64..79: row strides, rows, heads
    isa::SReg x_row, codes_row, rows, heads;
    isa::SReg scale; ///< 80..111
    isa::SReg multiplier, descale, limit, per_call, norm, step, parts, inverse_rows;
    isa::SReg wave, row, left; ///< wave of the workgroup, first row of the tile, rows from it on
    isa::SReg buffer, out;     ///< descriptors of the tile's rows of x and of the output
    isa::SReg mask, t;         ///< scratch: 2 and 8 (by 4)
    isa::VReg lane;            ///< as launched: work-item; then the lane
    isa::VReg coordinate;      ///< which of the row's L places this lane holds
    isa::VReg lane_row;        ///< row within the group of rows
    isa::VReg address, out_address, group_address;
    isa::VReg raw;   ///< the tile: groups x chunks x 4 dwords of packed BF16
    isa::VReg value; ///< FP32 values of one row
    isa::VReg vt;    ///< scratch: 4
};

enum class LanePlaces : std::uint8_t {
    in_order,  ///< lane l of a row holds place l
    butterfly, ///< places whose bit b differs are lanes l and l ^ {1, 2, 7, 15}[b], which DPP reaches
};

RowRegisters allocate_rows(isa::SAllocator& s, isa::VAllocator& v, const RowShape& shape);

/// Arguments, wave, lane and places; `x` and `codes` move to the head's first row.
void emit_start(isa::Emitter& e, const RowRegisters& r, const RowShape& shape, LanePlaces places);

/// The wave's tiles of 32 rows: descriptors and loads of `raw`, then body(group) for each group of rows with
/// EXEC on the rows that exist. EXEC is full behind it. `label` begins the loop's labels.
void emit_tiles(isa::Emitter& e, const RowRegisters& r, const RowShape& shape, const std::string& label,
                const std::function<void(isa::Emitter&)>& before_groups,
                const std::function<void(isa::Emitter&, unsigned)>& body);

/// value = FP32 of group `group` of `raw`.
void emit_unpack(isa::Emitter& e, const RowRegisters& r, const RowShape& shape, unsigned group);

/// largest = largest magnitude of `values` (an even number), NaN if one is NaN.
void emit_largest_magnitude(isa::Emitter& e, isa::VReg largest, const std::vector<isa::VReg>& values);

/// out = descriptor of `bytes` bytes from `pointer` on.
void emit_descriptor(isa::Emitter& e, isa::SReg out, isa::SReg pointer, unsigned bytes);

} // namespace zyfa::templates::quantize
