// SPDX-License-Identifier: Apache-2.0
// Buffers of LAUNCH.json: reading their members, and making the bytes that they start with.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "cli/files.hpp"
#include "cli/launch_json.hpp"
#include "core/distributions.hpp"
#include "core/random.hpp"
#include "core/safetensors.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace launch_json {

namespace {

GeneratorSource parse_generator(const Json& json, const std::string& where) {
    check_members(json, where,
                  {"kind", "type", "seed", "mean", "sd", "value", "start", "step", "modulo", "repeat"});
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
    source.repeat = optional_unsigned(json, where, "repeat", max_buffer_bytes, source.repeat);
    if (source.repeat == 0) {
        fail(at(where, "repeat"), "0 is not accepted; at least 1");
    }
    return source;
}

std::vector<Cut> parse_cut(const Json& json, const std::string& where) {
    if (!json.is_array() || json.empty()) {
        fail(where, "a list of [begin, end] is needed here, one per dimension of the tensor");
    }
    std::vector<Cut> cuts;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const std::string place = fmt::format("{}[{}]", where, i);
        if (!json[i].is_array() || json[i].size() != 2) {
            fail(place, "[begin, end] is needed here");
        }
        constexpr std::uint64_t max = std::numeric_limits<std::int32_t>::max();
        cuts.push_back({.begin = static_cast<std::int64_t>(unsigned_number(json[i][0], place, max)),
                        .end = static_cast<std::int64_t>(unsigned_number(json[i][1], place, max))});
        if (cuts.back().begin >= cuts.back().end) {
            fail(place, "empty; begin has to be below end");
        }
    }
    return cuts;
}

Conversion parse_conversion(const Json& json, const std::string& where) {
    Conversion conversion;
    if (json.contains("as")) {
        conversion.as = type_of(json["as"], at(where, "as"));
    }
    if (json.contains("scale") && json["scale"] == "auto") {
        if (conversion.as != ElementType::e4m3) {
            fail(at(where, "scale"), "\"auto\" is only meant with \"as\": \"e4m3\"");
        }
        conversion.automatic = true;
    } else {
        conversion.scale = optional_number(json, where, "scale", 1);
        if (!(std::fabs(conversion.scale) > 0) || !std::isfinite(conversion.scale)) {
            fail(at(where, "scale"), "a number other than 0 is needed here");
        }
    }
    return conversion;
}

} // namespace

