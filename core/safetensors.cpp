// SPDX-License-Identifier: Apache-2.0
// Reading and writing safetensors. The reader trusts nothing: the format's own limits (header of at most 100
// MB, tensors that tile the data exactly) are enforced before a span is formed.
#include "core/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "zyfa/error.hpp"

namespace zyfa {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t max_header = 100'000'000;
constexpr std::size_t length_bytes = 8;

struct ElementType {
    std::string_view name;
    std::uint32_t bytes;
};
constexpr std::array element_types{
    ElementType{"BOOL", 1},    ElementType{"U8", 1},      ElementType{"I8", 1},
    ElementType{"F8_E4M3", 1}, ElementType{"F8_E5M2", 1}, ElementType{"F8_E4M3FNUZ", 1},
    ElementType{"I16", 2},     ElementType{"U16", 2},     ElementType{"F16", 2},
    ElementType{"BF16", 2},    ElementType{"I32", 4},     ElementType{"U32", 4},
    ElementType{"F32", 4},     ElementType{"F64", 8},     ElementType{"I64", 8},
    ElementType{"U64", 8}};

[[noreturn]] void malformed(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "safetensors", "malformed file: " + what);
}

/// Bytes that shape and dtype ask for.
std::uint64_t expected_bytes(const std::string& name, const SafeTensor& tensor) {
    const auto type = std::find_if(element_types.begin(), element_types.end(),
                                   [&](const ElementType& t) { return t.name == tensor.dtype; });
    if (type == element_types.end())
        malformed("tensor \"" + name + "\" has the unknown dtype \"" + tensor.dtype + "\"");
    std::uint64_t bytes = type->bytes;
    for (const std::int64_t size : tensor.shape)
        if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
            malformed("tensor \"" + name + "\" has an impossible shape");
    return bytes;
}

std::uint64_t unsigned_integer(const Json& json, const std::string& name) {
    if (!json.is_number_unsigned())
        malformed("tensor \"" + name + "\" has a size or an offset that is not a natural number");
    return json.get<std::uint64_t>();
}

struct Range {
    std::uint64_t begin, end;
};

SafeTensor read_tensor(const std::string& name, const Json& entry, std::span<const std::byte> data,
                       Range& range) {
    SafeTensor tensor;
    tensor.dtype = entry.at("dtype").get<std::string>();
    const Json& shape = entry.at("shape");
    const Json& offsets = entry.at("data_offsets");
    if (!shape.is_array() || !offsets.is_array() || offsets.size() != 2)
        malformed("tensor \"" + name + "\" has no shape or no pair of offsets");
    for (const Json& size : shape) {
        const std::uint64_t value = unsigned_integer(size, name);
        if (value > INT64_MAX)
            malformed("tensor \"" + name + "\" has an impossible shape");
        tensor.shape.push_back(static_cast<std::int64_t>(value));
    }
    range = {unsigned_integer(offsets[0], name), unsigned_integer(offsets[1], name)};
    if (range.begin > range.end || range.end > data.size())
        malformed("tensor \"" + name + "\" lies outside the file's " + std::to_string(data.size()) +
                  " bytes of data");
    if (range.end - range.begin != expected_bytes(name, tensor))
        malformed("tensor \"" + name + "\" has " + std::to_string(range.end - range.begin) +
                  " bytes, which its shape and dtype do not ask for");
    tensor.data = data.subspan(range.begin, range.end - range.begin);
    return tensor;
}

/// Tensors tile the data: no overlap, no hole in which something could hide.
void check_tiling(std::vector<Range> ranges, std::uint64_t size) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t covered = 0;
    for (const Range& range : ranges) {
        if (range.begin != covered)
            malformed(range.begin < covered ? "tensors overlap" : "a hole between tensors");
        covered = range.end;
    }
    if (covered != size)
        malformed(std::to_string(size - covered) + " bytes after the last tensor");
}

