// SPDX-License-Identifier: Apache-2.0
// Bounds-checked reading of a 64-bit little-endian ELF file in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <elf.h>

namespace zyfa::jit {

/// Every function throws Error{invalid_argument} ("elf") where the file refers to bytes that it does not
/// have.
class ElfImage {
  public:
    explicit ElfImage(std::span<const std::byte> bytes);

    const Elf64_Ehdr& header() const { return header_; }
    const std::vector<Elf64_Shdr>& sections() const { return sections_; }
    std::span<const std::byte> contents(const Elf64_Shdr& section) const;
    std::string_view name(const Elf64_Shdr& section) const;
    /// First section of that name; null if there is none.
    const Elf64_Shdr* find(std::string_view name) const;

    /// Value of a symbol of .symtab or .dynsym.
    std::optional<std::uint64_t> symbol(std::string_view name) const;
    /// Bytes at an address of the loaded image (through PT_LOAD).
    std::span<const std::byte> at_address(std::uint64_t address, std::size_t size) const;
    /// Description of the first note with that owner and type; empty if there is none.
    std::span<const std::byte> note(std::string_view owner, std::uint32_t type) const;

    std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t size) const;

    template <typename T>
    static T read(std::span<const std::byte> bytes, std::size_t offset);

  private:
    std::string_view string_at(const Elf64_Shdr& table, std::uint64_t offset) const;

    std::span<const std::byte> bytes_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
    std::vector<Elf64_Phdr> segments_;
};

[[noreturn]] void throw_damaged(const std::string& what);

template <typename T>
T ElfImage::read(std::span<const std::byte> bytes, std::size_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
        throw_damaged("a structure of " + std::to_string(sizeof(T)) + " bytes at offset " +
                      std::to_string(offset) + " ends outside of it");
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

} // namespace zyfa::jit
