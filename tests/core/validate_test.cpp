// SPDX-License-Identifier: Apache-2.0
// Every refusal names the argument, its value and what is accepted.
#include "core/validate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace zyfa;

namespace {

void* at(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);
}

/// B=2, Hq=8, Hkv=2, Sq=100, Skv=200, d=128, BHSD; the addresses are never read.
AttentionArgs good(DType dtype = DType::bf16) {
    AttentionArgs a;
    a.q = {at(0x100000000), dtype, 0, {2, 8, 100, 128}, {8 * 100 * 128, 100 * 128, 128, 1}};
    a.k = {at(0x200000000), dtype, 0, {2, 2, 200, 128}, {2 * 200 * 128, 200 * 128, 128, 1}};
    a.v = {at(0x300000000), dtype, 0, {2, 2, 200, 128}, {2 * 200 * 128, 200 * 128, 128, 1}};
    a.o = {at(0x400000000), DType::bf16, 0, {2, 8, 100, 128}, {8 * 100 * 128, 100 * 128, 128, 1}};
    a.lse = static_cast<float*>(at(0x500000000));
    return a;
}

struct Refusal {
    std::function<void(AttentionArgs&)> spoil;
    ErrorCode code;
    const char* argument;
    std::vector<const char*> words; ///< that the message must have
    DType dtype = DType::bf16;
};

constexpr auto invalid = ErrorCode::invalid_argument, unsupported = ErrorCode::unsupported;
constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

