// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_file.hpp"

#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "core/reference.hpp"
#include "core/safetensors.hpp"
#include "tool.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cli;

namespace {

const std::string minimal = R"({"kernel": "k", "buffers": {"x": {"size": 16}}, )";

/// The argument that the error names, or "" where nothing is refused.
std::string refused(const std::string& text) {
    try {
        parse_launch(text, "");
        return "";
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        return error.argument();
    }
}

template <class T>
T scalar(const std::vector<std::byte>& bytes, std::size_t index = 0) {
    T value;
    REQUIRE(bytes.size() >= (index + 1) * sizeof value);
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

} // namespace

TEST_CASE("arguments are laid out by their sizes, or where the file says") {
    const LaunchFile launch = parse_launch(minimal + R"("grid": [3, 2], "block": [256], "dynamic_lds": 65536,
        "kernargs": [ {"type": "u8", "value": 7}, {"buffer": "x", "buffer_offset": 8}, {"type": "f32", "value": 0.5},
                      {"type": "i32", "value": -1}, {"type": "hex", "value": "00fF"},
                      {"type": "u64", "value": 18446744073709551615, "offset": 48} ]})",
                                           "");
    CHECK(launch.kernel == "k");
    CHECK(launch.grid == std::array<std::uint32_t, 3>{3, 2, 1});
    CHECK(launch.block == std::array<std::uint32_t, 3>{256, 1, 1});
    CHECK(launch.dynamic_lds == 65536);
    REQUIRE(launch.kernargs.size() == 6);
    CHECK(launch.kernargs[0].offset == 0);
    CHECK(launch.kernargs[1].offset == 8);
    CHECK(launch.kernargs[1].buffer == "x");
    CHECK(launch.kernargs[1].buffer_offset == 8);
    CHECK(launch.kernargs[2].offset == 16);
    CHECK(scalar<float>(launch.kernargs[2].value) == 0.5f);
    CHECK(scalar<std::int32_t>(launch.kernargs[3].value) == -1);
    CHECK(launch.kernargs[4].offset == 24);
    CHECK(launch.kernargs[4].value == std::vector<std::byte>{std::byte{0}, std::byte{0xff}});
    CHECK(scalar<std::uint64_t>(launch.kernargs[5].value) == ~std::uint64_t{0});
    CHECK(launch.kernarg_bytes == 56);
}

TEST_CASE("errors name the place in the file") {
    CHECK(refused("{") == "LAUNCH.json");
    CHECK(refused("[]") == "LAUNCH.json");
    CHECK(refused("{}") == "kernel");
    CHECK(refused(R"({"kernel": 1e999})") == "LAUNCH.json"); // no double holds it
    CHECK(refused(minimal + R"("gird": [1]})") == "gird");
    CHECK(refused(minimal + R"("grid": [0]})") == "grid[0]");
    CHECK(refused(minimal + R"("grid": [1, 1, 1, 1]})") == "grid");
    CHECK(refused(minimal + R"("block": [4294967296]})") == "block[0]");
    CHECK(refused(minimal + R"("dynamic_lds": 163841})") == "dynamic_lds");
    CHECK(refused(minimal + R"("kernargs": [{"type": "u8", "value": 256}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "i8", "value": 128}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "u32", "value": -1}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "u32", "value": 1.5}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "f32", "value": "one"}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "hex", "value": "0"}]})") == "kernargs[0].value");
    CHECK(refused(minimal + R"("kernargs": [{"type": "f8", "value": 1}]})") == "kernargs[0].type");
    CHECK(refused(minimal + R"("kernargs": [{"buffer": "y"}]})") == "kernargs[0].buffer");
    CHECK(refused(minimal + R"("kernargs": [{"buffer": "x", "value": 1}]})") == "kernargs[0]");
    CHECK(refused(minimal + R"("kernargs": [{"type": "u32", "value": 1, "offset": 65536}]})") ==
          "kernargs[0]");
    CHECK(refused(minimal + R"("outputs": [{"buffer": "y"}]})") == "outputs[0].buffer");
    CHECK(refused(minimal + R"("outputs": [{"buffer": "x", "tolerance": -1}]})") == "outputs[0].tolerance");
    CHECK(refused(R"({"kernel": "k", "buffers": {"x": {}}})") == "buffers.x.size");
    CHECK(refused(R"({"kernel": "k", "buffers": {"x": {"size": 4, "fill": 256}}})") == "buffers.x.fill");
    CHECK(refused(R"({"kernel": "k", "buffers": {"x": {"size": 4, "fill": 1, "file": "f"}}})") ==
          "buffers.x");
    CHECK(
        refused(
            R"({"kernel": "k", "buffers": {"x": {"size": 4, "generator": {"kind": "noise", "type": "f32"}}}})") ==
        "buffers.x.generator.kind");
    CHECK(refused(R"({"kernel": "k", "buffers": {"x": {"safetensors": "f"}}})") == "buffers.x.tensor");
    CHECK(refused(R"({"kernel": "k", "buffers": {"x": {"size": 4, "as": "f32"}}})") == "buffers.x.as");
}

