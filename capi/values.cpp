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

/// What Problem and zyfa_problem call and hold alike, in either direction.
template <class From, class To>
void copy_alike(const From& from, To& to) {
    to.batch = from.batch;
    to.heads_q = from.heads_q;
    to.heads_kv = from.heads_kv;
    to.seq_q = from.seq_q;
    to.seq_kv = from.seq_kv;
    to.dim_qk = from.dim_qk;
    to.dim_v = from.dim_v;
    to.q = {from.q.batch, from.q.head, from.q.seq};
    to.k = {from.k.batch, from.k.head, from.k.seq};
    to.v = {from.v.batch, from.v.head, from.v.seq};
    to.o = {from.o.batch, from.o.head, from.o.seq};
    to.lse_batch_stride = from.lse_batch_stride;
    to.lse_head_stride = from.lse_head_stride;
    to.softmax_scale = from.softmax_scale;
    to.q_descale = from.q_descale;
    to.k_descale = from.k_descale;
    to.v_descale = from.v_descale;
}

Probability probability_of(zyfa_probability probability, const char* argument) {
    return static_cast<Probability>(
        one_of(probability, ZYFA_PROBABILITY_AUTOMATIC, ZYFA_PROBABILITY_EXACT, argument));
}

} // namespace

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
    p.probability = probability_of(c.probability, "problem.probability");
    p.lse = c.lse != 0;
    p.nan_exact = c.nan_exact != 0;
    copy_alike(c, p);
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
    copy_alike(p, c);
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
    args.probability = probability_of(c.probability, "args.probability");
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
