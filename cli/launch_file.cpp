// SPDX-License-Identifier: Apache-2.0
// Every member is checked by name: an unknown or misspelt one is an error, because a silently ignored
// tolerance or offset would make a wrong kernel pass.
#include "cli/launch_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/files.hpp"
#include "core/random.hpp"
#include "core/safetensors.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

using Json = nlohmann::json;

constexpr std::uint32_t max_kernarg_bytes = 1u << 16;
constexpr std::uint64_t max_buffer_bytes = std::uint64_t{1} << 36;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
    throw Error(ErrorCode::invalid_argument, where.empty() ? "LAUNCH.json" : where, message);
}

std::string at(const std::string& where, std::string_view member) {
    return where.empty() ? std::string(member) : where + "." + std::string(member);
}

void check_members(const Json& json, const std::string& where, std::initializer_list<const char*> known) {
    if (!json.is_object()) {
        fail(where, "an object is needed here");
    }
    std::string list;
    for (const char* name : known) {
        list += (list.empty() ? "" : ", ") + std::string(name);
    }
    for (const auto& [name, value] : json.items()) {
        if (std::none_of(known.begin(), known.end(), [&key = name](const char* k) { return key == k; })) {
            fail(at(where, name), "not known here; accepted are " + list);
        }
    }
}

std::string text(const Json& json, const std::string& where) {
    if (!json.is_string()) {
        fail(where, "a string is needed here");
    }
    return json.get<std::string>();
}

std::string optional_text(const Json& json, const std::string& where, const char* member) {
    return json.contains(member) ? text(json[member], at(where, member)) : std::string();
}

std::uint64_t unsigned_number(const Json& json, const std::string& where, std::uint64_t max) {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > max) {
        fail(where, fmt::format("{} is not a whole number from 0 to {}", json.dump(), max));
    }
    return json.get<std::uint64_t>();
}

std::uint64_t optional_unsigned(const Json& json, const std::string& where, const char* member,
                                std::uint64_t max, std::uint64_t otherwise) {
    return json.contains(member) ? unsigned_number(json[member], at(where, member), max) : otherwise;
}

double number(const Json& json, const std::string& where) {
    if (json.is_number()) {
        return json.get<double>();
    }
    if (json.is_string()) { // JSON has no words for these
        const std::string word = json.get<std::string>();
        if (word == "nan") {
            return std::numeric_limits<double>::quiet_NaN();
        }
        if (word == "inf" || word == "-inf") {
            return word == "inf" ? std::numeric_limits<double>::infinity()
                                 : -std::numeric_limits<double>::infinity();
        }
    }
    fail(where, json.dump() + " is not a number (\"nan\", \"inf\" and \"-inf\" are accepted too)");
}

double optional_number(const Json& json, const std::string& where, const char* member, double otherwise) {
    return json.contains(member) ? number(json[member], at(where, member)) : otherwise;
}

ElementType type_of(const Json& json, const std::string& where) {
    const std::string name = text(json, where);
    const std::optional<ElementType> type = element_type(name);
    if (!type) {
        fail(where, fmt::format("'{}' is not an element type; accepted are {}", name, element_type_names()));
    }
    return *type;
}

std::array<std::uint32_t, 3> three(const Json& json, const std::string& where) {
    if (!json.is_array() || json.empty() || json.size() > 3) {
        fail(where, "a list of one to three sizes is needed here");
    }
    std::array<std::uint32_t, 3> sizes{1, 1, 1};
    for (std::size_t i = 0; i < json.size(); ++i) {
        const std::string place = fmt::format("{}[{}]", where, i);
        sizes[i] = static_cast<std::uint32_t>(
            unsigned_number(json[i], place, std::numeric_limits<std::uint32_t>::max()));
        if (sizes[i] == 0) {
            fail(place, "0 is not accepted; at least 1");
        }
    }
    return sizes;
}

std::string path_of(const Json& json, const std::string& where, const std::string& folder) {
    const std::filesystem::path path(text(json, where));
    return path.is_absolute() || folder.empty() ? path.string()
                                                : (std::filesystem::path(folder) / path).string();
}

GeneratorSource parse_generator(const Json& json, const std::string& where) {
    check_members(json, where, {"kind", "type", "seed", "mean", "sd", "value", "start", "step", "modulo"});
    GeneratorSource source;
    if (!json.contains("kind") || !json.contains("type")) {
        fail(where, "kind (gaussian, constant, ramp) and type are needed");
    }
    const std::string kind = text(json["kind"], at(where, "kind"));
    if (kind != "gaussian" && kind != "constant" && kind != "ramp") {
        fail(at(where, "kind"),
             fmt::format("'{}' is not known; accepted are gaussian, constant, ramp", kind));
    }
    source.kind = kind == "gaussian"   ? GeneratorSource::Kind::gaussian
                  : kind == "constant" ? GeneratorSource::Kind::constant
                                       : GeneratorSource::Kind::ramp;
    source.type = type_of(json["type"], at(where, "type"));
    source.seed =
        optional_unsigned(json, where, "seed", std::numeric_limits<std::uint64_t>::max(), source.seed);
    source.mean = optional_number(json, where, "mean", source.mean);
    source.sd = optional_number(json, where, "sd", source.sd);
    source.value = optional_number(json, where, "value", source.value);
    source.start = optional_number(json, where, "start", source.start);
    source.step = optional_number(json, where, "step", source.step);
    source.modulo = optional_number(json, where, "modulo", source.modulo);
    return source;
}

