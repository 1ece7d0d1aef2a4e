// SPDX-License-Identifier: Apache-2.0
#include "cli/element.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/reference.hpp"

namespace zyfa::cli {

namespace {

struct Name {
    std::string_view name;
    ElementType type;
    std::size_t size;
};
constexpr std::array<Name, 12> names{{{"u8", ElementType::u8, 1},
                                      {"u16", ElementType::u16, 2},
                                      {"u32", ElementType::u32, 4},
                                      {"u64", ElementType::u64, 8},
                                      {"i8", ElementType::i8, 1},
                                      {"i16", ElementType::i16, 2},
                                      {"i32", ElementType::i32, 4},
                                      {"i64", ElementType::i64, 8},
                                      {"f32", ElementType::f32, 4},
                                      {"f64", ElementType::f64, 8},
                                      {"bf16", ElementType::bf16, 2},
                                      {"e4m3", ElementType::e4m3, 1}}};

template <class T>
void put(T value, std::span<std::byte> to) {
    std::memcpy(to.data(), &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> from) {
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    return value;
}

} // namespace

std::optional<ElementType> element_type(std::string_view name) {
    for (const Name& entry : names) {
        if (entry.name == name) {
            return entry.type;
        }
    }
    return std::nullopt;
}

std::string element_type_names() {
    std::string text;
    for (const Name& entry : names) {
        text += (text.empty() ? "" : ", ") + std::string(entry.name);
    }
    return text;
}

std::size_t size_of(ElementType type) noexcept {
    return names[static_cast<std::size_t>(type)].size;
}

bool is_integer(ElementType type) noexcept {
    return type <= ElementType::i64;
}

void store(ElementType type, double value, std::span<std::byte> to) {
    // Through a 64-bit integer, so that -1 stored as u32 is 0xffffffff and not undefined.
    const bool fits = value > -0x1p63 && value < 0x1p63; // not for NaN either
    const std::int64_t integer = is_integer(type) && fits ? static_cast<std::int64_t>(value) : 0;
    switch (type) {
    case ElementType::u8:
    case ElementType::i8:
        return put(static_cast<std::uint8_t>(integer), to);
    case ElementType::u16:
    case ElementType::i16:
        return put(static_cast<std::uint16_t>(integer), to);
    case ElementType::u32:
    case ElementType::i32:
        return put(static_cast<std::uint32_t>(integer), to);
    case ElementType::u64:
    case ElementType::i64:
        return put(static_cast<std::uint64_t>(integer), to);
    case ElementType::f32:
        return put(static_cast<float>(value), to);
    case ElementType::f64:
        return put(value, to);
    case ElementType::bf16:
        return put(float_to_bf16(static_cast<float>(value)), to);
    case ElementType::e4m3:
        return put(float_to_e4m3(static_cast<float>(value)), to);
    }
}

double load(ElementType type, std::span<const std::byte> from) {
    switch (type) {
    case ElementType::u8:
        return get<std::uint8_t>(from);
    case ElementType::u16:
        return get<std::uint16_t>(from);
    case ElementType::u32:
        return get<std::uint32_t>(from);
    case ElementType::u64:
        return static_cast<double>(get<std::uint64_t>(from));
    case ElementType::i8:
        return get<std::int8_t>(from);
    case ElementType::i16:
        return get<std::int16_t>(from);
    case ElementType::i32:
        return get<std::int32_t>(from);
    case ElementType::i64:
        return static_cast<double>(get<std::int64_t>(from));
    case ElementType::f32:
        return get<float>(from);
    case ElementType::f64:
        return get<double>(from);
    case ElementType::bf16:
        return bf16_to_float(get<std::uint16_t>(from));
    case ElementType::e4m3:
        return e4m3_to_float(get<std::uint8_t>(from));
    }
    return 0;
}

} // namespace zyfa::cli