TEST_CASE("integers keep the extremes of their type") {
    const auto value = [](const std::string& type, const std::string& text) {
        return parse_launch(minimal + R"("kernargs": [{"type": ")" + type + R"(", "value": )" + text + "}]}",
                            "")
            .kernargs[0]
            .value;
    };
    CHECK(scalar<std::int8_t>(value("i8", "-128")) == -128);
    CHECK(scalar<std::int64_t>(value("i64", "-9223372036854775808")) == INT64_MIN);
    CHECK(scalar<std::int64_t>(value("i64", "9223372036854775807")) == INT64_MAX);
    CHECK(scalar<std::uint32_t>(value("u32", "4294967295")) == UINT32_MAX);
}

TEST_CASE("buffers start with what their source says") {
    const test::TemporaryFolder folder;
    folder.write("three.bin", "abc");
    SafeTensors tensors;
    const std::array<std::uint16_t, 2> codes{0x3f80, 0xc000}; // 1, -2 in BF16
    tensors.tensors["t"] = {.dtype = "BF16", .shape = {2}, .data = std::as_bytes(std::span(codes))};
    const std::vector<std::byte> bytes = write_safetensors(tensors);
    folder.write("t.safetensors", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));

    const LaunchFile launch = parse_launch(R"({"kernel": "k", "buffers": {
        "fill": {"size": 3, "fill": 7},
        "file": {"size": 5, "file": "three.bin"},
        "small": {"size": 2, "file": "three.bin"},
        "tensor": {"safetensors": "t.safetensors", "tensor": "t"},
        "scaled": {"safetensors": "t.safetensors", "tensor": "t", "as": "f32", "scale": 0.5},
        "missing": {"safetensors": "t.safetensors", "tensor": "u"},
        "ramp": {"size": 16, "generator": {"kind": "ramp", "type": "i32", "start": 1, "step": 2, "modulo": 3}},
        "normal": {"size": 40000, "generator": {"kind": "gaussian", "type": "f32", "mean": 3, "sd": 2, "seed": 5}}
    }})",
                                           folder.path());
    const auto content = [&](const char* name) {
        return initial_content(name, launch.buffers.at(name)).bytes;
    };
    CHECK(content("fill") == std::vector<std::byte>(3, std::byte{7}));
    CHECK(content("file") ==
          std::vector<std::byte>{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{0}, std::byte{0}});
    CHECK_THROWS_AS(content("small"), Error);
    CHECK(scalar<std::uint16_t>(content("tensor"), 1) == 0xc000);
    CHECK(scalar<float>(content("scaled"), 0) == 0.5f);
    CHECK(scalar<float>(content("scaled"), 1) == -1.0f);
    CHECK_THROWS_AS(content("missing"), Error);
    const std::vector<std::byte> ramp = content("ramp");
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(scalar<std::int32_t>(ramp, i) == std::array{1, 3, 5, 1}[i]);
    }
    const std::vector<std::byte> normal = content("normal");
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 10000; ++i) {
        const double value = scalar<float>(normal, i);
        sum += value;
        squares += value * value;
    }
    const double mean = sum / 10000, variance = squares / 10000 - mean * mean;
    CHECK(mean == doctest::Approx(3).epsilon(0.03));     // SD of the mean: 0.02
    CHECK(variance == doctest::Approx(4).epsilon(0.06)); // SD of the variance: 0.057
    CHECK(content("normal") == normal);
}

