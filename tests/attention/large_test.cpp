// SPDX-License-Identifier: Apache-2.0
// Tensors that reach beyond 4 GiB. The simulator backs memory page by page, so only what is touched exists.
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "core/distributions.hpp"
#include "tests/attention/rig.hpp"
#include "tuner/tensor_layout.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

using tuner::TensorLayout;

/// One tensor in device memory that nobody fills, reads or copies as a whole.
struct Sparse {
    TensorLayout layout;
    runtime::DeviceBuffer buffer;

    Sparse(Context& context, const TensorLayout& l)
        : layout(l), buffer(runtime_of(context), 0, l.extent_bytes()) {}

    /// A simulated device address is the host address of the byte behind it.
    std::byte* row(std::int64_t b, std::int64_t h, std::int64_t s) const {
        return static_cast<std::byte*>(buffer.data()) + layout.row_offset(b, h, s);
    }
    template <class Action>
    void for_rows(const Action& action) const {
        for (std::int64_t b = 0; b < layout.sizes[0]; ++b)
            for (std::int64_t h = 0; h < layout.sizes[1]; ++h)
                for (std::int64_t s = 0; s < layout.sizes[2]; ++s)
                    action(b, h, s);
    }
    void scatter(const TensorLayout& dense, const std::vector<std::byte>& values) const {
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t s) {
            std::memcpy(row(b, h, s), values.data() + dense.row_offset(b, h, s), layout.row_bytes());
        });
    }
    std::vector<std::byte> gather(const TensorLayout& dense) const {
        std::vector<std::byte> values(dense.extent_bytes());
        for_rows([&](std::int64_t b, std::int64_t h, std::int64_t s) {
            std::memcpy(values.data() + dense.row_offset(b, h, s), row(b, h, s), layout.row_bytes());
        });
        return values;
    }
    TensorView view(DType dtype) const {
        return {buffer.data(),
                dtype,
                0,
                layout.sizes,
                {layout.strides.batch, layout.strides.head, layout.strides.seq, 1}};
    }
};

struct Result {
    std::vector<std::byte> o, lse;
    bool operator==(const Result&) const = default;
};

/// O and LSE, both as dense bytes, of the drawn values laid out as `p` says.
Result call(Context& context, const Problem& dense, const Problem& p) {
    const DrawnInputs values = draw_inputs(dense, Distribution::logit_sd_1, 5);
    const Sparse q(context, tuner::layout_q(p)), k(context, tuner::layout_k(p)),
        v(context, tuner::layout_v(p)), o(context, tuner::layout_o(p)), lse(context, tuner::layout_lse(p));
    q.scatter(tuner::layout_q(dense), values.q);
    k.scatter(tuner::layout_k(dense), values.k);
    v.scatter(tuner::layout_v(dense), values.v);
    AttentionArgs args;
    args.q = q.view(p.dtype), args.k = k.view(p.dtype), args.v = v.view(p.dtype),
    args.o = o.view(DType::bf16);
    args.lse = static_cast<float*>(lse.buffer.data());
    args.lse_batch_stride = p.lse_batch_stride, args.lse_head_stride = p.lse_head_stride;
    args.mask = p.mask;
    context.attention(args);
    runtime::synchronize(*runtime_of(context), 0);
    return {o.gather(tuner::layout_o(dense)), lse.gather(tuner::layout_lse(dense))};
}

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// BF16 strides in elements: `bytes` apart.
void far_apart(Problem& p, std::int64_t Strides::* member, std::int64_t bytes) {
    for (Strides* s : {&p.q, &p.k, &p.v, &p.o})
        s->*member = bytes / 2;
}

} // namespace

TEST_CASE("batch entries, heads and rows beyond 4 GiB give the bits of a dense tensor") {
    Context context(simulator(Mode::off));
    for (const std::int64_t dim_qk : {128, 192})
        for (const Mask mask : {Mask::causal, Mask::none}) {
            const Problem dense = Problem::contiguous(DType::bf16, 2, 3, 3, 300, 300, dim_qk, 128, mask);
            const Result expected = call(context, dense, dense);
            Problem far_batch = dense;
            far_apart(far_batch, &Strides::batch, 6 * gib);
            far_batch.lse_batch_stride = 6 * gib / 4;
            CHECK(call(context, dense, far_batch) == expected);
            Problem far_heads = dense;
            far_apart(far_heads, &Strides::head, 6 * gib);
            far_apart(far_heads, &Strides::batch, 18 * gib);
            far_heads.lse_head_stride = 6 * gib / 4, far_heads.lse_batch_stride = 18 * gib / 4;
            CHECK(call(context, dense, far_heads) == expected);
            // One head alone spans 9.3 GiB; the widest rows that 32-bit offsets within a tile reach.
            Problem far_rows = dense;
            far_apart(far_rows, &Strides::seq, gib / 32);
            far_apart(far_rows, &Strides::head, 10 * gib);
            far_apart(far_rows, &Strides::batch, 30 * gib);
            CHECK(call(context, dense, far_rows) == expected);
        }
}

TEST_CASE("two heads per workgroup, rows beyond 4 GiB") {
    Context context(simulator(Mode::off));
    const Problem dense = Problem::contiguous(DType::bf16, 2, 4, 2, 300, 300, 128, 128, Mask::causal);
    Problem far_rows = dense;
    far_apart(far_rows, &Strides::seq, gib / 32);
    far_apart(far_rows, &Strides::head, 10 * gib);
    far_apart(far_rows, &Strides::batch, 40 * gib);
    CHECK(call(context, dense, far_rows) == call(context, dense, dense));
}

TEST_CASE("tuning a problem with gaps of gigabytes measures it without them") {
    Context context(simulator(Mode::tune));
    Problem p = Problem::contiguous(DType::bf16, 2, 1, 1, 64, 64, 128, 128, Mask::causal);
    const Problem dense = p;
    far_apart(p, &Strides::batch, 6 * gib);
    const Result got = call(context, dense, p);
    Context plain(simulator(Mode::off));
    CHECK(context.counters().timed > 0);
    CHECK(got.o.size() == call(plain, dense, dense).o.size());
}

TEST_CASE("keys and values broadcast over heads and batch") {
    Context context(simulator(Mode::off));
    for (const std::int64_t dim_qk : {128, 192}) {
        Problem p = Problem::contiguous(DType::bf16, 2, 3, 3, 200, 200, dim_qk, 128, Mask::causal);
        p.k = p.v = {0, 0, 0};
        p.k.seq = dim_qk, p.v.seq = 128;
        Tensors broadcast(context, p);
        context.attention(broadcast.args());
        CHECK(broadcast.check() == "");
    }
}
