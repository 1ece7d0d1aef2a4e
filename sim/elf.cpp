// SPDX-License-Identifier: Apache-2.0
// ELF64 as LLVM's AMDGPUUsage ("Code Object") describes it.
#include "sim/elf.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <stdexcept>

namespace zyfa::sim {

namespace {

constexpr std::uint16_t machine_amdgpu = 224;
constexpr std::uint8_t osabi_amdgpu_hsa = 64;
constexpr std::uint32_t flags_machine_mask = 0xff, flags_machine_gfx950 = 0x4f;
constexpr std::uint32_t note_amdgpu_metadata = 32;
constexpr std::uint64_t largest_image = 4ull << 30;
constexpr std::size_t most_symbols = 1u << 20;

[[noreturn]] void bad(const std::string& what) {
    throw std::runtime_error("code object: " + what);
}

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T>
    T at(std::uint64_t offset, const char* what) const {
        if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
            bad(std::string(what) + " lies outside the file (offset " + std::to_string(offset) +
                ", file has " + std::to_string(bytes_.size()) + " bytes)");
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }

    std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size, const char* what) const {
        if (offset > bytes_.size() || size > bytes_.size() - offset)
            bad(std::string(what) + " lies outside the file (offset " + std::to_string(offset) + ", size " +
                std::to_string(size) + ", file has " + std::to_string(bytes_.size()) + " bytes)");
        return bytes_.subspan(offset, size);
    }

    std::string text(std::uint64_t offset, const char* what) const {
        if (offset >= bytes_.size())
            bad(std::string(what) + " lies outside the file");
        const char* begin = reinterpret_cast<const char*>(bytes_.data() + offset);
        const std::size_t left = bytes_.size() - offset;
        return {begin, strnlen(begin, left)};
    }

  private:
    std::span<const std::byte> bytes_;
};

/// File offset of a virtual address; the dynamic section speaks in addresses.
std::uint64_t file_offset(const ElfImage& image, std::uint64_t address) {
    for (const ElfSegment& segment : image.segments)
        if (address - segment.address < segment.file_size)
            return segment.offset + (address - segment.address);
    bad("the dynamic section names address " + std::to_string(address) + ", which no segment holds");
}

std::vector<ElfSymbol> read_symbols(const Reader& file, std::uint64_t table, std::uint64_t count,
                                    std::uint64_t strings) {
    if (count > most_symbols)
        bad("the symbol table claims " + std::to_string(count) + " entries");
    std::vector<ElfSymbol> symbols;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto raw = file.at<Elf64_Sym>(table + i * sizeof(Elf64_Sym), "a symbol");
        ElfSymbol symbol;
        if (raw.st_name != 0)
            symbol.name = file.text(strings + raw.st_name, "a symbol name");
        symbol.address = raw.st_value;
        symbol.size = raw.st_size;
        symbol.type = ELF64_ST_TYPE(raw.st_info);
        symbol.defined = raw.st_shndx != SHN_UNDEF;
        symbols.push_back(std::move(symbol));
    }
    return symbols;
}

void read_sections(const Reader& file, const Elf64_Ehdr& header, ElfImage& image) {
    if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
        return;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section =
            file.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr), "a section header");
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= header.e_shnum)
            continue;
        const auto strings = file.at<Elf64_Shdr>(
            header.e_shoff + std::uint64_t{section.sh_link} * sizeof(Elf64_Shdr), "a section header");
        image.all_symbols =
            read_symbols(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym), strings.sh_offset);
    }
}

/// Number of dynamic symbols: the hash tables tell, nothing else does.
std::uint64_t symbol_count(const Reader& file, const ElfImage& image, std::uint64_t hash,
                           std::uint64_t gnu_hash) {
    if (hash != 0)
        return file.at<std::uint32_t>(file_offset(image, hash) + 4, "DT_HASH");
    if (gnu_hash == 0)
        return 0;
    const std::uint64_t table = file_offset(image, gnu_hash);
    const auto buckets = file.at<std::uint32_t>(table, "DT_GNU_HASH");
    const auto first = file.at<std::uint32_t>(table + 4, "DT_GNU_HASH");
    const auto bloom = file.at<std::uint32_t>(table + 8, "DT_GNU_HASH");
    const std::uint64_t bucket_table = table + 16 + std::uint64_t{bloom} * 8;
    const std::uint64_t chains = bucket_table + std::uint64_t{buckets} * 4;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < buckets; ++i)
        last = std::max(last, file.at<std::uint32_t>(bucket_table + std::uint64_t{i} * 4, "DT_GNU_HASH"));
    if (last < first)
        return first;
    while ((file.at<std::uint32_t>(chains + std::uint64_t{last - first} * 4, "DT_GNU_HASH") & 1) == 0) {
        if (++last > most_symbols)
            bad("DT_GNU_HASH has no end");
    }
    return std::uint64_t{last} + 1;
}