BufferSpec parse_buffer(const Json& json, const std::string& where, const std::string& folder) {
    check_members(
        json, where,
        {"size", "fill", "file", "safetensors", "tensor", "cut", "as", "scale", "generator", "descale_of"});
    BufferSpec spec;
    spec.size = optional_unsigned(json, where, "size", max_buffer_bytes, 0);
    const std::size_t sources = json.count("fill") + json.count("file") + json.count("safetensors") +
                                json.count("generator") + json.count("descale_of");
    if (sources > 1) {
        fail(where, "more than one of fill, file, safetensors, generator, descale_of");
    }
    const bool converts = json.contains("safetensors") || json.contains("generator");
    for (const char* member : {"tensor", "cut", "as", "scale"}) {
        const bool with_generator = std::string_view(member) == "as" || std::string_view(member) == "scale";
        if (json.contains(member) && !(with_generator ? converts : json.contains("safetensors"))) {
            fail(at(where, member),
                 with_generator ? "only meant with safetensors or generator" : "only meant with safetensors");
        }
    }
    spec.conversion = parse_conversion(json, where);
    if (json.contains("file")) {
        spec.source = FileSource{path_of(json["file"], at(where, "file"), folder)};
    } else if (json.contains("safetensors")) {
        TensorSource source{.path = path_of(json["safetensors"], at(where, "safetensors"), folder),
                            .tensor = optional_text(json, where, "tensor"),
                            .cut = {}};
        if (source.tensor.empty()) {
            fail(at(where, "tensor"), "the name of the tensor in the file is needed");
        }
        if (json.contains("cut")) {
            source.cut = parse_cut(json["cut"], at(where, "cut"));
        }
        spec.source = std::move(source);
    } else if (json.contains("descale_of")) {
        spec.source = DescaleSource{text(json["descale_of"], at(where, "descale_of"))};
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

} // namespace launch_json

namespace {

using launch_json::at;
using launch_json::fail;

/// `count` elements of the source's own type.
std::vector<std::byte> generated(const GeneratorSource& source, std::uint64_t count) {
    const std::size_t step = size_of(source.type);
    std::vector<std::byte> content(count * step);
    Random random(source.seed, 0, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
        double value = source.value;
        if (source.kind == GeneratorSource::Kind::gaussian) {
            value = source.mean + source.sd * random.normal();
        } else if (source.kind == GeneratorSource::Kind::ramp) {
            const double index = static_cast<double>(i / source.repeat);
            value =
                source.start + source.step * (source.modulo > 0 ? std::fmod(index, source.modulo) : index);
        }
        store(source.type, value, std::span(content).subspan(i * step, step));
    }
    return content;
}

/// The elements within the cut, in the tensor's order.
std::vector<std::byte> cut_out(const std::string& where, const SafeTensor& tensor,
                               const std::vector<Cut>& cut) {
    if (cut.empty()) {
        return {tensor.data.begin(), tensor.data.end()};
    }
    if (cut.size() != tensor.shape.size()) {
        fail(where,
             fmt::format("{} ranges, but the tensor has {} dimensions", cut.size(), tensor.shape.size()));
    }
    std::size_t elements = 1;
    for (std::size_t d = 0; d < cut.size(); ++d) {
        if (cut[d].end > tensor.shape[d]) {
            fail(fmt::format("{}[{}]", where, d),
                 fmt::format("ends at {}, but the tensor's size is {}", cut[d].end, tensor.shape[d]));
        }
        elements *= static_cast<std::size_t>(tensor.shape[d]);
    }
    const std::size_t step = tensor.data.size() / elements;
    std::vector<std::byte> out;
    std::vector<std::int64_t> index;
    std::transform(cut.begin(), cut.end(), std::back_inserter(index), [](const Cut& c) { return c.begin; });
    for (;;) { // one run of the last dimension at a time
        std::size_t offset = 0;
        for (std::size_t d = 0; d < cut.size(); ++d) {
            offset = offset * static_cast<std::size_t>(tensor.shape[d]) + static_cast<std::size_t>(index[d]);
        }
        const std::size_t run = static_cast<std::size_t>(cut.back().end - cut.back().begin);
        const std::span<const std::byte> bytes = tensor.data.subspan(offset * step, run * step);
        out.insert(out.end(), bytes.begin(), bytes.end());
        std::size_t d = cut.size() - 1;
        do {
            if (d == 0) {
                return out;
            }
            --d;
            if (++index[d] < cut[d].end) {
                break;
            }
            index[d] = cut[d].begin;
        } while (true);
    }
}

Content convert(const std::string& where, std::span<const std::byte> from_bytes, ElementType from,
                const Conversion& conversion) {
    const ElementType to = conversion.as.value_or(from);
    const std::size_t from_step = size_of(from), to_step = size_of(to), count = from_bytes.size() / from_step;
    Content content{.bytes = std::vector<std::byte>(count * to_step), .descale = 1 / conversion.scale};
    if (!conversion.automatic) {
        for (std::size_t i = 0; i < count; ++i) {
            const double value = load(from, from_bytes.subspan(i * from_step, from_step));
            store(to, value * conversion.scale, std::span(content.bytes).subspan(i * to_step, to_step));
        }
        return content;
    }
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(load(from, from_bytes.subspan(i * from_step, from_step)));
        if (!std::isfinite(values[i])) {
            fail(at(where, "scale"), fmt::format("\"auto\": element {} is {}", i, values[i]));
        }
    }
    std::vector<std::uint8_t> codes(count);
    content.descale = quantise_e4m3(values, codes);
    std::transform(codes.begin(), codes.end(), content.bytes.begin(),
                   [](std::uint8_t code) { return static_cast<std::byte>(code); });
    return content;
}

Content tensor_content(const std::string& where, const TensorSource& source, const Conversion& conversion) {
    const std::vector<std::byte> file = read_file(source.path);
    const SafeTensors tensors = parse_safetensors(file);
    const SafeTensor& tensor = tensors.at(source.tensor);
    const std::vector<std::byte> bytes = cut_out(at(where, "cut"), tensor, source.cut);
    if (!conversion.as && conversion.scale == 1) {
        return {.bytes = bytes};
    }
    const std::optional<ElementType> from = tensor.dtype == "BF16"      ? std::optional(ElementType::bf16)
                                            : tensor.dtype == "F32"     ? std::optional(ElementType::f32)
                                            : tensor.dtype == "F8_E4M3" ? std::optional(ElementType::e4m3)
                                                                        : std::nullopt;
    if (!from) {
        fail(at(where, "as"), fmt::format("tensor '{}' is {}; accepted for conversion are BF16, F32, F8_E4M3",
                                          source.tensor, tensor.dtype));
    }
    return convert(where, bytes, *from, conversion);
}

Content generated_content(const std::string& where, const GeneratorSource& source, const BufferSpec& spec) {
    const std::uint64_t count = spec.size / size_of(spec.conversion.as.value_or(source.type));
    std::vector<std::byte> bytes = generated(source, count);
    if (!spec.conversion.as && spec.conversion.scale == 1) {
        return {.bytes = std::move(bytes)};
    }
    return convert(where, bytes, source.type, spec.conversion);
}

} // namespace

Content initial_content(const std::string& name, const BufferSpec& spec,
                        const std::map<std::string, double>& descales) {
    const std::string where = at("buffers", name);
    Content content;
    if (const FillSource* fill = std::get_if<FillSource>(&spec.source)) {
        content.bytes.assign(spec.size, static_cast<std::byte>(fill->byte));
    } else if (const FileSource* file = std::get_if<FileSource>(&spec.source)) {
        content.bytes = read_file(file->path);
    } else if (const TensorSource* tensor = std::get_if<TensorSource>(&spec.source)) {
        content = tensor_content(where, *tensor, spec.conversion);
    } else if (const DescaleSource* descale = std::get_if<DescaleSource>(&spec.source)) {
        content.bytes.resize(size_of(ElementType::f32));
        store(ElementType::f32, descales.at(descale->of), content.bytes);
    } else {
        content = generated_content(where, std::get<GeneratorSource>(spec.source), spec);
    }
    if (spec.size != 0 && content.bytes.size() > spec.size) {
        fail(at(where, "size"),
             fmt::format("{} bytes, but its content has {}", spec.size, content.bytes.size()));
    }
    if (spec.size != 0) {
        content.bytes.resize(spec.size); // a file that is shorter is continued by zeros
    }
    if (content.bytes.empty()) {
        fail(where, "empty");
    }
    return content;
}

std::map<std::string, Content> initial_contents(const LaunchFile& launch) {
    std::map<std::string, Content> contents;
    std::map<std::string, double> descales;
    for (const bool derived : {false, true}) {
        for (const auto& [name, spec] : launch.buffers) {
            if (std::holds_alternative<DescaleSource>(spec.source) == derived) {
                contents[name] = initial_content(name, spec, descales);
                descales[name] = contents[name].descale;
            }
        }
    }
    return contents;
}

} // namespace zyfa::cli
