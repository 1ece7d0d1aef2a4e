// SPDX-License-Identifier: Apache-2.0
// Offload bundles. Nothing past `bytes` is read; where the length is unknown, only what the headers name.
#include "sim/hip/bundle.hpp"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "sim/hip/api.hpp"
#include "sim/hip/device.hpp"

namespace zyfa::sim::hip {
namespace {

constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB";
constexpr std::uint64_t largest_image = 4ull << 30; ///< beyond, a header is taken for damaged

/// Reads within the image or throws.
class Reader {
  public:
    Reader(const std::byte* image, std::size_t bytes) : image_(image), bytes_(bytes) {}

    const std::byte* at(std::uint64_t offset, std::uint64_t size) const {
        require(offset <= largest_image && size <= largest_image &&
                    (bytes_ == unknown || offset + size <= bytes_),
                hipErrorInvalidImage, "the image ends before what its header names");
        return image_ + offset;
    }
    template <class Value>
    Value value(std::uint64_t offset) const {
        Value result;
        std::memcpy(&result, at(offset, sizeof(Value)), sizeof(Value));
        return result;
    }
    bool begins_with(std::string_view magic) const {
        return (bytes_ == unknown || bytes_ >= magic.size()) &&
               std::memcmp(image_, magic.data(), magic.size()) == 0;
    }

  private:
    const std::byte* image_;
    std::size_t bytes_;
};

/// From the tables that an ELF's header names.
std::uint64_t elf_size(const Reader& reader) {
    const auto header = reader.value<Elf64_Ehdr>(0);
    require(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB,
            hipErrorInvalidImage, "not a 64-bit little-endian ELF");
    std::uint64_t size = sizeof(Elf64_Ehdr);
    if (header.e_phnum != 0)
        require(header.e_phentsize == sizeof(Elf64_Phdr), hipErrorInvalidImage, "e_phentsize");
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto segment = reader.value<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
        require(segment.p_filesz <= largest_image, hipErrorInvalidImage, "p_filesz");
        size = std::max(size, segment.p_offset + segment.p_filesz);
    }
    if (header.e_shnum != 0) {
        require(header.e_shentsize == sizeof(Elf64_Shdr), hipErrorInvalidImage, "e_shentsize");
        size = std::max<std::uint64_t>(size, header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr));
    }
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section = reader.value<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
        require(section.sh_type == SHT_NOBITS || section.sh_size <= largest_image, hipErrorInvalidImage,
                "sh_size");
        if (section.sh_type != SHT_NOBITS)
            size = std::max(size, section.sh_offset + section.sh_size);
    }
    reader.at(0, size);
    return size;
}

/// How well a bundle entry's id fits the device: -1 not at all; features that it names must be the device's.
int fit(std::string_view id) {
    const std::size_t dashes = id.find("--");
    if (dashes == std::string_view::npos || !id.starts_with("hip"))
        return -1;
    std::string_view target = id.substr(dashes + 2);
    std::string_view mine = target_name;
    const std::string_view processor = target.substr(0, target.find(':'));
    int score = 0;
    if (processor == mine.substr(0, mine.find(':')))
        score = 10;
    else if (processor != "gfx9-4-generic")
        return -1;
    while (target.find(':') != std::string_view::npos) {
        target.remove_prefix(target.find(':') + 1);
        const std::string feature = ":" + std::string(target.substr(0, target.find(':')));
        if (mine.find(feature) == std::string_view::npos)
            return -1;
        ++score;
    }
    return score;
}

