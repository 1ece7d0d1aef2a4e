// SPDX-License-Identifier: Apache-2.0
#include "tests/attention/exact_call.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/reference.hpp"
#include "tests/attention/rig.hpp"
#include "tuner/tensor_layout.hpp"

namespace zyfa::test {

namespace {

using tuner::TensorLayout;

struct Tensor {
    TensorLayout layout;
    runtime::DeviceBuffer buffer;

    Tensor(Context& context, const TensorLayout& l)
        : layout(l), buffer(runtime_of(context), 0, l.extent_bytes()) {}

    /// A simulated device address is the host address of the byte behind it.
    std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(buffer.data()) + offset; }

    template <class Action>
    void for_rows(const Action& action) const {
        for (std::int64_t b = 0; b < layout.sizes[0]; ++b)
            for (std::int64_t h = 0; h < layout.sizes[1]; ++h)
                for (std::int64_t s = 0; s < layout.sizes[2]; ++s)
                    action(b, h, s);
    }
    void scatter(const TensorLayout& dense, const std::vector<std::byte>& values) const {
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t s) {
            std::memcpy(at(layout.row_offset(b, h, s)), values.data() + dense.row_offset(b, h, s),
                        layout.row_bytes());
        });
    }
    void gather(const TensorLayout& dense, void* values) const {
        std::vector<std::size_t> ends;
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t s) {
            const std::size_t offset = layout.row_offset(b, h, s);
            std::memcpy(static_cast<std::byte*>(values) + dense.row_offset(b, h, s), at(offset),
                        layout.row_bytes());
            ends.push_back(offset);
        });
        std::sort(ends.begin(), ends.end());
        for (std::size_t i = 0; i + 1 < ends.size(); ++i)
            for (std::size_t byte = ends[i] + layout.row_bytes();
                 byte < std::min(ends[i + 1], ends[i] + layout.row_bytes() + 256); ++byte)
                if (*at(byte) != std::byte{0})
                    throw std::logic_error("a byte between two rows of an output was written");
    }
    TensorView view(DType dtype) const {
        return {buffer.data(),
                dtype,
                0,
                layout.sizes,
                {layout.strides.batch, layout.strides.head, layout.strides.seq, 1}};
    }
};

} // namespace

bool Result::operator==(const Result& other) const {
    return o == other.o && lse.size() == other.lse.size() &&
           std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
}

Result call(Context& context, const Problem& dense, const DrawnInputs& values, const Problem& p) {
    const Tensor q(context, tuner::layout_q(p)), k(context, tuner::layout_k(p)),
        v(context, tuner::layout_v(p)), o(context, tuner::layout_o(p)), lse(context, tuner::layout_lse(p));
    q.scatter(tuner::layout_q(dense), values.q);
    k.scatter(tuner::layout_k(dense), values.k);
    v.scatter(tuner::layout_v(dense), values.v);
    AttentionArgs args;
    args.q = q.view(p.dtype), args.k = k.view(p.dtype), args.v = v.view(p.dtype);
    args.o = o.view(DType::bf16);
    args.lse = static_cast<float*>(lse.buffer.data());
    args.lse_batch_stride = p.lse_batch_stride, args.lse_head_stride = p.lse_head_stride;
    args.mask = p.mask;
    args.softmax_scale = p.softmax_scale;
    if (p.dtype == DType::e4m3) {
        args.q_descale = values.q_descale;
        args.k_descale = values.k_descale;
        args.v_descale = values.v_descale;
    }
    context.attention(args);
    runtime::synchronize(*runtime_of(context), 0);

    const Problem out = Problem::contiguous(p.dtype, p.batch, p.heads_q, p.heads_kv, p.seq_q, p.seq_kv,
                                            p.dim_qk, p.dim_v, p.mask);
    Result result;
    const auto rows = static_cast<std::size_t>(p.batch * p.heads_q * p.seq_q);
    result.o.resize(rows * static_cast<std::size_t>(p.dim_v));
    result.lse.resize(rows);
    o.gather(tuner::layout_o(out), result.o.data());
    lse.gather(tuner::layout_lse(out), result.lse.data());
    return result;
}

void put(DType dtype, std::vector<std::byte>& tensor, std::size_t element, float value) {
    if (dtype == DType::e4m3) {
        tensor[element] = std::byte{float_to_e4m3(value)};
        return;
    }
    const std::uint16_t bits = float_to_bf16(value);
    std::memcpy(tensor.data() + 2 * element, &bits, 2);
}

DrawnInputs constant_qk(const Problem& p, float q, float k) {
    DrawnInputs inputs;
    const auto fill = [&p](std::vector<std::byte>& tensor, std::int64_t elements, float value) {
        tensor.resize(static_cast<std::size_t>((p.dtype == DType::e4m3 ? 1 : 2) * elements));
        for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i)
            put(p.dtype, tensor, i, value);
    };
    fill(inputs.q, p.batch * p.heads_q * p.seq_q * p.dim_qk, q);
    fill(inputs.k, p.batch * p.heads_kv * p.seq_kv * p.dim_qk, k);
    fill(inputs.v, p.batch * p.heads_kv * p.seq_kv * p.dim_v, 0.0f);
    return inputs;
}

} // namespace zyfa::test
