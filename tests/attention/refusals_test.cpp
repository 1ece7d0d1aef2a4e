// SPDX-License-Identifier: Apache-2.0
// What a call refuses, before anything is assembled or launched.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/attention/forms.hpp"
#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

namespace {

struct Refusal {
    const char* what;
    std::function<void(AttentionArgs&)> change;
    ErrorCode code;
    const char* argument;
};

const std::vector<Refusal> refusals{
    {"null pointer", [](AttentionArgs& a) { a.k.data = nullptr; }, ErrorCode::invalid_argument, "k.data"},
    {"unaligned base", [](AttentionArgs& a) { a.v.data = static_cast<char*>(a.v.data) + 2; },
     ErrorCode::invalid_argument, "v.data"},
    {"row stride of 129 elements", [](AttentionArgs& a) { a.k.strides[2] = 129; }, ErrorCode::unsupported,
     "k.strides[2]"},
    {"transposed rows", [](AttentionArgs& a) { a.q.strides[3] = 128; }, ErrorCode::unsupported,
     "q.strides[3]"},
    {"lengths that disagree", [](AttentionArgs& a) { a.v.sizes[2] = 99; }, ErrorCode::invalid_argument,
     "v.sizes[2]"},
    {"heads that do not divide", [](AttentionArgs& a) { a.k.sizes[1] = a.v.sizes[1] = 3; },
     ErrorCode::invalid_argument, "q.sizes[1]"},
    {"e4m3fnuz", [](AttentionArgs& a) { a.q.dtype = a.k.dtype = a.v.dtype = DType::e4m3fnuz; },
     ErrorCode::unsupported, "q.dtype"},
    {"mixed dtypes",
     [](AttentionArgs& a) { a.k.dtype = a.k.dtype == DType::bf16 ? DType::e4m3 : DType::bf16; },
     ErrorCode::invalid_argument, "k.dtype"},
    {"negative scale", [](AttentionArgs& a) { a.softmax_scale = -1.0f; }, ErrorCode::invalid_argument,
     "softmax_scale"},
    {"NaN scale", [](AttentionArgs& a) { a.softmax_scale = std::numeric_limits<float>::quiet_NaN(); },
     ErrorCode::invalid_argument, "softmax_scale"},
    {"a descale for BF16, a negative one for FP8",
     [](AttentionArgs& a) { a.k_descale = a.q.dtype == DType::bf16 ? 2.0f : -2.0f; },
     ErrorCode::invalid_argument, "k_descale"},
    {"output over an input", [](AttentionArgs& a) { a.o.data = a.q.data; }, ErrorCode::invalid_argument, "o"},
    {"tensors on two devices", [](AttentionArgs& a) { a.k.device = 1; }, ErrorCode::invalid_argument,
     "k.device"},
};

bool untouched(const std::vector<std::byte>& bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0xff}; });
}

} // namespace

TEST_CASE("wrong arguments are refused by name, first call or later") {
    Context context(simulator(Mode::off));
    for (const auto& [form, resident] : {std::pair{forms[0], false},
                                         {forms[0], true},
                                         {forms[2], false},
                                         {forms[3], false},
                                         {forms[3], true}}) {
        const auto assembled = context.counters().assembled;
        Tensors tensors(context, shape(form, 1, 4, 2, 100, 100));
        if (resident) {
            context.attention(tensors.args());
            CHECK(tensors.check(32).empty());
            tensors.clear();
        }
        for (const Refusal& refusal : refusals) {
            AttentionArgs args = tensors.args();
            refusal.change(args);
            const Error error = error_of([&] { context.attention(args); });
            CHECK_MESSAGE(error.code() == refusal.code, refusal.what, ": ", error.what());
            CHECK_MESSAGE(error.argument() == refusal.argument, refusal.what, ": ", error.what());
        }
        CHECK(untouched(tensors.output()));
        CHECK(context.counters().assembled == assembled + (resident ? 1 : 0));
    }
}

TEST_CASE("a head dimension that no template serves is refused with what would be served") {
    Context context(simulator(Mode::off));
    const Error error = error_of(
        [&] { context.prepare(Problem::contiguous(DType::bf16, 1, 1, 1, 64, 64, 72, 72, Mask::causal)); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(std::string(error.what()).find("128") != std::string::npos);
}

TEST_CASE("memory that the device does not know is refused") {
    Context context(simulator(Mode::off));
    Tensors tensors(context, bf16(1, 1, 1, 64, 64));
    alignas(16) static std::array<std::byte, 64 * 256> host{};
    AttentionArgs args = tensors.args();
    args.k.data = host.data();
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.argument() == "k.data");
}

TEST_CASE("a view that reaches past its allocation is refused") {
    Context context(simulator(Mode::off));
    Tensors tensors(context, bf16(1, 1, 1, 64, 64));
    AttentionArgs args = tensors.args();
    args.k.sizes[2] = args.v.sizes[2] = 400; // 100 KiB, in a buffer of 80 from there
    const Error error = error_of([&] { context.attention(args); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.argument() == "k.data");
    CHECK(std::string(error.what()).find("allocation ends") != std::string::npos);
    CHECK(context.counters().assembled == 0);
}

TEST_CASE("a device that does not exist is refused") {
    Context context(simulator(Mode::off));
    const Error error = error_of([&] { context.prepare(bf16(1, 1, 1, 64, 64), 7); });
    CHECK(error.code() == ErrorCode::no_device);
    CHECK(std::string(error.what()).find("7") != std::string::npos);
}