std::span<const std::byte> find_in_bundle(const Reader& reader) {
    const auto entries = reader.value<std::uint64_t>(bundle_magic.size());
    require(entries < 4096, hipErrorInvalidImage, "too many bundle entries");
    std::uint64_t position = bundle_magic.size() + 8;
    std::span<const std::byte> best;
    int best_fit = -1;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const auto offset = reader.value<std::uint64_t>(position);
        const auto size = reader.value<std::uint64_t>(position + 8);
        const auto id_size = reader.value<std::uint64_t>(position + 16);
        require(id_size < 4096, hipErrorInvalidImage, "bundle entry id");
        const std::string_view id(reinterpret_cast<const char*>(reader.at(position + 24, id_size)), id_size);
        position += 24 + id_size;
        const int score = fit(id);
        if (score > best_fit && size > 0) {
            best = {reader.at(offset, size), static_cast<std::size_t>(size)};
            best_fit = score;
        }
    }
    require(best_fit >= 0, hipErrorNoBinaryForGpu, "the bundle has no entry for gfx950:sramecc+:xnack-");
    return best;
}

/// LLVM's CompressedOffloadBundle, versions 1 to 3 (llvm/lib/Object/OffloadBundle.cpp): magic, u16 version,
/// u16 method (0 zlib, 1 zstd), total size (from version 2), uncompressed size, u64 hash.
std::vector<std::byte> decompress(const Reader& reader, std::size_t bytes) {
    const auto version = reader.value<std::uint16_t>(4), method = reader.value<std::uint16_t>(6);
    std::uint64_t total = 0, size = 0, header = 0;
    switch (version) {
    case 1:
        size = reader.value<std::uint32_t>(8);
        header = 20;
        break;
    case 2:
        total = reader.value<std::uint32_t>(8);
        size = reader.value<std::uint32_t>(12);
        header = 24;
        break;
    case 3:
        total = reader.value<std::uint64_t>(8);
        size = reader.value<std::uint64_t>(16);
        header = 32;
        break;
    default:
        fail(hipErrorInvalidImage, "compressed bundle of unknown version");
    }
    require(size > 0 && size <= largest_image, hipErrorInvalidImage, "uncompressed size");
    if (version == 1) // no total; the streams below end by themselves
        total = bytes != unknown ? bytes : header + size + size / 8 + 4096;
    require(total > header, hipErrorInvalidImage, "total size");
    const std::uint64_t packed = total - header;
    const std::byte* source = version == 1 ? reader.at(header, 0) : reader.at(header, packed);

    // Before so much is allocated on the word of a header: deflate reaches 1032 to 1, code objects some 10
    // to 1.
    require(size / 2048 <= packed, hipErrorInvalidImage, "uncompressed size");
    std::vector<std::byte> result(size);
    if (method == 0) {
        uLongf length = result.size();
        require(uncompress(reinterpret_cast<Bytef*>(result.data()), &length,
                           reinterpret_cast<const Bytef*>(source), packed) == Z_OK &&
                    length == size,
                hipErrorInvalidImage, "zlib stream");
    } else if (method == 1) {
        const std::size_t frame = ZSTD_findFrameCompressedSize(source, packed);
        require(!ZSTD_isError(frame), hipErrorInvalidImage, "zstd frame");
        require(ZSTD_decompress(result.data(), result.size(), source, frame) == size, hipErrorInvalidImage,
                "zstd frame");
    } else {
        fail(hipErrorInvalidImage, "compressed bundle of unknown method");
    }
    return result;
}

} // namespace

FoundImage find_code_object(const std::byte* image, std::size_t bytes) {
    require(bytes > 0, hipErrorInvalidImage, "the image is empty");
    require(image != nullptr, hipErrorInvalidValue, "null image");
    const Reader reader(image, bytes);
    FoundImage found;
    if (reader.begins_with(std::string_view(ELFMAG, SELFMAG))) {
        found.elf = {image, static_cast<std::size_t>(elf_size(reader))};
    } else if (reader.begins_with(bundle_magic)) {
        found.elf = find_in_bundle(reader);
    } else if (reader.begins_with(compressed_magic)) {
        found.storage = decompress(reader, bytes);
        const Reader inner(found.storage.data(), found.storage.size());
        require(inner.begins_with(bundle_magic), hipErrorInvalidImage, "no bundle in the compressed bundle");
        found.elf = find_in_bundle(inner);
    } else {
        fail(hipErrorInvalidImage, "neither ELF nor offload bundle");
    }
    return found;
}

} // namespace zyfa::sim::hip
