// SPDX-License-Identifier: Apache-2.0
// C values as C++ values, and back.
#pragma once

#include <optional>

#include "zyfa.h"
#include "zyfa/attention.hpp"

namespace zyfa::capi {

/// Throw Error{invalid_argument} naming the member where a value is not one of its enumeration.
Problem problem_of(const zyfa_problem* problem);
AttentionArgs arguments_of(const zyfa_attention_args* args);
TensorView view_of(const zyfa_tensor& tensor, const char* dtype_name);
std::optional<float> optional_of(const float* value);
DType dtype_of(zyfa_dtype dtype, const char* argument);
Mask mask_of(zyfa_mask mask, const char* argument);

zyfa_problem c_problem(const Problem& problem);

} // namespace zyfa::capi
