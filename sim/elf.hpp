// SPDX-License-Identifier: Apache-2.0
// Reads an amdgpu ELF shared object. The bytes are untrusted: every offset is checked before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zyfa::sim {

struct ElfSegment {
    std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
    bool executable = false;
};

struct ElfSymbol {
    std::string name;
    std::uint64_t address = 0, size = 0;
    std::uint8_t type = 0; ///< STT_*
    bool defined = false;
};

struct ElfRelocation {
    std::uint64_t address = 0;
    std::uint32_t type = 0;   ///< R_AMDGPU_*
    std::uint32_t symbol = 0; ///< index into symbols; 0: none
    std::int64_t addend = 0;
};

struct ElfImage {
    std::vector<ElfSegment> segments;   ///< PT_LOAD
    std::vector<ElfSymbol> symbols;     ///< dynamic symbols, index as in the file
    std::vector<ElfSymbol> all_symbols; ///< of .symtab where it is there, else the dynamic ones
    std::vector<ElfRelocation> relocations;
    std::span<const std::byte> metadata; ///< NT_AMDGPU_METADATA, msgpack; empty if there is none
    std::uint64_t begin = 0, end = 0;    ///< extent of the segments in memory
};

/// Throws std::runtime_error that says what is wrong, among others if the target is not gfx950.
ElfImage parse_elf(std::span<const std::byte> file);

} // namespace zyfa::sim
