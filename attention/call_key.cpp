// SPDX-License-Identifier: Apache-2.0
// Keys and arguments made from problems.
#include "attention/call_key.hpp"

namespace zyfa::call {

namespace {

TensorView tensor(std::uintptr_t address, DType dtype, int device, std::int64_t batch, std::int64_t heads,
                  std::int64_t seq, std::int64_t dim, const Strides& strides) {
    TensorView view;
    view.data = reinterpret_cast<void*>(address);
    view.dtype = dtype;
    view.device = device;
    view.sizes = {batch, heads, seq, dim};
    view.strides = {strides.batch, strides.head, strides.seq, 1};
    return view;
}

} // namespace

AttentionArgs arguments_of(const Problem& p, int device) {
    // Far enough apart that tensors of the largest extent (2^32 - 1 bytes) do not overlap; never
    // dereferenced.
    constexpr std::uintptr_t apart = std::uintptr_t{1} << 33;
    AttentionArgs args;
    args.q = tensor(1 * apart, p.dtype, device, p.batch, p.heads_q, p.seq_q, p.dim_qk, p.q);
    args.k = tensor(2 * apart, p.dtype, device, p.batch, p.heads_kv, p.seq_kv, p.dim_qk, p.k);
    args.v = tensor(3 * apart, p.dtype, device, p.batch, p.heads_kv, p.seq_kv, p.dim_v, p.v);
    args.o = tensor(4 * apart, DType::bf16, device, p.batch, p.heads_q, p.seq_q, p.dim_v, p.o);
    if (p.lse) {
        args.lse = reinterpret_cast<float*>(5 * apart);
        args.lse_batch_stride = p.lse_batch_stride;
        args.lse_head_stride = p.lse_head_stride;
    }
    args.mask = p.mask;
    if (p.softmax_scale != 0.0f)
        args.softmax_scale = p.softmax_scale;
    const auto descale = [](std::optional<float>& to, float value) {
        if (value != 1.0f)
            to = value;
    };
    descale(args.q_descale, p.q_descale);
    descale(args.k_descale, p.k_descale);
    descale(args.v_descale, p.v_descale);
    args.probability = p.probability;
    args.nan_exact = p.nan_exact;
    return args;
}

CallKey call_key(const Problem& problem, int device, Mode mode) noexcept {
    return call_key(arguments_of(problem, device), mode);
}

} // namespace zyfa::call
