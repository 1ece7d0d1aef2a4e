// SPDX-License-Identifier: Apache-2.0
// Building blocks of the BF16 forward kernels.
#pragma once

#include <cstdint>
#include <string>

#include "templates/attention/bf16_registers.hpp"
#include "templates/attention/forward_flow.hpp"
#include "templates/attention/forward_steps.hpp"
#include "templates/attention/wave.hpp"

namespace zyfa::templates::attention {

struct Bf16Kernel {
    using Geometry = Bf16Geometry;
    static constexpr const char* softmax_entry = ".Lmaximum"; ///< of a block that is not masked
    Bf16Geometry geometry;
    ForwardOptions options;
    WorkRegisters work;
    WaveRegisters wave;
    isa::SReg row_buffer; ///< buffer descriptor of the wave's rows of Q, O or LSE
    isa::SReg first_key;  ///< of the masked block in the softmax phase
    Bf16Registers v;
};

/// Once per wave: lane constants, addresses, the cursor.
void emit_setup(isa::Emitter& e, const Bf16Kernel& k);
void emit_v_lane_address(isa::Emitter& e, const Bf16Kernel& k, isa::VReg lane, isa::VReg half, isa::VReg a,
                         isa::VReg b, isa::SReg scratch);
void emit_constants(isa::Emitter& e, const Bf16Kernel& k, isa::VReg lane, isa::VReg half, isa::VReg a,
                    isa::VReg b, isa::VReg scratch);

// Memory to LDS and registers

/// LDS-DMA of the cursor's K and V block: each wave brings an eighth.
void emit_fetch_block(isa::Emitter& e, const Bf16Kernel& k);
/// The two parts of it, into a given slot. Both use scratch 0.
void emit_fetch_k(isa::Emitter& e, const Bf16Kernel& k, isa::SReg slot);
void emit_fetch_v(isa::Emitter& e, const Bf16Kernel& k, isa::SReg resource, isa::SReg slot);

// Matrix phase

enum class PvOrder : std::uint8_t {
    keys_outer,    ///< consecutive MFMAs on different accumulators
    columns_outer, ///< one column tile after the other, so that the later ones can still be rescaled
};
/// O^T += V^T P^T: 16 MFMAs. `fresh`: the accumulator counts as zero.
void emit_pv(isa::Emitter& e, const Bf16Kernel& k, PvOrder order, bool fresh);
void emit_qk(isa::Emitter& e, const Bf16Kernel& k); ///< S^T = K Q^T: 16 or 24 MFMAs
/// Reads number `first` .. `first + count - 1` of the K fragments, one instruction each, in the order in
/// which their registers get free: read number n when MFMA number n of PV and QK has been issued.
void emit_read_k(isa::Emitter& e, const Bf16Kernel& k, PvOrder order, unsigned first, unsigned count);
/// 16 fragments, two instructions each. Fragment i replaces what QK's MFMA number qk_products() - 20 + i
/// used.
void emit_read_v(isa::Emitter& e, const Bf16Kernel& k);
/// PV where V holds Inf or NaN that some rows do not see.
void emit_pv_special(isa::Emitter& e, const Bf16Kernel& k);

// Softmax phase

/// Sets mode_special where V of the block holds Inf or NaN.
void emit_find_special(isa::Emitter& e, const Bf16Kernel& k);
/// Row maximum; VCC says which rows grew by more than tau.
void emit_maximum(isa::Emitter& e, const Bf16Kernel& k);
/// Takes the new maximum where VCC says so and multiplies the first column tile; the others are left to the
/// matrix phase (mode_rescale), where they fit between the MFMAs. Ends at .Lprobabilities.
void emit_rescale(isa::Emitter& e, const Bf16Kernel& k);
/// Probabilities, their sum, packing to BF16: the vector stream of a block.
void emit_probabilities(isa::Emitter& e, const Bf16Kernel& k);

// Phases of the flow (forward_flow.hpp)

/// PV then QK, with the reads of the next operands, the fetch and the scalar work of the next block in their
/// shadow. QK's last MFMA is left to the head of the loop.
isa::Stream matrix_phase(const Bf16Kernel& k, Phase phase);
void emit_last_qk(isa::Emitter& e, const Bf16Kernel& k);
/// Probabilities with scalar work in the shadow of the exponentials.
isa::Stream softmax_phase(const Bf16Kernel& k);
void emit_to_softmax(isa::Emitter& e, const Bf16Kernel& k); ///< from a masked block
void emit_rare_pv(isa::Emitter& e, const Bf16Kernel& k);    ///< PV on its own
void emit_rare_qk(isa::Emitter& e, const Bf16Kernel& k);    ///< QK on its own, with its reads

// Scalar work of a block, to be hidden where there is room

void emit_cursor_work(isa::Emitter& e, const Bf16Kernel& k); ///< in the softmax phase, behind its branches

// Ends of a tile

/// Stores O and LSE of the tile in the accumulator. Uses the labels <label_prefix>_*.
void emit_epilogue(isa::Emitter& e, const Bf16Kernel& k, const std::string& label_prefix);
void emit_row_total(isa::Emitter& e, const Bf16Kernel& k, isa::VReg total, isa::VReg other);
void emit_output_scale(isa::Emitter& e, const Bf16Kernel& k, isa::VReg inverse, isa::SReg scratch);
void emit_add_maximum(isa::Emitter& e, const Bf16Kernel& k, isa::VReg lse);
isa::VReg emit_part_maximum(isa::Emitter& e, const Bf16Kernel& k, isa::VReg total,
                            const std::string& label_prefix);
/// The merge of a split over keys, by the workgroup that comes last (forward_merge.hpp).
void emit_merge_parts(isa::Emitter& e, const Bf16Kernel& k, const std::string& label_prefix,
                      const std::string& end);
void emit_begin_tile(isa::Emitter& e, const Bf16Kernel& k); ///< block `now` begins a tile

} // namespace zyfa::templates::attention