const std::vector<Refusal> refusals{
    {[](auto& a) { a.q.data = nullptr; }, invalid, "q.data", {"null"}},
    {[](auto& a) { a.o.data = nullptr; }, invalid, "o.data", {"null"}},
    {[](auto& a) { a.k.dtype = DType::e4m3fnuz; }, unsupported, "k.dtype", {"e4m3fnuz", "OCP"}, DType::e4m3},
    {[](auto& a) { a.q.dtype = DType::f32; }, unsupported, "q.dtype", {"f32", "bf16, e4m3"}},
    {[](auto& a) { a.v.dtype = DType::e4m3; }, invalid, "v.dtype", {"e4m3", "bf16"}},
    {[](auto& a) { a.o.dtype = DType::f32; }, unsupported, "o.dtype", {"f32", "bf16"}},
    {[](auto& a) { a.k.device = 1; }, invalid, "k.device", {"1", "0"}},
    {[](auto& a) { a.q.sizes[0] = 0; }, invalid, "q.sizes[0]", {"is 0", "at least 1"}},
    {[](auto& a) { a.k.sizes[2] = 0; }, invalid, "k.sizes[2]", {"is 0", "at least 1"}},
    {[](auto& a) { a.q.sizes[2] = -5; }, invalid, "q.sizes[2]", {"-5"}},
    {[](auto& a) { a.k.sizes[0] = 3; }, invalid, "k.sizes[0]", {"is 3", "2, the batch of q"}},
    {[](auto& a) { a.v.sizes[1] = 4; }, invalid, "v.sizes[1]", {"is 4", "heads of k"}},
    {[](auto& a) { a.o.sizes[1] = 4; }, invalid, "o.sizes[1]", {"is 4", "heads of q"}},
    {[](auto& a) { a.v.sizes[2] = 199; }, invalid, "v.sizes[2]", {"199", "200"}},
    {[](auto& a) { a.o.sizes[2] = 99; }, invalid, "o.sizes[2]", {"99", "100"}},
    {[](auto& a) { a.k.sizes[3] = 64; }, invalid, "k.sizes[3]", {"64", "128"}},
    {[](auto& a) { a.o.sizes[3] = 64; }, invalid, "o.sizes[3]", {"64", "head dimension of v"}},
    {[](auto& a) { a.k.sizes[1] = a.v.sizes[1] = 3; }, invalid, "q.sizes[1]", {"8", "multiple", "3"}},
    {[](auto& a) { a.q.data = at(0x100000008); }, invalid, "q.data", {"8 bytes past", "16 bytes"}},
    {[](auto& a) { a.v.strides[3] = 2; }, unsupported, "v.strides[3]", {"is 2", "1"}},
    {[](auto& a) { a.q.strides[2] = 132; }, unsupported, "q.strides[2]", {"132", "8 elements (16 bytes)"}},
    {[](auto& a) { a.q.strides[2] = 136; }, unsupported, "q.strides[2]", {"136", "16 elements"}, DType::e4m3},
    {[](auto& a) { a.k.strides[1] = -128; }, unsupported, "k.strides[1]", {"-128"}},
    {[](auto& a) { a.k.strides[2] = 64; }, unsupported, "k.strides[2]", {"64", "128"}},
    {[](auto& a) { a.k.strides[0] = std::int64_t{1} << 46; },
     unsupported,
     "k",
     {"1407", "at most 140737488355328"}},
    {[](auto& a) { a.k.strides[0] = std::int64_t{1} << 62; },
     unsupported,
     "k.strides[0]",
     {"140737488355328"}},
    {[](auto& a) { a.v.strides[2] = (1 << 24) + 8; }, unsupported, "v.strides[2]", {"at most 16777216"}},
    {[](auto& a) { a.v.strides[2] = (1 << 25) + 16; },
     unsupported,
     "v.strides[2]",
     {"at most 33554432"},
     DType::e4m3},
    {[](auto& a) { a.q.strides[2] = 0; }, unsupported, "q.strides[2]", {"0", "128"}},
    {[](auto& a) { a.o.strides[1] = 0; }, invalid, "o.strides", {"overlap"}},
    {[](auto& a) { a.o.strides[0] = 0; }, invalid, "o.strides", {"overlap"}},
    {[](auto& a) { a.o.strides[1] = 99 * 128; }, invalid, "o.strides", {"overlap"}},
    {[](auto& a) { a.o.data = a.q.data; }, invalid, "o", {"same memory as q"}},
    {[](auto& a) { a.o.data = at(0x300000000 + 2 * 2 * 200 * 128 * 2 - 16); },
     invalid,
     "o",
     {"same memory as v"}},
    {[](auto& a) { a.lse = static_cast<float*>(a.o.data); }, invalid, "lse", {"same memory as o"}},
    {[](auto& a) { a.lse = static_cast<float*>(at(0x500000002)); }, invalid, "lse", {"4 bytes"}},
    {[](auto& a) { a.lse_head_stride = 99, a.lse_batch_stride = 1000; },
     invalid,
     "lse_batch_stride, lse_head_stride",
     {"99"}},
    {[](auto& a) { a.lse_head_stride = -1; }, invalid, "lse_head_stride", {"-1"}},
    {[](auto& a) { a.softmax_scale = 0.0f; }, invalid, "softmax_scale", {"0", "greater than 0"}},
    {[](auto& a) { a.softmax_scale = nan; }, invalid, "softmax_scale", {"nan"}},
    {[](auto& a) { a.softmax_scale = infinity; }, invalid, "softmax_scale", {"inf"}},
    {[](auto& a) { a.q_descale = 1.0f; }, invalid, "q_descale", {"1.0", "unset", "bf16"}},
    {[](auto& a) { a.v_descale = -1.0f; }, invalid, "v_descale", {"-1"}, DType::e4m3},
    {[](auto& a) { a.k_descale = infinity; }, invalid, "k_descale", {"inf"}, DType::e4m3},
    {[](auto& a) { a.mask = static_cast<Mask>(7); }, unsupported, "mask", {"7", "none, causal"}},
    {[](auto& a) { a.probability = static_cast<Probability>(9); }, unsupported, "probability", {"9", "lean"}},
};

} // namespace

TEST_CASE("refusals name argument, value and what is accepted") {
    for (const Refusal& refusal : refusals) {
        AttentionArgs args = good(refusal.dtype);
        refusal.spoil(args);
        CAPTURE(std::string(refusal.argument));
        try {
            validate(args);
            FAIL_CHECK("accepted");
        } catch (const Error& error) {
            const std::string message = error.what();
            CAPTURE(message);
            CHECK(error.code() == refusal.code);
            CHECK(message.find(refusal.argument) != std::string::npos);
            CHECK(message.find("accepted: ") != std::string::npos);
            for (const char* word : refusal.words)
                CHECK_MESSAGE(message.find(word) != std::string::npos, std::string(word));
        }
    }
}

