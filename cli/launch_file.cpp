// SPDX-License-Identifier: Apache-2.0
// Every member is checked by name: an unknown or misspelt one is an error, because a silently ignored
// tolerance or offset would make a wrong kernel pass.
#include "cli/launch_file.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "cli/launch_json.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

using namespace launch_json;

namespace {

constexpr std::uint32_t max_kernarg_bytes = 1u << 16;

std::vector<std::byte> hex_bytes(const std::string& digits, const std::string& where) {
    const auto nibble = [&](char c) {
        if (c >= '0' && c <= '9') {
            return c - '0';
        }
        if (c >= 'a' && c <= 'f') {
            return c - 'a' + 10;
        }
        if (c >= 'A' && c <= 'F') {
            return c - 'A' + 10;
        }
        fail(where, fmt::format("'{}' is not a hexadecimal digit", c));
    };
    if (digits.size() % 2 != 0) {
        fail(where, "an even number of hexadecimal digits is needed");
    }
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        out.push_back(static_cast<std::byte>(nibble(digits[i]) * 16 + nibble(digits[i + 1])));
    }
    return out;
}

/// Integers keep all 64 bits, which a double would not.
std::vector<std::byte> scalar_bytes(const Json& json, const std::string& where, ElementType type) {
    std::vector<std::byte> value(size_of(type));
    if (!is_integer(type)) {
        store(type, number(json, where), value);
        return value;
    }
    if (!json.is_number_integer()) {
        fail(where, json.dump() + " is not a whole number");
    }
    const unsigned bits = static_cast<unsigned>(8 * value.size());
    const bool negative =
        json.is_number_integer() && !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
    const std::uint64_t code =
        negative ? static_cast<std::uint64_t>(json.get<std::int64_t>()) : json.get<std::uint64_t>();
    const bool is_signed = type >= ElementType::i8;
    const bool fits = negative ? is_signed && json.get<std::int64_t>() >= -(std::int64_t{1} << (bits - 2)) * 2
                               : (bits == 64 || code >> bits == 0) && (!is_signed || code >> (bits - 1) == 0);
    if (!fits) {
        fail(where, fmt::format("{} does not fit into {} bits", json.dump(), bits));
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
        value[i] = static_cast<std::byte>(code >> (8 * i) & 0xff);
    }
    return value;
}

KernargSpec parse_kernarg(const Json& json, const std::string& where, std::uint32_t end) {
    check_members(json, where, {"type", "value", "buffer", "buffer_offset", "offset", "descale_of"});
    KernargSpec spec;
    std::size_t alignment = 1;
    if (json.contains("buffer")) {
        if (json.contains("type") || json.contains("value")) {
            fail(where, "either a buffer, or type and value");
        }
        spec.buffer = text(json["buffer"], at(where, "buffer"));
        spec.buffer_offset = optional_unsigned(json, where, "buffer_offset", max_buffer_bytes, 0);
        spec.value.resize(sizeof(std::uint64_t));
        alignment = sizeof(std::uint64_t);
    } else if (json.contains("descale_of")) {
        if (json.contains("type") || json.contains("value")) {
            fail(where, "either descale_of, or type and value");
        }
        spec.descale_of = text(json["descale_of"], at(where, "descale_of"));
        spec.value.resize(sizeof(float));
        alignment = sizeof(float);
    } else {
        if (!json.contains("type") || !json.contains("value")) {
            fail(where, "type and value are needed, or buffer, or descale_of");
        }
        const std::string place = at(where, "value");
        if (json["type"] == "hex") {
            spec.value = hex_bytes(text(json["value"], place), place);
        } else {
            const ElementType type = type_of(json["type"], at(where, "type"));
            spec.value = scalar_bytes(json["value"], place, type);
            alignment = spec.value.size();
        }
    }
    const std::uint32_t natural = static_cast<std::uint32_t>((end + alignment - 1) / alignment * alignment);
    spec.offset =
        static_cast<std::uint32_t>(optional_unsigned(json, where, "offset", max_kernarg_bytes, natural));
    if (spec.offset + spec.value.size() > max_kernarg_bytes) {
        fail(where, fmt::format("ends beyond {} bytes", max_kernarg_bytes));
    }
    return spec;
}

