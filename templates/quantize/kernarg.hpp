// SPDX-License-Identifier: Apache-2.0
// The kernel-argument block that the kernels of one quantization share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "templates/attention/kernarg.hpp"

namespace zyfa::templates::quantize {

/// What the cast leaves in device memory; the same layout as zyfa::QuantizeReport.
struct Report {
    float descale;
    std::uint32_t clamped, non_finite;
    std::uint32_t largest_bits; ///< per-call scales: bits of the largest finite magnitude after the transform
};
static_assert(sizeof(Report) == 16);

/// Strides are in bytes; batch and head strides are 64-bit, row strides at most 2^25.
struct Kernarg {
    std::uint64_t x = 0;      ///< BF16 [B, H, S, D]
    std::uint64_t codes = 0;  ///< e4m3, the same sizes
    std::uint64_t mean = 0;   ///< FP32 [B, H, D], contiguous: mean key per head
    std::uint64_t report = 0; ///< Report
    std::int64_t x_batch = 0, x_head = 0, codes_batch = 0, codes_head = 0;
    std::uint32_t x_row = 0, codes_row = 0;
    std::uint32_t rows = 0, heads = 0;
    // 80: the scale. Static: what values are multiplied by (the rotation's norm included), and the descale.
    // Per call: the same for the descale's unit; the kernel shifts both by the power of two that it finds.
    float multiplier = 1, descale = 1;
    std::uint32_t limit_bits = 0; ///< largest magnitude that fits with the unit as descale
    std::uint32_t per_call = 0;   ///< 1: the power of two follows from report.largest_bits
    float norm = 1;               ///< of the rotation: magnitudes before scaling are multiplied by it
    std::uint32_t step = 0;       ///< rows that all workgroups of a head take at once
    std::uint32_t parts = 0;      ///< partial sums per head, a multiple of 4
    float inverse_rows = 0;
    // 112
    std::uint64_t sums = 0; ///< FP32 [B, H, parts, D]: partial sums of the keys
    std::uint64_t lse = 0;  ///< FP32, natural logarithm; rows contiguous
    std::int64_t lse_batch = 0, lse_head = 0;
    float softmax_scale = 0;
    attention::Divider by_group;  ///< query heads per key head
    std::uint32_t mean_heads = 0; ///< key heads
    std::uint32_t reserved[24] = {};
    /// 256: a row of BF16 zeros with the rotation's random signs
    std::array<std::uint16_t, 256> signs{};
};
static_assert(sizeof(Kernarg) == 768);
static_assert(offsetof(Kernarg, x_batch) == 32 && offsetof(Kernarg, x_row) == 64 &&
              offsetof(Kernarg, multiplier) == 80 && offsetof(Kernarg, sums) == 112 &&
              offsetof(Kernarg, softmax_scale) == 144 && offsetof(Kernarg, signs) == 256);

} // namespace zyfa::templates::quantize
