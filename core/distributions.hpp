// SPDX-License-Identifier: Apache-2.0
// Synthetic inputs: the distributions of the paper's Figure 15, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/reference.hpp"
#include "zyfa/problem.hpp"

namespace zyfa {

/// All but `gaussian` start from standard normal q, k and v.
enum class Distribution : std::uint8_t {
    gaussian,         ///< q, k, v of SD 0.1, as in the paper's timing runs (Section V-B)
    logit_sd_1,       ///< logits of SD 1 nat
    logit_sd_4,       ///< q and k scaled by 2: logits of SD 4 nats
    logit_sd_16,      ///< q and k scaled by 4: logits of SD 16 nats
    stepped_max,      ///< each successive 64-key block 0.5 nats higher: the row maximum keeps growing
    sink_4,           ///< the first four keys scaled by 8
    rising_logits,    ///< a linear ramp from 0 to 16 nats along the keys, in every row
    alternating_rows, ///< the same ramp in every other row
    sink_flat_tail,   ///< the first key 12 nats above a nearly uniform rest (q of SD 0.1)
    full_range,       ///< magnitudes log-uniform between 2^-6 and 2^8, random signs
};

std::span<const Distribution> all_distributions() noexcept;
const char*
to_string(Distribution distribution) noexcept; ///< "gaussian", "logit-sd-4", "sink-flat-tail", ...
Distribution
distribution_named(std::string_view name); ///< throws Error{invalid_argument} that lists the names

/// Inputs in the problem's layout; padding between rows is zero.
struct DrawnInputs {
    std::vector<std::byte> q, k, v;
    float q_descale = 1, k_descale = 1, v_descale = 1; ///< e4m3: power of two per tensor; BF16: 1
    HostTensors tensors() const { return {q, k, v}; }
};

/// Draws q, k and v of `problem` (its sizes, strides, dtype and softmax_scale) from `seed`. Values are
/// rounded to BF16; for e4m3 they are then quantised per tensor by the largest power of two that keeps the
/// largest magnitude at most 448, and the problem's own descales are not looked at: the returned ones belong
/// to the codes. A value depends on seed, tensor, batch entry, head, row and column only, so that a cut
/// problem gets a cut of the data (ramps span the length at hand). Logits are raised through four channels of
/// k that meet a constant in q, so dim_qk is at least 8.
DrawnInputs draw_inputs(const Problem& problem, Distribution distribution, std::uint64_t seed);

/// Quantises values to e4m3 codes as draw_inputs does; returns the descale.
float quantise_e4m3(std::span<const float> values, std::span<std::uint8_t> codes);

} // namespace zyfa
