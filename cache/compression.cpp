// SPDX-License-Identifier: Apache-2.0
#include "cache/compression.hpp"

#include <zstd.h>

#include <memory>
#include <string>

#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

} // namespace

std::vector<std::byte> compress(std::span<const std::byte> content, std::span<const std::byte> dictionary,
                                int level) {
    if (content.size() > max_content_bytes)
        throw Error(ErrorCode::unsupported, "code_object",
                    std::to_string(content.size()) + " bytes; accepted: at most " +
                        std::to_string(max_content_bytes));
    const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
    std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
    const std::size_t size =
        ZSTD_compress_usingDict(context.get(), frame.data(), frame.size(), content.data(), content.size(),
                                dictionary.data(), dictionary.size(), level);
    if (ZSTD_isError(size))
        throw Error(ErrorCode::internal, "code_object", std::string("zstd: ") + ZSTD_getErrorName(size));
    frame.resize(size);
    return frame;
}

std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> frame,
                                                 std::span<const std::byte> dictionary) {
    const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR || bytes > max_content_bytes)
        return std::nullopt;
    const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
    std::vector<std::byte> content(bytes);
    const std::size_t size =
        ZSTD_decompress_usingDict(context.get(), content.data(), content.size(), frame.data(), frame.size(),
                                  dictionary.data(), dictionary.size());
    if (ZSTD_isError(size) || size != bytes)
        return std::nullopt;
    return content;
}

} // namespace zyfa::cache
