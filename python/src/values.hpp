// SPDX-License-Identifier: Apache-2.0
// PyTorch's tensors as views, by their Python attributes: the extension is not built against PyTorch, and one
// build serves every version of it. And explanations as dictionaries.
#pragma once

#include <nanobind/nanobind.h>

#include "zyfa/context.hpp"

namespace zyfa::python {

/// The dtype objects torch.bfloat16, float8_e4m3fn, float8_e4m3fnuz (or None), and
/// torch.Tensor.__dlpack_c_exchange_api__ (or None); once, at import.
void register_torch(nanobind::object bf16, nanobind::object e4m3, nanobind::object e4m3fnuz,
                    nanobind::object exchange_api);

/// For bench/python_call.py, whose CPU tensors lie in memory of device_allocate.
void take_cpu_memory_as_device_memory();

/// A tensor [B, S, H, D]. On the simulator, tensors are the CPU's and the view's device is 0. `address`:
/// whether data_ptr() is asked for (tensors on the meta device have none). Throws Error{unsupported} for
/// another dtype, Error{invalid_argument} for another number of dimensions or a tensor of the wrong kind of
/// device.
TensorView view_of(nanobind::handle tensor, const char* name, bool simulated, bool address = true);

/// data_ptr() of a tensor.
void* address_of(nanobind::handle tensor);

/// As view_of for the output, which is BF16.
TensorView output_view_of(nanobind::handle tensor, bool simulated, bool address = true);

std::size_t element_bytes(DType dtype);

/// Bytes from the first to the last element that the view reaches.
std::size_t reach(const TensorView& view);

nanobind::dict dict_of(const Explanation& explanation);

} // namespace zyfa::python
