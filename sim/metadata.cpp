// SPDX-License-Identifier: Apache-2.0
// A msgpack reader of the size that NT_AMDGPU_METADATA needs (LLVM AMDGPUUsage, "Code Object Metadata").
#include "sim/metadata.hpp"

#include <stdexcept>
#include <utility>

namespace zyfa::sim {

namespace {

[[noreturn]] void bad(const char* what) {
    throw std::runtime_error(std::string("code object metadata: ") + what);
}

struct Value {
    enum class Kind : std::uint8_t { nil, boolean, integer, real, text, array, map } kind = Kind::nil;
    std::int64_t integer = 0;
    std::string text;
    std::vector<Value> items; ///< of a map: key, value, key, value
    const Value* get(std::string_view key) const {
        if (kind == Kind::map)
            for (std::size_t i = 0; i + 1 < items.size(); i += 2)
                if (items[i].kind == Kind::text && items[i].text == key)
                    return &items[i + 1];
        return nullptr;
    }
    std::uint32_t number(std::string_view key, std::uint32_t otherwise = 0) const {
        const Value* value = get(key);
        if (value == nullptr || value->kind != Kind::integer)
            return otherwise;
        if (value->integer < 0 || value->integer > 0xffffffffll)
            bad("a size is out of range");
        return static_cast<std::uint32_t>(value->integer);
    }
    std::string string(std::string_view key) const {
        const Value* value = get(key);
        return value != nullptr && value->kind == Kind::text ? value->text : std::string();
    }
};

class Parser {
  public:
    explicit Parser(std::span<const std::byte> bytes) : bytes_(bytes) {}

    Value value(unsigned depth = 0) {
        if (depth > 16)
            bad("nested too deeply");
        const unsigned tag = byte();
        Value result;
        if (tag < 0x80 || tag >= 0xe0) {
            result.kind = Value::Kind::integer;
            result.integer = static_cast<std::int8_t>(tag);
            return result;
        }
        if (tag < 0x90)
            return sequence(Value::Kind::map, (tag & 15) * 2ull, depth);
        if (tag < 0xa0)
            return sequence(Value::Kind::array, tag & 15, depth);
        if (tag < 0xc0)
            return text(tag & 31);
        switch (tag) {
        case 0xc0:
            return result;
        case 0xc2:
        case 0xc3:
            return integer(static_cast<std::int64_t>(tag & 1), Value::Kind::boolean);
        case 0xc4:
            return text(big_endian(1));
        case 0xc5:
            return text(big_endian(2));
        case 0xc6:
            return text(big_endian(4));
        case 0xca:
            big_endian(4);
            return integer(0, Value::Kind::real);
        case 0xcb:
            big_endian(8);
            return integer(0, Value::Kind::real);
        case 0xcc:
            return integer(static_cast<std::int64_t>(big_endian(1)));
        case 0xcd:
            return integer(static_cast<std::int64_t>(big_endian(2)));
        case 0xce:
            return integer(static_cast<std::int64_t>(big_endian(4)));
        case 0xcf:
            return integer(static_cast<std::int64_t>(big_endian(8)));
        case 0xd0:
            return integer(static_cast<std::int8_t>(big_endian(1)));
        case 0xd1:
            return integer(static_cast<std::int16_t>(big_endian(2)));
        case 0xd2:
            return integer(static_cast<std::int32_t>(big_endian(4)));
        case 0xd3:
            return integer(static_cast<std::int64_t>(big_endian(8)));
        case 0xd9:
            return text(big_endian(1));
        case 0xda:
            return text(big_endian(2));
        case 0xdb:
            return text(big_endian(4));
        case 0xdc:
            return sequence(Value::Kind::array, big_endian(2), depth);
        case 0xdd:
            return sequence(Value::Kind::array, big_endian(4), depth);
        case 0xde:
            return sequence(Value::Kind::map, big_endian(2) * 2, depth);
        case 0xdf:
            return sequence(Value::Kind::map, big_endian(4) * 2, depth);
        default:
            bad("an unexpected msgpack type");
        }
    }

  private:
    unsigned byte() {
        if (at_ >= bytes_.size())
            bad("cut short");
        return std::to_integer<unsigned>(bytes_[at_++]);
    }
    std::uint64_t big_endian(unsigned size) {
        std::uint64_t value = 0;
        while (size-- != 0)
            value = value << 8 | byte();
        return value;
    }
    static Value integer(std::int64_t number, Value::Kind kind = Value::Kind::integer) {
        Value result;
        result.kind = kind;
        result.integer = number;
        return result;
    }
    Value text(std::uint64_t size) {
        if (size > bytes_.size() - at_)
            bad("cut short");
        Value result;
        result.kind = Value::Kind::text;
        result.text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), size);
        at_ += size;
        return result;
    }
    Value sequence(Value::Kind kind, std::uint64_t count, unsigned depth) {
        if (count > bytes_.size() - at_) // every item has at least one byte
            bad("cut short");
        Value result;
        result.kind = kind;
        for (std::uint64_t i = 0; i < count; ++i)
            result.items.push_back(value(depth + 1));
        return result;
    }

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

KernelMetadata kernel(const Value& map) {
    KernelMetadata result;
    result.name = map.string(".name");
    result.symbol = map.string(".symbol");
    if (result.symbol.empty())
        bad("a kernel has no .symbol");
    result.kernarg_size = map.number(".kernarg_segment_size");
    result.static_lds = map.number(".group_segment_fixed_size");
    result.scratch = map.number(".private_segment_fixed_size");
    result.sgprs = map.number(".sgpr_count");
    result.vgprs = map.number(".vgpr_count");
    result.agprs = map.number(".agpr_count");
    result.max_workgroup_size = map.number(".max_flat_workgroup_size", 1024);
    if (const Value* arguments = map.get(".args"))
        for (const Value& argument : arguments->items)
            result.arguments.push_back({argument.string(".name"), argument.string(".value_kind"),
                                        argument.number(".offset"), argument.number(".size")});
    return result;
}

} // namespace

std::vector<KernelMetadata> parse_metadata(std::span<const std::byte> note) {
    const Value top = Parser(note).value();
    if (top.kind != Value::Kind::map)
        bad("not a map");
    std::vector<KernelMetadata> kernels;
    if (const Value* list = top.get("amdhsa.kernels"))
        for (const Value& item : list->items)
            kernels.push_back(kernel(item));
    return kernels;
}

} // namespace zyfa::sim
