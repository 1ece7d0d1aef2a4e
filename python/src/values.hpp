// SPDX-License-Identifier: Apache-2.0
// What Python passes about tensors, as views, and explanations as dictionaries.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "zyfa/context.hpp"

namespace zyfa::python {

/// A tensor [B, S, H, D] by its address, shape and stride (tuples of 4 integers, strides in elements).
TensorView view_of(std::uintptr_t data, const nanobind::tuple& shape, const nanobind::tuple& stride,
                   DType dtype, int device);

/// Bytes from the first to the last element that the view reaches.
std::size_t reach(const TensorView& view);

nanobind::dict dict_of(const Explanation& explanation);

} // namespace zyfa::python
