// SPDX-License-Identifier: Apache-2.0
#include "jit/elf_image.hpp"

#include "zyfa/error.hpp"

namespace zyfa::jit {

void throw_damaged(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "elf", "elf is not an intact AMD GPU code object: " + what);
}

ElfImage::ElfImage(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
        throw_damaged("no ELF header in its " + std::to_string(bytes.size()) + " bytes");
    header_ = read<Elf64_Ehdr>(bytes, 0);
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
        throw_damaged("not a 64-bit little-endian ELF file");
    if ((header_.e_shnum && header_.e_shentsize != sizeof(Elf64_Shdr)) ||
        (header_.e_phnum && header_.e_phentsize != sizeof(Elf64_Phdr)))
        throw_damaged("its header tables have entries of another size");
    const auto section_table = slice(header_.e_shoff, std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr));
    for (std::size_t i = 0; i < header_.e_shnum; ++i)
        sections_.push_back(read<Elf64_Shdr>(section_table, i * sizeof(Elf64_Shdr)));
    const auto segment_table = slice(header_.e_phoff, std::uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr));
    for (std::size_t i = 0; i < header_.e_phnum; ++i)
        segments_.push_back(read<Elf64_Phdr>(segment_table, i * sizeof(Elf64_Phdr)));
}

std::span<const std::byte> ElfImage::slice(std::uint64_t offset, std::uint64_t size) const {
    if (size == 0)
        return {};
    if (offset > bytes_.size() || size > bytes_.size() - offset)
        throw_damaged(std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                      " end after its " + std::to_string(bytes_.size()) + " bytes");
    return bytes_.subspan(offset, size);
}

std::span<const std::byte> ElfImage::contents(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? std::span<const std::byte>{}
                                         : slice(section.sh_offset, section.sh_size);
}

std::string_view ElfImage::string_at(const Elf64_Shdr& table, std::uint64_t offset) const {
    const auto strings = contents(table);
    if (offset >= strings.size())
        throw_damaged("a name lies outside of its string table");
    const char* begin = reinterpret_cast<const char*>(strings.data()) + offset;
    return {begin, ::strnlen(begin, strings.size() - offset)};
}

std::string_view ElfImage::name(const Elf64_Shdr& section) const {
    if (header_.e_shstrndx >= sections_.size())
        throw_damaged("it has no section names");
    return string_at(sections_[header_.e_shstrndx], section.sh_name);
}

const Elf64_Shdr* ElfImage::find(std::string_view wanted) const {
    for (const Elf64_Shdr& section : sections_)
        if (section.sh_type != SHT_NULL && name(section) == wanted)
            return &section;
    return nullptr;
}

std::optional<std::uint64_t> ElfImage::symbol(std::string_view wanted) const {
    for (const Elf64_Shdr& table : sections_) {
        if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM)
            continue;
        if (table.sh_link >= sections_.size())
            throw_damaged("a symbol table names no string table");
        const auto symbols = contents(table);
        for (std::size_t i = 0; i + sizeof(Elf64_Sym) <= symbols.size(); i += sizeof(Elf64_Sym)) {
            const auto entry = read<Elf64_Sym>(symbols, i);
            if (entry.st_name && string_at(sections_[table.sh_link], entry.st_name) == wanted)
                return entry.st_value;
        }
    }
    return std::nullopt;
}

std::span<const std::byte> ElfImage::at_address(std::uint64_t address, std::size_t size) const {
    for (const Elf64_Phdr& segment : segments_) {
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr)
            continue;
        const std::uint64_t offset = address - segment.p_vaddr;
        if (offset <= segment.p_filesz && size <= segment.p_filesz - offset)
            return slice(segment.p_offset, segment.p_filesz).subspan(offset, size);
    }
    throw_damaged("no loaded segment holds address " + std::to_string(address));
}

std::span<const std::byte> ElfImage::note(std::string_view owner, std::uint32_t type) const {
    const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
    for (const Elf64_Phdr& segment : segments_) {
        if (segment.p_type != PT_NOTE)
            continue;
        const auto notes = slice(segment.p_offset, segment.p_filesz);
        for (std::uint64_t at = 0; at < notes.size();) {
            const auto note = read<Elf64_Nhdr>(notes, at);
            const std::uint64_t name_at = at + sizeof note, description_at = name_at + padded(note.n_namesz);
            if (description_at > notes.size() || note.n_descsz > notes.size() - description_at)
                throw_damaged("a note ends outside of its segment");
            const std::string_view name(reinterpret_cast<const char*>(notes.data()) + name_at,
                                        note.n_namesz ? note.n_namesz - 1 : 0);
            if (name == owner && note.n_type == type)
                return notes.subspan(description_at, note.n_descsz);
            at = description_at + padded(note.n_descsz);
        }
    }
    return {};
}

} // namespace zyfa::jit
