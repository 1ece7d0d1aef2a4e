// SPDX-License-Identifier: Apache-2.0
#include "cache/compression.hpp"

#include <zstd.h>

#include <memory>
#include <new>
#include <string>

#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
};

/// `write(frame, capacity)` compresses `content`, as zstd's functions do.
template <class Write>
std::vector<std::byte> frame_of(std::span<const std::byte> content, Write write) {
    if (content.size() > max_content_bytes)
        throw Error(ErrorCode::unsupported, "code_object",
                    std::to_string(content.size()) + " bytes; accepted: at most " +
                        std::to_string(max_content_bytes));
    std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
    const std::size_t size = write(frame.data(), frame.size());
    if (ZSTD_isError(size))
        throw Error(ErrorCode::internal, "code_object", std::string("zstd: ") + ZSTD_getErrorName(size));
    frame.resize(size);
    return frame;
}

} // namespace

std::vector<std::byte> compress(std::span<const std::byte> content, int level) {
    return frame_of(content, [&](void* frame, std::size_t capacity) {
        return ZSTD_compress(frame, capacity, content.data(), content.size(), level);
    });
}

struct DictionaryCompressor::State {
    std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
    std::unique_ptr<ZSTD_CDict, Free> dictionary;
};

DictionaryCompressor::DictionaryCompressor(std::span<const std::byte> dictionary, int level)
    : state_(std::make_unique<State>()) {
    state_->dictionary.reset(ZSTD_createCDict(dictionary.data(), dictionary.size(), level));
    if (!state_->context || !state_->dictionary)
        throw std::bad_alloc();
}

DictionaryCompressor::~DictionaryCompressor() = default;

std::vector<std::byte> DictionaryCompressor::compress(std::span<const std::byte> content) {
    return frame_of(content, [&](void* frame, std::size_t capacity) {
        return ZSTD_compress_usingCDict(state_->context.get(), frame, capacity, content.data(),
                                        content.size(), state_->dictionary.get());
    });
}

std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> frame,
                                                 std::span<const std::byte> dictionary) {
    const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR || bytes > max_content_bytes)
        return std::nullopt;
    const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
    std::vector<std::byte> content(bytes);
    const std::size_t size =
        ZSTD_decompress_usingDict(context.get(), content.data(), content.size(), frame.data(), frame.size(),
                                  dictionary.data(), dictionary.size());
    if (ZSTD_isError(size) || size != bytes)
        return std::nullopt;
    return content;
}

} // namespace zyfa::cache