/// nlohmann keeps the last of equal names; the format forbids them.
Json parse_header(std::string_view text) {
    std::vector<std::set<std::string>> open; // names seen in each object that is being read
    bool duplicate = false;
    const Json::parser_callback_t watch = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start)
            open.emplace_back();
        else if (event == Json::parse_event_t::object_end)
            open.pop_back();
        else if (event == Json::parse_event_t::key)
            duplicate = !open.back().insert(parsed.get<std::string>()).second || duplicate;
        return true;
    };
    Json header = Json::parse(text, watch);
    if (duplicate)
        malformed("a name appears twice in the header");
    if (!header.is_object())
        malformed("the header is not an object");
    return header;
}

} // namespace

const SafeTensor& SafeTensors::at(const std::string& name) const {
    const auto found = tensors.find(name);
    if (found != tensors.end())
        return found->second;
    std::string names;
    for (const auto& [other, tensor] : tensors)
        names += (names.empty() ? "" : ", ") + other;
    throw Error(ErrorCode::invalid_argument, name, "no such tensor in the file; there are: " + names);
}

SafeTensors parse_safetensors(std::span<const std::byte> bytes) {
    if (bytes.size() < length_bytes)
        malformed("shorter than its 8-byte header length");
    std::uint64_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;)
        length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    if (length > max_header || length > bytes.size() - length_bytes)
        malformed("header length " + std::to_string(length) + " is beyond the file or 100 MB");
    const std::string_view header(reinterpret_cast<const char*>(bytes.data() + length_bytes), length);
    const std::span<const std::byte> data = bytes.subspan(length_bytes + length);
    SafeTensors result;
    std::vector<Range> ranges;
    try {
        const Json json = parse_header(header);
        for (const auto& [name, entry] : json.items()) {
            if (name == "__metadata__") {
                for (const auto& [key, value] : entry.items())
                    result.metadata[key] = value.get<std::string>();
                continue;
            }
            Range range{};
            result.tensors[name] = read_tensor(name, entry, data, range);
            ranges.push_back(range);
        }
    } catch (const Json::exception& error) {
        malformed(std::string("header: ") + error.what());
    }
    check_tiling(std::move(ranges), data.size());
    return result;
}

std::vector<std::byte> write_safetensors(const SafeTensors& content) {
    Json header = Json::object();
    if (!content.metadata.empty())
        header["__metadata__"] = content.metadata;
    std::uint64_t offset = 0;
    for (const auto& [name, tensor] : content.tensors) {
        if (tensor.data.size() != expected_bytes(name, tensor))
            throw Error(ErrorCode::invalid_argument, name,
                        "has " + std::to_string(tensor.data.size()) + " bytes; its shape and dtype ask for " +
                            std::to_string(expected_bytes(name, tensor)));
        header[name] = {{"dtype", tensor.dtype},
                        {"shape", tensor.shape},
                        {"data_offsets", {offset, offset + tensor.data.size()}}};
        offset += tensor.data.size();
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' '); // data starts aligned, as the format recommends
    std::vector<std::byte> bytes(length_bytes);
    bytes.reserve(length_bytes + text.size() + offset);
    for (std::size_t i = 0; i < length_bytes; ++i)
        bytes[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xff);
    const auto header_bytes = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), header_bytes.begin(), header_bytes.end());
    for (const auto& [name, tensor] : content.tensors)
        bytes.insert(bytes.end(), tensor.data.begin(), tensor.data.end());
    return bytes;
}

const char* safetensors_name(DType dtype) noexcept {
    switch (dtype) {
    case DType::bf16:
        return "BF16";
    case DType::e4m3:
        return "F8_E4M3";
    case DType::e4m3fnuz:
        return "F8_E4M3FNUZ";
    case DType::f32:
        return "F32";
    }
    return "unknown";
}

DType dtype_of_safetensors(std::string_view name) {
    for (const DType dtype : {DType::bf16, DType::e4m3, DType::e4m3fnuz, DType::f32})
        if (name == safetensors_name(dtype))
            return dtype;
    throw Error(ErrorCode::unsupported, "dtype",
                "\"" + std::string(name.substr(0, 40)) + "\"; accepted: BF16, F8_E4M3, F8_E4M3FNUZ, F32");
}

} // namespace zyfa
