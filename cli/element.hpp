// SPDX-License-Identifier: Apache-2.0
// Element types by name: values in and out of buffers whose type is only known at run time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zyfa::cli {

enum class ElementType { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bf16, e4m3 };

std::optional<ElementType> element_type(std::string_view name);
std::string element_type_names(); ///< "u8, u16, ..."
std::size_t size_of(ElementType type) noexcept;
bool is_integer(ElementType type) noexcept;

/// Rounded to the type (floating types: to nearest even; integers: truncated; what 64 bits cannot hold
/// becomes 0).
void store(ElementType type, double value, std::span<std::byte> to);
double load(ElementType type, std::span<const std::byte> from);

} // namespace zyfa::cli