OutputSpec parse_output(const Json& json, const std::string& where, const std::string& folder) {
    check_members(json, where, {"buffer", "file", "equals", "type", "tolerance", "print"});
    OutputSpec spec;
    spec.buffer = optional_text(json, where, "buffer");
    if (json.contains("file")) {
        spec.file = path_of(json["file"], at(where, "file"), folder);
    }
    if (json.contains("equals")) {
        spec.equals = path_of(json["equals"], at(where, "equals"), folder);
    }
    if (json.contains("type")) {
        spec.type = type_of(json["type"], at(where, "type"));
    }
    spec.tolerance = optional_number(json, where, "tolerance", 0);
    if (!(spec.tolerance >= 0)) {
        fail(at(where, "tolerance"), "at least 0 is needed");
    }
    spec.print = optional_unsigned(json, where, "print", 1u << 20, 0);
    return spec;
}

} // namespace

LaunchFile parse_launch(std::string_view content, const std::string& folder) {
    Json json;
    try {
        json = Json::parse(content);
    } catch (const Json::exception& error) {
        fail("", error.what());
    }
    check_members(json, "",
                  {"kernel", "grid", "block", "dynamic_lds", "kernargs", "kernarg_bytes", "buffers",
                   "outputs", "attention"});
    LaunchFile launch;
    launch.kernel = optional_text(json, "", "kernel");
    if (launch.kernel.empty()) {
        fail("kernel", "the kernel's name is needed");
    }
    if (json.contains("grid")) {
        launch.grid = three(json["grid"], "grid");
    }
    if (json.contains("block")) {
        launch.block = three(json["block"], "block");
    }
    launch.dynamic_lds = static_cast<std::uint32_t>(optional_unsigned(json, "", "dynamic_lds", 163840, 0));
    if (json.contains("buffers")) {
        if (!json["buffers"].is_object()) {
            fail("buffers", "an object from name to buffer is needed here");
        }
        for (const auto& [name, value] : json["buffers"].items()) {
            launch.buffers[name] = parse_buffer(value, at("buffers", name), folder);
        }
    }
    const auto need_buffer = [&](const std::string& where, const std::string& name) {
        if (!launch.buffers.contains(name)) {
            fail(where, fmt::format("there is no buffer '{}' in buffers", name));
        }
    };
    for (const auto& [name, buffer] : launch.buffers) {
        if (const DescaleSource* descale = std::get_if<DescaleSource>(&buffer.source)) {
            const std::string where = at(at("buffers", name), "descale_of");
            need_buffer(where, descale->of);
            if (std::holds_alternative<DescaleSource>(launch.buffers.at(descale->of).source)) {
                fail(where, fmt::format("'{}' is a descale itself", descale->of));
            }
        }
    }
    if (json.contains("kernargs")) {
        if (!json["kernargs"].is_array()) {
            fail("kernargs", "a list is needed here");
        }
        for (std::size_t i = 0; i < json["kernargs"].size(); ++i) {
            const std::string where = fmt::format("kernargs[{}]", i);
            // Without an offset, an argument stands after the one before it, aligned to its own size.
            const std::uint32_t end =
                launch.kernargs.empty() ? 0
                                        : launch.kernargs.back().offset +
                                              static_cast<std::uint32_t>(launch.kernargs.back().value.size());
            KernargSpec spec = parse_kernarg(json["kernargs"][i], where, end);
            if (!spec.buffer.empty()) {
                need_buffer(at(where, "buffer"), spec.buffer);
            }
            if (!spec.descale_of.empty()) {
                need_buffer(at(where, "descale_of"), spec.descale_of);
            }
            launch.kernarg_bytes =
                std::max(launch.kernarg_bytes, spec.offset + static_cast<std::uint32_t>(spec.value.size()));
            launch.kernargs.push_back(std::move(spec));
        }
    }
    launch.kernarg_bytes = std::max(
        launch.kernarg_bytes,
        static_cast<std::uint32_t>(optional_unsigned(json, "", "kernarg_bytes", max_kernarg_bytes, 0)));
    if (json.contains("outputs")) {
        if (!json["outputs"].is_array()) {
            fail("outputs", "a list is needed here");
        }
        for (std::size_t i = 0; i < json["outputs"].size(); ++i) {
            const std::string where = fmt::format("outputs[{}]", i);
            launch.outputs.push_back(parse_output(json["outputs"][i], where, folder));
            need_buffer(at(where, "buffer"), launch.outputs.back().buffer);
        }
    }
    if (json.contains("attention")) {
        launch.attention = parse_attention(json["attention"], "attention");
        for (const TensorPlace* place : {&launch.attention->q, &launch.attention->k, &launch.attention->v,
                                         &launch.attention->o, &launch.attention->lse}) {
            if (place != &launch.attention->lse || launch.attention->problem.lse) {
                need_buffer("attention", place->buffer);
            }
        }
    }
    return launch;
}

} // namespace zyfa::cli
