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

/// Largest extent of one tensor, first to last byte: 32-bit buffer offsets on the device.
inline constexpr std::uint64_t max_extent_bytes = 0xffffffffu;

/// Bytes from the first to the last element of a tensor of elements of `element_bytes`, inclusive.
std::uint64_t extent_bytes(const Strides& strides, std::int64_t batch, std::int64_t heads, std::int64_t seq,
                           std::int64_t dim, std::uint32_t element_bytes);

} // namespace zyfa
