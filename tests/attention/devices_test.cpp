// SPDX-License-Identifier: Apache-2.0
// Two devices: that of the tensors and of the stream decides, never the current one.
#include <string>

#include <doctest/doctest.h>

#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

TEST_CASE("a call runs where its tensors are") {
    Context context(simulator(Mode::off));
    REQUIRE(context.devices().size() == 2);
    CHECK(context.devices()[1].simulated);
    const runtime::Runtime& runtime = *runtime_of(context);
    for (const int current : {0, 1})
        for (const int device : {0, 1}) {
            const runtime::DeviceGuard guard(runtime, current);
            Tensors tensors(context, bf16(1, 2, 1, 60, 60), device);
            context.attention(tensors.args());
            std::string fault = tensors.check(40);
            CHECK_MESSAGE(fault.empty(), "default stream: ", fault);
            tensors.clear();
            const runtime::Stream stream(runtime_of(context), device);
            AttentionArgs args = tensors.args();
            args.stream = stream.handle();
            context.attention(args);
            stream.synchronize();
            fault = tensors.check(40);
            CHECK_MESSAGE(fault.empty(), "side stream: ", fault);
        }
    CHECK(context.counters().assembled == 2); // a module per device
}

TEST_CASE("a stream of another device is refused, naming both") {
    Context context(simulator(Mode::off));
    const runtime::Stream stream(runtime_of(context), 0);
    for (const bool resident : {false, true}) {
        Tensors tensors(context, bf16(1, 2, 1, 60, 60), 1);
        if (resident)
            context.attention(tensors.args());
        AttentionArgs args = tensors.args();
        args.stream = stream.handle();
        const Error error = error_of([&] { context.attention(args); });
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(error.argument() == "stream");
        CHECK(std::string(error.what()).find("device 0") != std::string::npos);
        CHECK(std::string(error.what()).find("device 1") != std::string::npos);
    }
}

TEST_CASE("a pointer of another device than its view says is refused, naming both") {
    Context context(simulator(Mode::off));
    Tensors here(context, bf16(1, 2, 1, 60, 60), 0), there(context, bf16(1, 2, 1, 60, 60), 1);
    AttentionArgs args = here.args();
    args.v.data = there.args().v.data;
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.argument() == "v.data");
    CHECK(std::string(error.what()).find("device 1") != std::string::npos);
    CHECK(context.counters().assembled == 0);
}

TEST_CASE("a context that is bound to one device leaves the current device alone") {
    ContextOptions options = simulator(Mode::off);
    Context every(options); // for the tensors
    options.device = std::string("1");
    options.hip_library = runtime_of(every)->report().library;
    Context context(options);
    REQUIRE(context.devices().size() == 1);
    CHECK(context.devices()[0].ordinal == 1);
    const runtime::DeviceGuard guard(*runtime_of(every), 0);
    Tensors tensors(context, bf16(1, 2, 1, 60, 60), 1);
    context.attention(tensors.args());
    CHECK(tensors.check(40).empty());
    CHECK(error_of([&] { context.prepare(bf16(1, 2, 1, 60, 60), 0); }).code() == ErrorCode::no_device);
}