TEST_CASE("tensors are cut, and quantised with a scale of their own that arguments and buffers can name") {
    const test::TemporaryFolder folder;
    SafeTensors tensors;
    std::array<float, 24> values;
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i);
    }
    tensors.tensors["t"] = {.dtype = "F32", .shape = {2, 3, 4}, .data = std::as_bytes(std::span(values))};
    const std::vector<std::byte> bytes = write_safetensors(tensors);
    folder.write("t.safetensors", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    const LaunchFile launch = parse_launch(R"({"kernel": "k", "buffers": {
        "cut": {"safetensors": "t.safetensors", "tensor": "t", "cut": [[1, 2], [0, 2], [1, 3]]},
        "codes": {"safetensors": "t.safetensors", "tensor": "t", "as": "e4m3", "scale": "auto"},
        "drawn": {"size": 64, "generator": {"kind": "gaussian", "type": "bf16"}, "as": "e4m3", "scale": "auto"},
        "rows": {"size": 16, "generator": {"kind": "ramp", "type": "f32", "repeat": 2}},
        "descale": {"descale_of": "codes"},
        "long": {"safetensors": "t.safetensors", "tensor": "t", "cut": [[1, 2], [0, 4], [1, 3]]},
        "flat": {"safetensors": "t.safetensors", "tensor": "t", "cut": [[1, 2]]}
    }, "kernargs": [{"descale_of": "codes"}]})",
                                           folder.path());
    CHECK(launch.kernargs[0].descale_of == "codes");
    CHECK(launch.kernarg_bytes == 4);
    const auto content = [&](const char* name) { return initial_content(name, launch.buffers.at(name)); };
    const std::vector<std::byte> cut = content("cut").bytes;
    REQUIRE(cut.size() == 16);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(scalar<float>(cut, i) == std::array{13.f, 14.f, 17.f, 18.f}[i]);
    }
    // 23 * 16 = 368 is the largest power-of-two multiple within 448.
    const Content codes = content("codes");
    CHECK(codes.descale == 1.0 / 16);
    REQUIRE(codes.bytes.size() == 24);
    CHECK(e4m3_to_float(static_cast<std::uint8_t>(codes.bytes[20])) == 320);
    CHECK(content("drawn").bytes.size() == 64);
    CHECK(content("drawn").descale < 1.0 / 32); // the largest of 64 normal numbers is below 14
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(scalar<float>(content("rows").bytes, i) == std::array{0.f, 0.f, 1.f, 1.f}[i]);
    }
    CHECK_THROWS_WITH_AS(content("long"), doctest::Contains("ends at 4"), Error);
    CHECK_THROWS_WITH_AS(content("flat"), doctest::Contains("3 dimensions"), Error);

    LaunchFile two = launch;
    two.buffers.erase("long");
    two.buffers.erase("flat");
    CHECK(scalar<float>(initial_contents(two).at("descale").bytes) == 1.0f / 16);
}

TEST_CASE("the reference check is read with its strides, and refused without limits") {
    const auto read = [](const std::string& members) {
        return R"({"kernel": "k", "buffers": {"q": {"size": 1}, "k": {"size": 1}, "v": {"size": 1}, "o": {"size": 1},
                   "lse": {"size": 1}}, "attention": {)" +
               members + "}}";
    };
    const LaunchFile launch = parse_launch(
        read(R"("dtype": "e4m3", "heads_q": 4, "heads_kv": 1, "seq_q": 10, "seq_kv": 12, "mask": "none",
                             "layout": "bshd", "q": {"offset": 16, "strides": [9, 8, 7]}, "lse": "lse",
                             "relative_rms": 0.1, "lse_max_abs": 0.01, "probabilities": "e4m3")"),
        "");
    REQUIRE(launch.attention);
    const Problem& problem = launch.attention->problem;
    CHECK(problem.dtype == DType::e4m3);
    CHECK(problem.mask == Mask::none);
    CHECK(problem.heads_kv == 1);
    CHECK(problem.seq_kv == 12);
    CHECK(problem.lse);
    CHECK(problem.q == Strides{.batch = 9, .head = 8, .seq = 7});
    CHECK(problem.o == Strides{.batch = 5120, .head = 128, .seq = 512});
    CHECK(launch.attention->q.offset == 16);
    CHECK(launch.attention->probabilities == ElementType::e4m3);

    CHECK(refused(read(R"("seq_q": 10)")) == "attention.relative_rms");
    CHECK(refused(read(R"("relative_rms": 0.1)")) == "attention.seq_q");
    CHECK(refused(read(R"("seq_q": 0, "relative_rms": 0.1)")) == "attention.seq_q");
    CHECK(refused(read(R"("seq_q": 1, "relative_rms": 0.1, "lse": "lse")")) == "attention.lse_max_abs");
    CHECK(refused(read(R"("seq_q": 1, "relative_rms": 0.1, "heads_q": 3, "heads_kv": 2)")) ==
          "attention.heads_kv");
    CHECK(refused(read(R"("seq_q": 1, "relative_rms": 0.1, "o": "p")")) == "attention");
    CHECK(refused(read(R"("seq_q": 1, "relative_rms": 0.1, "softmax_scale": 0)")) ==
          "attention.softmax_scale");
    CHECK(refused(R"({"kernel": "k", "buffers": {"d": {"descale_of": "q"}}})") == "buffers.d.descale_of");
    CHECK(
        refused(R"({"kernel": "k", "buffers": {"x": {"size": 4, "generator": {"kind": "ramp", "type": "f32"},
                      "as": "bf16", "scale": "auto"}}})") == "buffers.x.scale");
}
