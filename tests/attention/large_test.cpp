// SPDX-License-Identifier: Apache-2.0
// Tensors that reach beyond 4 GiB. The simulator backs memory page by page, so only what is touched exists.
#include <doctest/doctest.h>

#include "tests/attention/exact_call.hpp"
#include "tests/attention/forms.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

Result call_as(Context& context, const Problem& dense, const Problem& p) {
    return call(context, dense, draw_inputs(dense, Distribution::logit_sd_1, 5), p);
}

/// Strides in elements: `bytes` apart.
void far_apart(Problem& p, std::int64_t Strides::* member, std::int64_t bytes) {
    for (Strides* s : {&p.q, &p.k, &p.v})
        s->*member = bytes / (p.dtype == DType::e4m3 ? 1 : 2);
    p.o.*member = bytes / 2;
}

} // namespace

TEST_CASE("batch entries, heads and rows beyond 4 GiB give the bits of a dense tensor") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms)
        for (const Mask mask : {Mask::causal, Mask::none}) {
            if (form.dtype == DType::e4m3 && (mask == Mask::none) != (form.dim_qk == 192))
                continue; // one mask each
            const Problem dense = shape(form, 2, 3, 3, 300, 300, mask);
            const Result expected = call_as(context, dense, dense);
            Problem far_batch = dense;
            far_apart(far_batch, &Strides::batch, 6 * gib);
            far_batch.lse_batch_stride = 6 * gib / 4;
            CHECK(call_as(context, dense, far_batch) == expected);
            Problem far_heads = dense;
            far_apart(far_heads, &Strides::head, 6 * gib);
            far_apart(far_heads, &Strides::batch, 18 * gib);
            far_heads.lse_head_stride = 6 * gib / 4, far_heads.lse_batch_stride = 18 * gib / 4;
            CHECK(call_as(context, dense, far_heads) == expected);
            // One head alone spans 9.3 GiB; the widest rows that 32-bit offsets within a tile reach.
            Problem far_rows = dense;
            far_apart(far_rows, &Strides::seq, gib / 32);
            far_apart(far_rows, &Strides::head, 10 * gib);
            far_apart(far_rows, &Strides::batch, 30 * gib);
            CHECK(call_as(context, dense, far_rows) == expected);
        }
}

TEST_CASE("two heads per workgroup, rows beyond 4 GiB") {
    Context context(simulator(Mode::off));
    for (const Form& form : {forms[0], forms[3]}) {
        const Problem dense = shape(form, 2, 4, 2, 300, 300);
        Problem far_rows = dense;
        far_apart(far_rows, &Strides::seq, gib / 32);
        far_apart(far_rows, &Strides::head, 10 * gib);
        far_apart(far_rows, &Strides::batch, 40 * gib);
        CHECK(call_as(context, dense, far_rows) == call_as(context, dense, dense));
    }
}

TEST_CASE("tuning a problem with gaps of gigabytes measures it without them") {
    Context context(simulator(Mode::tune));
    Problem p = Problem::contiguous(DType::bf16, 2, 1, 1, 64, 64, 128, 128, Mask::causal);
    const Problem dense = p;
    far_apart(p, &Strides::batch, 6 * gib);
    const Result got = call_as(context, dense, p);
    Context plain(simulator(Mode::off));
    CHECK(context.counters().timed > 0);
    CHECK(got.o.size() == call_as(plain, dense, dense).o.size());
}

TEST_CASE("keys and values broadcast over heads and batch") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        Problem p = shape(form, 2, 3, 3, 200, 200);
        p.k = p.v = {0, 0, 0};
        p.k.seq = form.dim_qk, p.v.seq = 128;
        Tensors broadcast(context, p);
        context.attention(broadcast.args());
        CHECK(broadcast.check(form.dtype == DType::bf16 ? 1200 : 150) == "");
    }
}
