// SPDX-License-Identifier: Apache-2.0
// Value types that say what is to be computed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "zyfa/export.hpp"

namespace zyfa {
inline namespace v0 {

/// Element types. e4m3 is OCP FP8 E4M3 (bias 7, no infinities, 0x7f/0xff are NaN). e4m3fnuz exists only so
/// that it can be refused by name.
enum class DType : std::uint8_t { bf16, e4m3, e4m3fnuz, f32 };

/// causal is bottom-right aligned: key j is visible to row i if j <= i + seq_kv - seq_q.
enum class Mask : std::uint8_t { none, causal };

/// How FP8 probabilities are formed (paper Section IV-B). `automatic` leaves it to zyfa. BF16 ignores it.
enum class Probability : std::uint8_t { automatic, lean, exact };

/// Strides in elements of one tensor [B, H, S, D]; the stride of D is 1.
struct Strides {
    std::int64_t batch = 0, head = 0, seq = 0;
    bool operator==(const Strides&) const = default;
};

/// What is to be computed, validated and canonical: no pointers, no device. Every field counts.
struct ZYFA_API Problem {
    DType dtype = DType::bf16; ///< of q, k and v; o is BF16, lse FP32
    std::int64_t batch = 1, heads_q = 1, heads_kv = 1, seq_q = 1, seq_kv = 1, dim_qk = 128, dim_v = 128;
    Mask mask = Mask::causal;
    Strides q, k, v, o;                                         ///< elements
    bool lse = false;                                           ///< whether the log-sum-exp is written
    std::int64_t lse_batch_stride = 0, lse_head_stride = 0;     ///< elements; rows are contiguous
    float softmax_scale = 0.0f;                                 ///< > 0
    float q_descale = 1.0f, k_descale = 1.0f, v_descale = 1.0f; ///< FP8 only: value = code * descale
    Probability probability = Probability::automatic;
    bool nan_exact = true; ///< NaN in one row or key changes no other row by a bit (docs/numerics.md)

    bool operator==(const Problem&) const = default;

    /// A contiguous problem, layout BHSD or BSHD, softmax_scale 1/sqrt(dim_qk).
    enum class Layout : std::uint8_t { bhsd, bshd };
    static Problem contiguous(DType dtype, std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                              std::int64_t seq_q, std::int64_t seq_kv, std::int64_t dim_qk,
                              std::int64_t dim_v, Mask mask, Layout layout = Layout::bhsd, bool lse = true);
};

/// One line for people: "bf16 causal B=1 Hq=8 Hkv=2 Sq=4096 Skv=4096 d=128".
ZYFA_API std::string to_string(const Problem& problem);
ZYFA_API const char* to_string(DType dtype) noexcept;
ZYFA_API const char* to_string(Mask mask) noexcept;
ZYFA_API const char* to_string(Probability probability) noexcept;

} // namespace v0
} // namespace zyfa