TEST_CASE("a good call becomes its problem") {
    const Problem expected = Problem::contiguous(DType::bf16, 2, 8, 2, 100, 200, 128, 128, Mask::causal);
    CHECK(validate(good()) == expected);
    AttentionArgs fp8 = good(DType::e4m3);
    fp8.k_descale = 0.5f;
    fp8.probability = Probability::lean;
    const Problem p = validate(fp8);
    CHECK(p.k_descale == 0.5f);
    CHECK(p.q_descale == 1.0f);
    CHECK(p.probability == Probability::lean);
}

TEST_CASE("broadcast keys and heads are accepted for inputs") {
    AttentionArgs a = good();
    a.k.strides[0] = a.v.strides[0] = 0;
    a.k.strides[1] = a.v.strides[1] = 0;
    CHECK(validate(a).k == Strides{0, 0, 128});
}

TEST_CASE("equal work gives equal problems") {
    AttentionArgs a = good(), b = good();
    b.softmax_scale = static_cast<float>(1 / std::sqrt(128.0));
    b.probability = Probability::exact; // BF16 ignores it
    b.lse_batch_stride = 8 * 100;
    b.lse_head_stride = 100;
    CHECK(validate(a) == validate(b));
    a = b = good();
    for (AttentionArgs* args : {&a, &b})
        args->q.sizes[0] = args->k.sizes[0] = args->v.sizes[0] = args->o.sizes[0] = 1;
    b.q.strides[0] = 12345; // over a batch of 1
    b.o.strides[0] = -1;
    b.k.strides[0] = 0;
    CHECK(validate(a) == validate(b));
}

TEST_CASE("a single row may have any stride") {
    AttentionArgs a = good();
    a.q.sizes[2] = a.o.sizes[2] = 1;
    a.q.strides = {8 * 128, 128, 1, 1};
    a.o.strides = {8 * 128, 128, 7, 1};
    const Problem p = validate(a);
    CHECK(p.q.seq == 128);
    CHECK(p.o == Strides{8 * 128, 128, 128});
}

TEST_CASE("layouts may be padded, permuted and interleaved") {
    AttentionArgs a = good();
    a.o.strides = {100 * 1024 + 512, 128, 1024, 1}; // BSHD with a padded batch
    CHECK(validate(a).o == Strides{100 * 1024 + 512, 128, 1024});
    a = good();
    a.q.strides = {100 * 3072, 128, 3072, 1}; // q inside a packed qkv
    CHECK(validate(a).q.seq == 3072);
    a.lse_head_stride = 128;
    a.lse_batch_stride = 2048;
    CHECK(validate(a).lse_head_stride == 128);
}

TEST_CASE("no LSE, no LSE strides") {
    AttentionArgs a = good();
    a.lse = nullptr;
    a.lse_head_stride = 17;
    const Problem p = validate(a);
    CHECK_FALSE(p.lse);
    CHECK(p.lse_head_stride == 0);
}

TEST_CASE("the largest extent is accepted, 16 bytes more are not") {
    AttentionArgs a = good();
    a.lse = nullptr;
    a.k.data = at(0x10000000000);
    REQUIRE(a.k.sizes[0] == 2);
    const std::int64_t tail =
        (a.k.sizes[1] - 1) * a.k.strides[1] + (a.k.sizes[2] - 1) * a.k.strides[2] + a.k.sizes[3];
    a.k.strides[0] = ((std::int64_t{1} << 46) - tail);
    a.q.data = at(0xa00000000000);
    a.o.data = at(0xa10000000000);
    a.v.data = at(0xa20000000000);
    CHECK_NOTHROW(validate(a));
    a.k.strides[0] += 8;
    CHECK_THROWS_AS(validate(a), Error);
}

TEST_CASE("keys and values may be broadcast over heads and batch") {
    AttentionArgs a = good();
    for (TensorView* t : {&a.k, &a.v})
        t->strides[0] = t->strides[1] = 0;
    const Problem p = validate(a);
    CHECK(p.k == Strides{0, 0, 128});
    CHECK(p.v == p.k);
}
