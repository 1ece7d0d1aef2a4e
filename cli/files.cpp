// SPDX-License-Identifier: Apache-2.0
#include "cli/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

Error io_error(const std::string& path, const char* what) {
    return Error(ErrorCode::io_error, path,
                 fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

} // namespace

std::vector<std::byte> read_file(const std::string& path) {
    std::error_code status;
    if (std::filesystem::is_directory(path, status)) {
        errno = EISDIR;
        throw io_error(path, "read");
    }
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) {
        throw io_error(path, "open");
    }
    std::vector<std::byte> content;
    std::vector<std::byte> piece(std::size_t{1} << 20);
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file.get())) {
        content.insert(content.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (std::ferror(file.get()) != 0) {
        throw io_error(path, "read");
    }
    return content;
}

void write_file(const std::string& path, std::span<const std::byte> content) {
    const std::string beside = fmt::format("{}.{}.part", path, getpid());
    std::FILE* file = std::fopen(beside.c_str(), "wb");
    if (file == nullptr) {
        throw io_error(path, "write");
    }
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed || std::rename(beside.c_str(), path.c_str()) != 0) {
        const int reason = errno;
        std::remove(beside.c_str());
        errno = reason;
        throw io_error(path, "write");
    }
}

void write_file(const std::string& path, std::string_view content) {
    write_file(path, std::as_bytes(std::span(content)));
}

} // namespace zyfa::cli
