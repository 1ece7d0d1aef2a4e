// SPDX-License-Identifier: Apache-2.0
#include "capi/values.hpp"

#include <algorithm>
#include <cstring>

#include "capi/status.hpp"

namespace zyfa::capi {
namespace {

int one_of(int value, int first, int last, const char* argument) {
    if (value < first || value > last)
        refuse(argument, std::to_string(value), std::to_string(first) + " to " + std::to_string(last));
    return value;
}

Strides strides_of(const zyfa_strides& s) {
    return {s.batch, s.head, s.seq};
}

zyfa_strides c_strides(const Strides& s) {
    return {s.batch, s.head, s.seq};
}

TensorView view_of(const zyfa_tensor& tensor, const char* dtype_name) {
    TensorView view;
    view.data = tensor.data;
    view.dtype = dtype_of(tensor.dtype, dtype_name);
    view.device = tensor.device;
    std::copy_n(tensor.sizes, 4, view.sizes.begin());
    std::copy_n(tensor.strides, 4, view.strides.begin());
    return view;
}

std::optional<float> optional_of(const float* value) {
    return value ? std::optional<float>(*value) : std::nullopt;
}

} // namespace

DType dtype_of(zyfa_dtype dtype, const char* argument) {
    return static_cast<DType>(one_of(dtype, ZYFA_BF16, ZYFA_F32, argument));
}

Mask mask_of(zyfa_mask mask, const char* argument) {
    return static_cast<Mask>(one_of(mask, ZYFA_MASK_NONE, ZYFA_MASK_CAUSAL, argument));
}

Problem problem_of(const zyfa_problem* c_problem) {
    const zyfa_problem& c = sized(c_problem, "problem");
    Problem p;
    p.dtype = dtype_of(c.dtype, "problem.dtype");
    p.mask = mask_of(c.mask, "problem.mask");
    p.probability = static_cast<Probability>(
        one_of(c.probability, ZYFA_PROBABILITY_AUTOMATIC, ZYFA_PROBABILITY_EXACT, "problem.probability"));
    p.lse = c.lse != 0;
    p.nan_exact = c.nan_exact != 0;
    p.batch = c.batch;
    p.heads_q = c.heads_q;
    p.heads_kv = c.heads_kv;
    p.seq_q = c.seq_q;
    p.seq_kv = c.seq_kv;
    p.dim_qk = c.dim_qk;
    p.dim_v = c.dim_v;
    p.q = strides_of(c.q);
    p.k = strides_of(c.k);
    p.v = strides_of(c.v);
    p.o = strides_of(c.o);
    p.lse_batch_stride = c.lse_batch_stride;
    p.lse_head_stride = c.lse_head_stride;
    p.softmax_scale = c.softmax_scale;
    p.q_descale = c.q_descale;
    p.k_descale = c.k_descale;
    p.v_descale = c.v_descale;
    return p;
}

zyfa_problem c_problem(const Problem& p) {
    zyfa_problem c{};
    c.struct_size = sizeof c;
    c.dtype = static_cast<zyfa_dtype>(p.dtype);
    c.mask = static_cast<zyfa_mask>(p.mask);
    c.probability = static_cast<zyfa_probability>(p.probability);
    c.lse = p.lse;
    c.nan_exact = p.nan_exact;
    c.batch = p.batch;
    c.heads_q = p.heads_q;
    c.heads_kv = p.heads_kv;
    c.seq_q = p.seq_q;
    c.seq_kv = p.seq_kv;
    c.dim_qk = p.dim_qk;
    c.dim_v = p.dim_v;
    c.q = c_strides(p.q);
    c.k = c_strides(p.k);
    c.v = c_strides(p.v);
    c.o = c_strides(p.o);
    c.lse_batch_stride = p.lse_batch_stride;
    c.lse_head_stride = p.lse_head_stride;
    c.softmax_scale = p.softmax_scale;
    c.q_descale = p.q_descale;
    c.k_descale = p.k_descale;
    c.v_descale = p.v_descale;
    return c;
}

AttentionArgs arguments_of(const zyfa_attention_args* c_args) {
    const zyfa_attention_args& c = sized(c_args, "args");
    AttentionArgs args;
    args.q = view_of(c.q, "args.q.dtype");
    args.k = view_of(c.k, "args.k.dtype");
    args.v = view_of(c.v, "args.v.dtype");
    args.o = view_of(c.o, "args.o.dtype");
    args.lse = c.lse;
    args.lse_batch_stride = c.lse_batch_stride;
    args.lse_head_stride = c.lse_head_stride;
    args.mask = mask_of(c.mask, "args.mask");
    args.probability = static_cast<Probability>(
        one_of(c.probability, ZYFA_PROBABILITY_AUTOMATIC, ZYFA_PROBABILITY_EXACT, "args.probability"));
    if (c.mode != ZYFA_MODE_CONTEXT)
        args.mode = static_cast<Mode>(one_of(c.mode, ZYFA_MODE_OFF, ZYFA_MODE_MUST_HIT, "args.mode"));
    args.nan_exact = c.nan_exact != 0;
    args.softmax_scale = optional_of(c.softmax_scale);
    args.q_descale = optional_of(c.q_descale);
    args.k_descale = optional_of(c.k_descale);
    args.v_descale = optional_of(c.v_descale);
    args.stream = c.stream;
    return args;
}

} // namespace zyfa::capi

zyfa_status zyfa_problem_contiguous(zyfa_problem* problem, zyfa_dtype dtype, int64_t batch, int64_t heads_q,
                                    int64_t heads_kv, int64_t seq_q, int64_t seq_kv, int64_t dim_qk,
                                    int64_t dim_v, zyfa_mask mask, zyfa_layout layout) {
    using namespace zyfa;
    return capi::guarded([&] {
        if (layout != ZYFA_BHSD && layout != ZYFA_BSHD)
            capi::refuse("layout", std::to_string(layout), "ZYFA_BHSD, ZYFA_BSHD");
        capi::required(problem, "problem") = capi::c_problem(
            Problem::contiguous(capi::dtype_of(dtype, "dtype"), batch, heads_q, heads_kv, seq_q, seq_kv,
                                dim_qk, dim_v, capi::mask_of(mask, "mask"),
                                layout == ZYFA_BHSD ? Problem::Layout::bhsd : Problem::Layout::bshd));
    });
}

zyfa_status zyfa_problem_text(const zyfa_problem* problem, char* buffer, size_t size, size_t* needed) {
    return zyfa::capi::guarded([&] {
        const std::string text = zyfa::to_string(zyfa::capi::problem_of(problem));
        if (size > 0) {
            char* out = &zyfa::capi::required(buffer, "buffer");
            const size_t count = std::min(size - 1, text.size());
            std::memcpy(out, text.data(), count);
            out[count] = '\0';
        }
        if (needed)
            *needed = text.size() + 1;
    });
}
