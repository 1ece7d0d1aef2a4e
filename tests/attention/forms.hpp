// SPDX-License-Identifier: Apache-2.0
// The four kernels as tests name them: element type and query-key dimension; the value dimension is 128.
#pragma once

#include <array>
#include <cstdint>

#include "zyfa/problem.hpp"

namespace zyfa::test {

struct Form {
    DType dtype;
    std::int64_t dim_qk;
};

inline constexpr std::array<Form, 4> forms{
    {{DType::bf16, 128}, {DType::bf16, 192}, {DType::e4m3, 128}, {DType::e4m3, 192}}};

inline Problem shape(const Form& form, std::int64_t batch, std::int64_t heads_q, std::int64_t heads_kv,
                     std::int64_t seq_q, std::int64_t seq_kv, Mask mask = Mask::causal,
                     Problem::Layout layout = Problem::Layout::bhsd) {
    return Problem::contiguous(form.dtype, batch, heads_q, heads_kv, seq_q, seq_kv, form.dim_qk, 128, mask,
                               layout);
}

} // namespace zyfa::test