BufferSpec parse_buffer(const Json& json, const std::string& where, const std::string& folder) {
    check_members(json, where, {"size", "fill", "file", "safetensors", "tensor", "as", "scale", "generator"});
    BufferSpec spec;
    spec.size = optional_unsigned(json, where, "size", max_buffer_bytes, 0);
    const std::size_t sources =
        json.count("fill") + json.count("file") + json.count("safetensors") + json.count("generator");
    if (sources > 1) {
        fail(where, "more than one of fill, file, safetensors, generator");
    }
    for (const char* member : {"tensor", "as", "scale"}) {
        if (json.contains(member) && !json.contains("safetensors")) {
            fail(at(where, member), "only meant with safetensors");
        }
    }
    if (json.contains("file")) {
        spec.source = FileSource{path_of(json["file"], at(where, "file"), folder)};
    } else if (json.contains("safetensors")) {
        TensorSource source{.path = path_of(json["safetensors"], at(where, "safetensors"), folder),
                            .tensor = optional_text(json, where, "tensor"),
                            .as = std::nullopt,
                            .scale = optional_number(json, where, "scale", 1)};
        if (source.tensor.empty()) {
            fail(at(where, "tensor"), "the name of the tensor in the file is needed");
        }
        if (json.contains("as")) {
            source.as = type_of(json["as"], at(where, "as"));
        }
        spec.source = std::move(source);
    } else {
        if (spec.size == 0) {
            fail(at(where, "size"), "needed, in bytes, where neither file nor safetensors gives the size");
        }
        if (json.contains("generator")) {
            spec.source = parse_generator(json["generator"], at(where, "generator"));
        } else {
            spec.source =
                FillSource{static_cast<std::uint8_t>(optional_unsigned(json, where, "fill", 255, 0))};
        }
    }
    return spec;
}

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
    check_members(json, where, {"type", "value", "buffer", "buffer_offset", "offset"});
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
    } else {
        if (!json.contains("type") || !json.contains("value")) {
            fail(where, "type and value are needed, or buffer");
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
    } catch (const Json::parse_error& error) {
        fail("", error.what());
    }
    check_members(
        json, "",
        {"kernel", "grid", "block", "dynamic_lds", "kernargs", "kernarg_bytes", "buffers", "outputs"});
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
    return launch;
}

namespace {

std::vector<std::byte> generated(const GeneratorSource& source, std::uint64_t size) {
    const std::size_t step = size_of(source.type);
    std::vector<std::byte> content(size);
    Random random(source.seed, 0, 0);
    for (std::uint64_t i = 0; i < size / step; ++i) {
        double value = source.value;
        if (source.kind == GeneratorSource::Kind::gaussian) {
            value = source.mean + source.sd * random.normal();
        } else if (source.kind == GeneratorSource::Kind::ramp) {
            const double index = static_cast<double>(i);
            value =
                source.start + source.step * (source.modulo > 0 ? std::fmod(index, source.modulo) : index);
        }
        store(source.type, value, std::span(content).subspan(i * step, step));
    }
    return content;
}

std::vector<std::byte> tensor_content(const std::string& where, const TensorSource& source) {
    const std::vector<std::byte> file = read_file(source.path);
    const SafeTensors tensors = parse_safetensors(file);
    const SafeTensor& tensor = tensors.at(source.tensor);
    if (!source.as && source.scale == 1) {
        return {tensor.data.begin(), tensor.data.end()};
    }
    const std::optional<ElementType> from = tensor.dtype == "BF16"      ? std::optional(ElementType::bf16)
                                            : tensor.dtype == "F32"     ? std::optional(ElementType::f32)
                                            : tensor.dtype == "F8_E4M3" ? std::optional(ElementType::e4m3)
                                                                        : std::nullopt;
    if (!from) {
        fail(at(where, "as"), fmt::format("tensor '{}' is {}; accepted for conversion are BF16, F32, F8_E4M3",
                                          source.tensor, tensor.dtype));
    }
    const ElementType to = source.as.value_or(*from);
    const std::size_t count = tensor.data.size() / size_of(*from);
    std::vector<std::byte> content(count * size_of(to));
    for (std::size_t i = 0; i < count; ++i) {
        const double value = load(*from, tensor.data.subspan(i * size_of(*from), size_of(*from)));
        store(to, value * source.scale, std::span(content).subspan(i * size_of(to), size_of(to)));
    }
    return content;
}

} // namespace

std::vector<std::byte> initial_content(const std::string& name, const BufferSpec& spec) {
    const std::string where = at("buffers", name);
    std::vector<std::byte> content;
    if (const FillSource* fill = std::get_if<FillSource>(&spec.source)) {
        content.assign(spec.size, static_cast<std::byte>(fill->byte));
    } else if (const FileSource* file = std::get_if<FileSource>(&spec.source)) {
        content = read_file(file->path);
    } else if (const TensorSource* tensor = std::get_if<TensorSource>(&spec.source)) {
        content = tensor_content(where, *tensor);
    } else {
        content = generated(std::get<GeneratorSource>(spec.source), spec.size);
    }
    if (spec.size != 0 && content.size() > spec.size) {
        fail(at(where, "size"), fmt::format("{} bytes, but its content has {}", spec.size, content.size()));
    }
    content.resize(spec.size != 0 ? spec.size
                                  : content.size()); // a file that is shorter is continued by zeros
    if (content.empty()) {
        fail(where, "empty");
    }
    return content;
}

} // namespace zyfa::cli
