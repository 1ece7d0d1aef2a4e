// SPDX-License-Identifier: Apache-2.0
#include "core/safetensors.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

std::vector<std::byte> file(const std::string& header, std::size_t data_bytes) {
    std::vector<std::byte> bytes(8);
    for (std::size_t i = 0; i < 8; ++i)
        bytes[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xff);
    for (const char c : header)
        bytes.push_back(static_cast<std::byte>(c));
    bytes.resize(bytes.size() + data_bytes, std::byte{0x5a});
    return bytes;
}

} // namespace

TEST_CASE("what is written is read back") {
    CHECK(rc::check([] {
        std::map<std::string, std::vector<std::byte>> memory;
        SafeTensors content;
        for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
            const std::string name = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
            SafeTensor tensor{"BF16", {}, {}};
            std::size_t bytes = 2;
            for (int d = *rc::gen::inRange(0, 4); d > 0; --d) {
                tensor.shape.push_back(*rc::gen::inRange(0, 4));
                bytes *= static_cast<std::size_t>(tensor.shape.back());
            }
            auto& data = memory[name];
            data.resize(bytes);
            for (std::byte& b : data)
                b = static_cast<std::byte>(*rc::gen::inRange(0, 256));
            tensor.data = data;
            content.tensors[name] = tensor;
        }
        content.metadata["softmax_scale"] = "0.125";
        const std::vector<std::byte> written = write_safetensors(content);
        const SafeTensors read = parse_safetensors(written);
        RC_ASSERT(read.metadata == content.metadata);
        RC_ASSERT(read.tensors.size() == content.tensors.size());
        for (const auto& [name, tensor] : content.tensors) {
            const SafeTensor& other = read.at(name);
            RC_ASSERT(other.dtype == tensor.dtype);
            RC_ASSERT(other.shape == tensor.shape);
            RC_ASSERT(
                std::equal(other.data.begin(), other.data.end(), tensor.data.begin(), tensor.data.end()));
        }
    }));
}

TEST_CASE("a missing tensor is named beside those that are there") {
    const auto bytes = file(R"({"k":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
    const SafeTensors content = parse_safetensors(bytes);
    CHECK(content.at("k").data.size() == 4);
    CHECK_THROWS_WITH_AS(content.at("q"), "q: no such tensor in the file; there are: k", Error);
}

TEST_CASE("malformed files are refused") {
    const auto refused = [](const std::string& header, std::size_t data, const char* why) {
        CAPTURE(header);
        const auto bytes = file(header, data);
        try {
            parse_safetensors(bytes);
            FAIL_CHECK("accepted");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_MESSAGE(std::string(error.what()).find(why) != std::string::npos, error.what());
        }
    };
    refused("", 0, "header");
    refused("[]", 0, "not an object");
    refused("{\"a\":", 0, "header");
    refused(R"({"a":3})", 0, "header");
    refused(R"({"a":{"dtype":"U8","shape":[4]}})", 4, "header");
    refused(R"({"a":{"dtype":"U9","shape":[4],"data_offsets":[0,4]}})", 4, "unknown dtype");
    refused(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})", 4, "do not ask for");
    refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3, "outside");
    refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, "outside");
    refused(R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})", 4, "natural number");
    refused(R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})", 4, "natural number");
    refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}})", 4, "offsets");
    refused(R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4, "shape");
    refused(R"({"a":{"dtype":"BF16","shape":[4294967296,4294967296,2],"data_offsets":[0,4]}})", 4, "shape");
    refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, "after the last");
    refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5, "hole");
    refused(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
        6, "overlap");
    refused(
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
        4, "twice");
    refused(R"({"__metadata__":{"a":3}})", 0, "header");
}

TEST_CASE("header lengths beyond the file are refused") {
    std::vector<std::byte> bytes = file("{}", 0);
    CHECK_NOTHROW(parse_safetensors(bytes));
    bytes[0] = std::byte{3};
    CHECK_THROWS_AS(parse_safetensors(bytes), Error);
    for (std::size_t i = 0; i < 8; ++i)
        bytes[i] = std::byte{0xff};
    CHECK_THROWS_AS(parse_safetensors(bytes), Error);
    bytes.resize(7);
    CHECK_THROWS_AS(parse_safetensors(bytes), Error);
}

TEST_CASE("no cut and no flipped bit of a file is read out of bounds") {
    std::vector<std::byte> data(24, std::byte{1});
    SafeTensors content;
    content.tensors["k"] = {"BF16", {3, 2}, std::span(data).first(12)};
    content.tensors["v"] = {"F32", {3}, std::span(data).first(12)};
    const std::vector<std::byte> good = write_safetensors(content);
    const auto touch = [](const std::vector<std::byte>& bytes) {
        unsigned sum = 0;
        try {
            for (const auto& [name, tensor] : parse_safetensors(bytes).tensors)
                for (const std::byte b : tensor.data)
                    sum += std::to_integer<unsigned>(b);
        } catch (const Error&) {
            return false;
        }
        return sum > 0;
    };
    CHECK(touch(good));
    for (std::size_t n = 0; n < good.size(); ++n)
        CHECK_FALSE(
            touch(std::vector<std::byte>(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))));
    std::size_t survived = 0;
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        auto bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        survived += touch(bad);
    }
    CHECK(survived >= 24 * 8); // flips in the data itself are not the container's to find
}

TEST_CASE("element types by their names in the container") {
    for (const DType dtype : {DType::bf16, DType::e4m3, DType::e4m3fnuz, DType::f32})
        CHECK(dtype_of_safetensors(safetensors_name(dtype)) == dtype);
    CHECK_THROWS_AS(dtype_of_safetensors("F16"), Error);
}
