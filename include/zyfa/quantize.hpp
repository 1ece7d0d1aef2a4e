// SPDX-License-Identifier: Apache-2.0
// zyfa::quantize: BF16 to e4m3 on the device, so that BF16 tensors can be given to the FP8 kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "zyfa/context.hpp"

namespace zyfa {
inline namespace v0 {

/// K smoothing: the mean key of each head is subtracted from its keys. All scores of a query fall by the same
/// value, which the softmax cancels, but LSE does not: add_mean_score() adds it back. (Paper Section V-E.)
enum class Smoothing : std::uint8_t {
    none,
    measured, ///< the mean over the sequence, written to `mean`; what is not finite counts as 0
    given,    ///< `mean` as it is: where keys of one row come from several calls, they need the same mean
};
ZYFA_API const char* to_string(Smoothing smoothing) noexcept;

/// What a quantization found.
struct QuantizeReport {
    float descale = 1;            ///< value = code * descale
    std::uint32_t clamped = 0;    ///< finite values beyond 448 * descale, which got the code of +-448
    std::uint32_t non_finite = 0; ///< NaN and infinities (after the transform), which got the code of NaN
    float largest = 0;            ///< per-call scale: largest finite magnitude after the transform; else 0
};

struct QuantizeArgs {
    TensorView x;     ///< BF16 [B, H, S, D]; D is 64, 96, 128, 192 or 256; strides as attention() takes them
    TensorView codes; ///< e4m3, the sizes of x
    /// Static scale: one pass. Unset: the smallest power of two with which the largest finite magnitude fits
    /// is found first, in a pass of its own (1 where there are but zeros).
    std::optional<float> descale;
    /// Multiplies every row, after smoothing, by R = diag(s) (C_m (x) H_D/m): random signs s, the Hadamard
    /// matrix H, and for D = 96 and 192 the DCT-II C of size m = 3 (paper Section V-E). R is orthogonal, and
    /// Q K^T keeps its value where q and k are both rotated. See rotation_element().
    bool rotate = false;
    Smoothing smoothing = Smoothing::none;
    float* mean = nullptr; ///< device memory, FP32 [B, H, D], contiguous; null without smoothing
    /// softmax_scale * k_descale of the attention call that `codes` will be q of, where its score scale is to
    /// be folded: the descale is then not a power of two but the smallest value with which
    /// softmax_scale * q_descale * k_descale * log2(e) is one. Not beside `descale`: see folded_descale().
    std::optional<float> fold_scale;
    void* stream = nullptr; ///< hipStream_t; null is the default stream of x's device
};

/// Codes and report. Waits for the stream. Throws Error before any launch; while the stream captures, use
/// quantize_async().
ZYFA_API QuantizeReport quantize(Context& context, const QuantizeArgs& args);
ZYFA_API QuantizeReport quantize(const QuantizeArgs& args); ///< on the process-wide context

/// The same without waiting. `report` is device memory of a QuantizeReport, multiple of 4 bytes, or null with
/// a static scale. May be captured once the kind is resident: after a call of it, or prepare_quantize().
ZYFA_API void quantize_async(Context& context, const QuantizeArgs& args, QuantizeReport* report);

/// Makes the kernels for rows of `dim` elements resident on `device`.
ZYFA_API void prepare_quantize(Context& context, std::int64_t dim, bool rotate, bool smooth, int device = 0);

/// The smallest descale, at least `at_least`, with which softmax_scale * descale * k_descale * log2(e) is a
/// power of two: a static scale to be folded. Throws Error{invalid_argument} unless all are finite and > 0.
ZYFA_API float folded_descale(float at_least, float softmax_scale, float k_descale);

/// LSE of the keys as they were from that of the smoothed ones.
struct MeanScoreArgs {
    TensorView q;                ///< BF16 [B, Hq, S, D], not rotated
    const float* mean = nullptr; ///< FP32 [B, Hkv, D], as quantize() left it
    std::int64_t heads_kv = 1;
    float* lse = nullptr; ///< FP32 [B, Hq, S], natural logarithm, of attention() on the smoothed keys
    std::int64_t lse_batch_stride = 0, lse_head_stride = 0; ///< elements; both 0 means contiguous
    std::optional<float> softmax_scale;                     ///< default 1/sqrt(D)
    void* stream = nullptr;
};

/// lse += softmax_scale * q . mean, asynchronously. Rows that see no key keep -inf.
ZYFA_API void add_mean_score(Context& context, const MeanScoreArgs& args);

/// Element of the rotation R of rows of `dim` elements (0 <= row, column < dim); x R is the rotated row.
/// Throws Error{unsupported} for a dimension that quantize() does not rotate.
ZYFA_API double rotation_element(std::int64_t dim, std::int64_t row, std::int64_t column);

} // namespace v0
} // namespace zyfa
