// SPDX-License-Identifier: Apache-2.0
// zstd for code objects, with and without a dictionary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace zyfa::cache {

/// Larger contents are neither stored nor believed: a damaged or hostile frame must not exhaust memory.
inline constexpr std::uint64_t max_content_bytes = 256u << 20;

/// One zstd frame that states its content's size.
std::vector<std::byte> compress(std::span<const std::byte> content, int level = 9);

/// Compresses many contents against one dictionary, which is indexed once: at high levels that takes far
/// longer than compressing a small content.
class DictionaryCompressor {
  public:
    DictionaryCompressor(std::span<const std::byte> dictionary, int level);
    ~DictionaryCompressor();
    DictionaryCompressor(const DictionaryCompressor&) = delete;
    DictionaryCompressor& operator=(const DictionaryCompressor&) = delete;
    std::vector<std::byte> compress(std::span<const std::byte> content);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// nullopt where the frame is damaged, needs another dictionary, or its content is larger than
/// max_content_bytes.
std::optional<std::vector<std::byte>> decompress(std::span<const std::byte> frame,
                                                 std::span<const std::byte> dictionary = {});

} // namespace zyfa::cache
