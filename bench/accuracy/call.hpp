// SPDX-License-Identifier: Apache-2.0
// One attention call from BF16 tensors: quantised on the device, run with a schedule of choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/distributions.hpp"
#include "core/reference.hpp"
#include "core/schedule.hpp"
#include "zyfa/context.hpp"

namespace zyfa::accuracy {

/// BF16 tensors [B, H, S, D], contiguous; the problem's dtype is bf16.
struct Values {
    Problem problem;
    std::vector<std::byte> q, k, v;
    HostTensors tensors() const { return {q, k, v}; }
};

/// A distribution of the paper's Figure 15, causal, d = 128.
Values drawn(Distribution distribution, std::int64_t heads, std::int64_t seq, std::uint64_t seed);
/// q and k of SD 0.25 with channels 5 and 77 of both times 16: what a rotation is for. v is standard normal.
Values with_outliers(std::int64_t seq, std::uint64_t seed);
/// The first `seq` rows and `heads` query heads (0: all) of a captured layer. Throws Error for a file that is
/// none.
Values captured(const std::string& file, std::int64_t seq, std::int64_t heads);

struct Transform {
    bool rotate = false, smooth = false;
};

/// Codes of q, k and v with per-call scales, and the problem that they belong to (e4m3, its descales set).
struct Codes {
    Problem problem;
    std::vector<std::byte> q, k, v;
    HostTensors tensors() const { return {q, k, v}; }
};
/// By zyfa::quantize; q and k are transformed, v is not.
Codes quantised(Context& context, const Values& values, Transform transform);

struct Output {
    std::vector<std::byte> o;   ///< BF16, in the problem's layout
    std::vector<std::byte> lse; ///< FP32
};
/// The template's default schedule with `probability` and `key_order` ("from_first", "from_diagonal") set,
/// keys not split.
Output run(Context& context, const Codes& codes, Probability probability, const std::string& key_order);

} // namespace zyfa::accuracy
