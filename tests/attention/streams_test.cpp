// SPDX-License-Identifier: Apache-2.0
// Streams and captures.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/attention/capture.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

TEST_CASE("calls on one stream run in order, without a synchronisation between them") {
    Context context(simulator(Mode::off));
    const runtime::Stream stream(runtime_of(context), 0);
    const Problem problem = bf16(1, 2, 2, 300, 300);
    Tensors producer(context, problem), consumer(context, problem), apart(context, problem);
    const auto chain = [&](void* on, bool wait) {
        AttentionArgs first = producer.args(), second = consumer.args();
        first.stream = second.stream = on;
        second.q.data = first.o.data; // the second call reads what the first writes
        context.attention(first);
        if (wait)
            runtime::synchronize(*runtime_of(context), 0);
        context.attention(second);
        return consumer.output();
    };
    const std::vector<std::byte> expected = chain(stream.handle(), true);
    for (int round = 0; round < 3; ++round) {
        producer.clear();
        consumer.clear();
        apart.clear();
        context.attention(apart.args()); // the default stream works on something else meanwhile
        CHECK(chain(stream.handle(), false) == expected);
        CHECK(apart.check(20).empty());
    }
}

TEST_CASE("a prepared shape can be captured and replayed") {
    Context context(simulator(Mode::off));
    const runtime::Stream stream(runtime_of(context), 0);
    const Problem problem = bf16(1, 2, 1, 70, 70);
    context.prepare(problem);
    const Counters before = context.counters();
    Tensors tensors(context, problem);
    Capture capture(context, stream.handle());
    {
        AttentionArgs args = tensors.args(); // gone when the graph is replayed
        args.stream = stream.handle();
        context.attention(args);
    }
    capture.end();
    for (int round = 0; round < 2; ++round) {
        tensors.clear();
        capture.replay();
        const std::string fault = tensors.check(40);
        CHECK_MESSAGE(fault.empty(), fault);
    }
    CHECK(context.counters().assembled == before.assembled);
}

TEST_CASE("a shape that is not resident is refused during a capture, which goes on") {
    Context context(simulator(Mode::off));
    const runtime::Stream stream(runtime_of(context), 0);
    const Problem resident = bf16(1, 2, 1, 70, 70), stranger = bf16(1, 2, 1, 70, 70, Mask::none);
    context.prepare(resident);
    Tensors tensors(context, resident), others(context, stranger);
    const Counters before = context.counters();
    Capture capture(context, stream.handle());
    AttentionArgs args = others.args();
    args.stream = stream.handle();
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::not_resident);
    CHECK(error.argument() == "stream");
    CHECK(std::string(error.what()).find("zyfa::prepare") != std::string::npos);
    const Counters after = context.counters();
    CHECK(after.assembled == before.assembled);
    CHECK(after.timed == before.timed);
    args = tensors.args();
    args.stream = stream.handle();
    context.attention(args);
    capture.end();
    capture.replay();
    CHECK(tensors.check(40).empty());
    // The refused shape works outside of a capture.
    context.attention(others.args());
    CHECK(others.check(40).empty());
}

TEST_CASE("another length of a prepared bucket needs nothing but host work, and may be captured") {
    Context context(simulator(Mode::off));
    const runtime::Stream stream(runtime_of(context), 0);
    context.prepare(bf16(1, 2, 1, 70, 70));
    Tensors tensors(context, bf16(1, 2, 1, 77, 77));
    Capture capture(context, stream.handle());
    AttentionArgs args = tensors.args();
    args.stream = stream.handle();
    context.attention(args);
    capture.end();
    capture.replay();
    CHECK(tensors.check(40).empty());
}
