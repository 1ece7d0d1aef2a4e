// SPDX-License-Identifier: Apache-2.0
// Few heads: the keys of a tile in parts, merged in the same launch; a workspace in the stream's order,
// counters of the stream.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/attention/capture.hpp"
#include "tests/attention/exact_call.hpp"
#include "tests/attention/forms.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

/// Forms with blocks of 64 and of 128 keys.
constexpr Form few_bf16{DType::bf16, 128}, few_fp8{DType::e4m3, 128};

Problem few_heads(const Form& form, std::int64_t batch = 1) {
    return shape(form, batch, 1, 1, 700, 2100);
}

bool splits(const Explanation& e) {
    return e.schedule.find("key_parts=1,") == std::string::npos &&
           e.schedule.find("key_parts=") != std::string::npos;
}

} // namespace

TEST_CASE("few heads are split over keys by default, and right") {
    Context context(simulator(Mode::off));
    for (const Form& form : forms) {
        const Problem p = few_heads(form);
        CHECK(splits(context.explain(p)));
        Tensors tensors(context, p);
        context.attention(tensors.args());
        CHECK(tensors.check(80) == "");
        const auto first = tensors.output();
        for (int i = 0; i < (form.dtype == DType::bf16 ? 2 : 1);
             ++i) { // the workspace is another one, or the same with other contents
            context.attention(tensors.args());
            CHECK(tensors.output() == first);
        }
    }
}

TEST_CASE("split calls on two streams at once do not share a workspace") {
    Context context(simulator(Mode::off));
    Tensors a(context, few_heads(few_bf16), 0, Distribution::logit_sd_1),
        b(context, few_heads(few_bf16), 0, Distribution::logit_sd_4);
    context.prepare(few_heads(few_bf16));
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
    Tensors tensors(context, few_heads(few_bf16));
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
    for (const Form& form : {few_bf16, few_fp8}) {
        const Problem one = few_heads(form), many = few_heads(form, 512);
        CHECK(plain.explain(one).schedule != plain.explain(many).schedule);
        CHECK(invariant.explain(one).schedule == invariant.explain(many).schedule);
        CHECK(invariant.explain(one).schedule == plain.explain(one).schedule);

        const Problem three = few_heads(form, 3);
        const DrawnInputs values = draw_inputs(three, Distribution::logit_sd_1, 5);
        const Result alone = call(invariant, three, values, one),
                     together = call(invariant, three, values, three);
        CHECK(std::equal(alone.o.begin(), alone.o.end(), together.o.begin()));
        CHECK(std::equal(alone.lse.begin(), alone.lse.end(), together.lse.begin()));
        Tensors tensors(invariant, three);
        invariant.attention(tensors.args());
        CHECK(tensors.check(40) == "");
    }
}

TEST_CASE("tuning tries other numbers of parts and takes one that passes the gate") {
    Context context(simulator(Mode::tune));
    for (const Form& form : {few_bf16, few_fp8}) {
        const Problem p = shape(form, 1, 1, 1, 100, 1100, Mask::none);
        const auto before = context.counters().timed;
        Tensors tensors(context, p);
        context.attention(tensors.args());
        CHECK(tensors.check(64) == "");
        CHECK(context.counters().timed > before);
    }
}
