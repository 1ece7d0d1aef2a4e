// SPDX-License-Identifier: Apache-2.0
// Where the elements of a strided tensor lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "zyfa/problem.hpp"

namespace zyfa::tuner {

/// Where the elements of one tensor [B, H, S, D] lie. The innermost stride is 1.
struct TensorLayout {
    std::array<std::int64_t, 4> sizes{};
    Strides strides; ///< elements
    std::size_t element_bytes = 2;

    /// Bytes from the base to the end of the last element.
    std::size_t extent_bytes() const;
    /// Byte offset of element (b, h, s, 0).
    std::size_t row_offset(std::int64_t batch, std::int64_t head, std::int64_t row) const;
    std::size_t row_bytes() const { return static_cast<std::size_t>(sizes[3]) * element_bytes; }
};

TensorLayout layout_q(const Problem& problem);
TensorLayout layout_k(const Problem& problem);
TensorLayout layout_v(const Problem& problem);
TensorLayout layout_o(const Problem& problem);
/// [B, Hq, 1, Sq] of FP32: a head is one row.
TensorLayout layout_lse(const Problem& problem);

} // namespace zyfa::tuner
