// SPDX-License-Identifier: Apache-2.0
// Few heads: the keys of a tile in parts, two launches a call, a workspace in the stream's order.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/attention/capture.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

Problem few_heads(std::int64_t dim_qk, std::int64_t batch = 1) {
    return Problem::contiguous(DType::bf16, batch, 1, 1, 1100, 2100, dim_qk, 128, Mask::causal);
}

bool splits(const Explanation& e) {
    return e.schedule.find("key_parts=1,") == std::string::npos &&
           e.schedule.find("key_parts=") != std::string::npos;
}

} // namespace

TEST_CASE("few heads are split over keys by default, and right") {
    Context context(simulator(Mode::off));
    for (const std::int64_t d : {128, 192}) {
        const Problem p = few_heads(d);
        CHECK(splits(context.explain(p)));
        Tensors tensors(context, p);
        context.attention(tensors.args());
        CHECK(tensors.check(300) == "");
        const auto first = tensors.output();
        for (int i = 0; i < 3; ++i) { // the workspace is another one, or the same with other contents
            context.attention(tensors.args());
            CHECK(tensors.output() == first);
        }
    }
}

TEST_CASE("split calls on two streams at once do not share a workspace") {
    Context context(simulator(Mode::off));
    Tensors a(context, few_heads(128), 0, Distribution::logit_sd_1),
        b(context, few_heads(128), 0, Distribution::logit_sd_4);
    context.prepare(few_heads(128));
    const runtime::Stream one(runtime_of(context), 0), two(runtime_of(context), 0);
    for (int i = 0; i < 3; ++i) {
        AttentionArgs of_a = a.args(), of_b = b.args();
        of_a.stream = one.handle(), of_b.stream = two.handle();
        context.attention(of_a);
        context.attention(of_b);
    }
    CHECK(a.check(200) == "");
    CHECK(b.check(200) == "");
}

TEST_CASE("a split call is captured with its workspace and replayed") {
    Context context(simulator(Mode::off));
    Tensors tensors(context, few_heads(128));
    context.attention(tensors.args());
    const auto expected = tensors.output();
    tensors.clear();
    const runtime::Stream stream(runtime_of(context), 0);
    Capture capture(context, stream.handle());
    AttentionArgs args = tensors.args();
    args.stream = stream.handle();
    context.attention(args);
    capture.end();
    for (int round = 0; round < 2; ++round) {
        tensors.clear();
        capture.replay();
        CHECK(tensors.output() == expected);
    }
}

TEST_CASE("batch_invariant: split and schedule of a batch of 1 for any batch") {
    ContextOptions options = simulator(Mode::off);
    Context plain(options);
    options.batch_invariant = true;
    Context invariant(options);
    CHECK(plain.explain(few_heads(128)).schedule != plain.explain(few_heads(128, 512)).schedule);
    CHECK(invariant.explain(few_heads(128)).schedule == invariant.explain(few_heads(128, 512)).schedule);
    CHECK(invariant.explain(few_heads(128)).schedule == plain.explain(few_heads(128)).schedule);

    Tensors one(invariant, few_heads(128)), three(invariant, few_heads(128, 3));
    invariant.attention(one.args());
    invariant.attention(three.args());
    const auto alone = one.output(), together = three.output();
    CHECK(std::equal(alone.begin(), alone.end(), together.begin()));
    CHECK(three.check(100) == "");
}

TEST_CASE("tuning tries other numbers of parts and takes one that passes the gate") {
    Context context(simulator(Mode::tune));
    const Problem p = Problem::contiguous(DType::bf16, 1, 1, 1, 100, 1100, 128, 128, Mask::none);
    Tensors tensors(context, p);
    context.attention(tensors.args());
    CHECK(tensors.check(64) == "");
    CHECK(context.counters().timed > 1);
}
