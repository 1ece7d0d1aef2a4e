// SPDX-License-Identifier: Apache-2.0
// Layouts of a problem's tensors.
#include "tuner/tensor_layout.hpp"

namespace zyfa::tuner {

namespace {

TensorLayout layout(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t dim,
                    const Strides& strides, std::size_t element_bytes) {
    return {{batch, heads, rows, dim}, strides, element_bytes};
}

std::size_t input_bytes(const Problem& problem) {
    return problem.dtype == DType::bf16 ? 2 : 1;
}

} // namespace

std::size_t TensorLayout::extent_bytes() const {
    return row_offset(sizes[0] - 1, sizes[1] - 1, sizes[2] - 1) + row_bytes();
}

std::size_t TensorLayout::row_offset(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return static_cast<std::size_t>(batch * strides.batch + head * strides.head + row * strides.seq) *
           element_bytes;
}

TensorLayout layout_q(const Problem& p) {
    return layout(p.batch, p.heads_q, p.seq_q, p.dim_qk, p.q, input_bytes(p));
}
TensorLayout layout_k(const Problem& p) {
    return layout(p.batch, p.heads_kv, p.seq_kv, p.dim_qk, p.k, input_bytes(p));
}
TensorLayout layout_v(const Problem& p) {
    return layout(p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v, input_bytes(p));
}
TensorLayout layout_o(const Problem& p) {
    return layout(p.batch, p.heads_q, p.seq_q, p.dim_v, p.o, 2);
}
TensorLayout layout_lse(const Problem& p) {
    return layout(p.batch, p.heads_q, 1, p.seq_q, {p.lse_batch_stride, p.lse_head_stride, 0}, 4);
}

} // namespace zyfa::tuner
