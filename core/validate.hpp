// SPDX-License-Identifier: Apache-2.0
// From the arguments of a call to a Problem: every refusal that needs no knowledge of kernels.
#pragma once

#include <cstdint>

#include "zyfa/attention.hpp"

namespace zyfa {

/// Checks the arguments and returns what they ask for in canonical form: equal work gives equal problems
/// (strides over a size of 1 and, for BF16, descales and `probability` are set to fixed values; defaults are
/// filled in). Allocates nothing unless it refuses. Throws Error{invalid_argument} where arguments are
/// malformed or disagree, Error{unsupported} where they are well-formed but out of range; the message names
/// the argument, its value and what is accepted. Which head dimensions have a kernel is the templates' to
/// say.
Problem validate(const AttentionArgs& args);

/// Largest extent of one tensor, first to last byte. Kernels give every tile a base address of its own, 64
/// bits wide; buffer descriptors hold 48 of them (CDNA4 ISA, buffer resource descriptor), and the upper half
/// of that is not a process's.
inline constexpr std::uint64_t max_extent_bytes = std::uint64_t{1} << 47;
/// Largest distance of two rows of one head: offsets within a tile are 32-bit, and the largest block of keys
/// has 128 rows.
inline constexpr std::int64_t max_row_stride_bytes = std::int64_t{1} << 25;

/// Bytes from the first to the last element of a tensor of elements of `element_bytes`, inclusive.
std::uint64_t extent_bytes(const Strides& strides, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                           std::int64_t dim, std::uint32_t element_bytes);

/// One tensor on its own: that it is there, its sizes, alignment, strides and extent. Strides are canonical.
struct ValidTensor {
    Strides strides;
    std::uint64_t bytes = 0; ///< first to last element
};
ValidTensor validate_tensor(const char* name, const TensorView& view);
/// That the elements of an output are distinct.
void validate_output(const char* name, const TensorView& view, const Strides& strides);
/// LSE of [batch, heads, seq] floats: alignment, strides (both 0: contiguous), distinct elements. Strides are
/// canonical. `lse` is not null.
struct ValidLse {
    std::int64_t batch = 0, head = 0; ///< elements
    std::uint64_t bytes = 0;          ///< first to last element
};
ValidLse validate_lse(const float* lse, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                      std::int64_t batch_stride, std::int64_t head_stride);
/// That an output does not lie in an input's memory.
void validate_apart(const char* output, const void* out, std::uint64_t out_bytes, const char* input,
                    const void* in, std::uint64_t in_bytes);

} // namespace zyfa