void read_dynamic(const Reader& file, const Elf64_Phdr& segment, ElfImage& image) {
    std::uint64_t symbols = 0, strings = 0, hash = 0, gnu_hash = 0, rela = 0, rela_size = 0, jmprel = 0,
                  jmprel_size = 0;
    for (std::uint64_t offset = 0; offset + sizeof(Elf64_Dyn) <= segment.p_filesz;
         offset += sizeof(Elf64_Dyn)) {
        const auto entry = file.at<Elf64_Dyn>(segment.p_offset + offset, "the dynamic section");
        switch (entry.d_tag) {
        case DT_SYMTAB:
            symbols = entry.d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = entry.d_un.d_ptr;
            break;
        case DT_HASH:
            hash = entry.d_un.d_ptr;
            break;
        case DT_GNU_HASH:
            gnu_hash = entry.d_un.d_ptr;
            break;
        case DT_RELA:
            rela = entry.d_un.d_ptr;
            break;
        case DT_RELASZ:
            rela_size = entry.d_un.d_val;
            break;
        case DT_JMPREL:
            jmprel = entry.d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            jmprel_size = entry.d_un.d_val;
            break;
        case DT_NEEDED:
            bad("it needs another shared object, which a device cannot load");
        default:
            break;
        }
        if (entry.d_tag == DT_NULL)
            break;
    }
    if (symbols != 0 && strings != 0)
        image.symbols = read_symbols(file, file_offset(image, symbols),
                                     symbol_count(file, image, hash, gnu_hash), file_offset(image, strings));
    const auto read_rela = [&](std::uint64_t table, std::uint64_t size) {
        if (table == 0 || size == 0)
            return;
        const std::uint64_t offset = file_offset(image, table);
        for (std::uint64_t i = 0; i < size / sizeof(Elf64_Rela); ++i) {
            const auto raw = file.at<Elf64_Rela>(offset + i * sizeof(Elf64_Rela), "a relocation");
            ElfRelocation relocation;
            relocation.address = raw.r_offset;
            relocation.type = static_cast<std::uint32_t>(ELF64_R_TYPE(raw.r_info));
            relocation.symbol = static_cast<std::uint32_t>(ELF64_R_SYM(raw.r_info));
            relocation.addend = raw.r_addend;
            if (relocation.symbol != 0 && relocation.symbol >= image.symbols.size())
                bad("a relocation names symbol " + std::to_string(relocation.symbol) + " of " +
                    std::to_string(image.symbols.size()));
            image.relocations.push_back(relocation);
        }
    };
    read_rela(rela, rela_size);
    read_rela(jmprel, jmprel_size);
}

void read_notes(const Reader& file, const Elf64_Phdr& segment, ElfImage& image) {
    std::uint64_t offset = segment.p_offset;
    const std::uint64_t end = offset + file.range(offset, segment.p_filesz, "the notes").size();
    while (offset + sizeof(Elf64_Nhdr) <= end) {
        const auto note = file.at<Elf64_Nhdr>(offset, "a note");
        const std::uint64_t name = offset + sizeof note;
        const std::uint64_t value = name + (std::uint64_t{note.n_namesz} + 3) / 4 * 4;
        const auto bytes = file.range(value, note.n_descsz, "a note");
        if (note.n_type == note_amdgpu_metadata && note.n_namesz == 7 &&
            file.text(name, "a note") == "AMDGPU")
            image.metadata = bytes;
        offset = value + (std::uint64_t{note.n_descsz} + 3) / 4 * 4;
    }
}

void check_header(const Elf64_Ehdr& header) {
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        bad("not an ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        bad("not a 64-bit little-endian ELF");
    if (header.e_machine != machine_amdgpu)
        bad("not for AMDGPU (e_machine " + std::to_string(header.e_machine) + ", wanted 224)");
    if (header.e_ident[EI_OSABI] != osabi_amdgpu_hsa)
        bad("not an HSA code object (OSABI " + std::to_string(header.e_ident[EI_OSABI]) + ", wanted 64)");
    const std::uint32_t machine = header.e_flags & flags_machine_mask;
    if (machine != flags_machine_gfx950)
        bad("its target is not gfx950 (EF_AMDGPU_MACH " + std::to_string(machine) + ", wanted 79)");
    if (header.e_type != ET_DYN)
        bad("not linked (e_type " + std::to_string(header.e_type) + ", wanted ET_DYN)");
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
        bad("no program headers");
}

} // namespace

ElfImage parse_elf(std::span<const std::byte> bytes) {
    const Reader file(bytes);
    const auto header = file.at<Elf64_Ehdr>(0, "the ELF header");
    check_header(header);
    ElfImage image;
    image.begin = ~0ull;
    std::vector<Elf64_Phdr> dynamic, notes;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto segment =
            file.at<Elf64_Phdr>(header.e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr), "a program header");
        if (segment.p_type == PT_LOAD) {
            file.range(segment.p_offset, segment.p_filesz, "a segment");
            if (segment.p_memsz < segment.p_filesz || segment.p_vaddr > largest_image ||
                segment.p_memsz > largest_image)
                bad("a segment at " + std::to_string(segment.p_vaddr) + " has impossible sizes");
            if (segment.p_memsz == 0)
                continue;
            image.segments.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz, segment.p_memsz,
                                      (segment.p_flags & PF_X) != 0});
            image.begin = std::min(image.begin, segment.p_vaddr);
            image.end = std::max(image.end, segment.p_vaddr + segment.p_memsz);
        } else if (segment.p_type == PT_DYNAMIC) {
            dynamic.push_back(segment);
        } else if (segment.p_type == PT_NOTE) {
            notes.push_back(segment);
        }
    }
    if (image.segments.empty())
        bad("nothing to load");
    for (const Elf64_Phdr& segment : dynamic)
        read_dynamic(file, segment, image);
    for (const Elf64_Phdr& segment : notes)
        read_notes(file, segment, image);
    read_sections(file, header, image);
    if (image.all_symbols.empty())
        image.all_symbols = image.symbols;
    return image;
}

} // namespace zyfa::sim
