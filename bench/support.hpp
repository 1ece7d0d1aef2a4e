// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: folders, the fake HIP library, problems, and calls on it.
#pragma once

#include <string>

#include "zyfa/attention.hpp"
#include "zyfa/context.hpp"

namespace zyfa::bench {

/// Causal, d = 128, [1, heads, seq, 128], GQA 4:1 where heads allow it.
Problem problem(std::int64_t heads, std::int64_t seq, DType dtype = DType::bf16);

/// Options on the HIP library whose launches do nothing: a first call assembles the default schedule, later
/// calls cost what zyfa costs.
ContextOptions fake_device();

/// Arguments for `problem` on memory of `allocate(bytes)`.
template <class Allocate>
AttentionArgs arguments(const Problem& p, Allocate allocate);

class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

template <class Allocate>
AttentionArgs arguments(const Problem& p, Allocate allocate) {
    constexpr std::int64_t element = 2; // of BF16; e4m3 leaves half of it
    const auto view = [&](std::int64_t heads, std::int64_t rows, std::int64_t dim, const Strides& strides) {
        return TensorView{.data = allocate(static_cast<std::size_t>(p.batch * heads * rows * dim * element)),
                          .dtype = p.dtype,
                          .device = 0,
                          .sizes = {p.batch, heads, rows, dim},
                          .strides = {strides.batch, strides.head, strides.seq, 1}};
    };
    AttentionArgs args;
    args.q = view(p.heads_q, p.seq_q, p.dim_qk, p.q);
    args.k = view(p.heads_kv, p.seq_kv, p.dim_qk, p.k);
    args.v = view(p.heads_kv, p.seq_kv, p.dim_v, p.v);
    args.o = view(p.heads_q, p.seq_q, p.dim_v, p.o);
    args.o.dtype = DType::bf16;
    args.lse = static_cast<float*>(
        allocate(static_cast<std::size_t>(p.batch * p.heads_q * p.seq_q) * sizeof(float)));
    args.mask = p.mask;
    return args;
}

} // namespace zyfa::bench
