// SPDX-License-Identifier: Apache-2.0
// zyfa::attention: fused attention forward on gfx950.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "zyfa/error.hpp"
#include "zyfa/problem.hpp"

namespace zyfa {
inline namespace v0 {

/// A view of a device tensor [B, H, S, D]. BSHD memory is expressed through the strides.
/// data and every stride but the last are multiples of 16 bytes; strides[3] is 1. Nothing is read past the
/// last element that the sizes and strides reach.
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::bf16;
    int device = 0; ///< HIP device ordinal
    std::array<std::int64_t, 4> sizes{};
    std::array<std::int64_t, 4> strides{}; ///< elements
};

enum class Mode : std::uint8_t {
    off,      ///< default schedule, nothing is stored
    replay,   ///< a stored winner if there is one, else the default schedule
    tune,     ///< tune on a miss, within the wall-clock budget, and store the winner
    must_hit, ///< a miss is an error that names the key
};
ZYFA_API const char* to_string(Mode mode) noexcept;

struct AttentionArgs {
    TensorView q, k, v, o;
    float* lse = nullptr; ///< optional, FP32 [B, Hq, Sq], natural logarithm; rows that see no key give -inf
    std::int64_t lse_batch_stride = 0, lse_head_stride = 0; ///< elements; both 0 means contiguous
    Mask mask = Mask::causal;
    std::optional<float> softmax_scale;                   ///< default 1/sqrt(dim_qk)
    std::optional<float> q_descale, k_descale, v_descale; ///< e4m3 only; default 1
    Probability probability = Probability::automatic;
    std::optional<Mode> mode; ///< default: that of the context
    bool nan_exact = true;
    void* stream = nullptr; ///< hipStream_t; null is the default stream of q's device
};

/// O = softmax(softmax_scale * Q K^T + mask) V, asynchronously on `args.stream`, through the process-wide
/// Context. A row that sees no key gives O = 0 and LSE = -inf. Throws Error before any launch. (Paper Section
/// II-B.)
ZYFA_API void attention(const AttentionArgs& args);

} // namespace v0
} // namespace zyfa
