// SPDX-License-Identifier: Apache-2.0
// Finds the gfx950 code object in what a program hands over: an ELF, a clang offload bundle, or a compressed
// bundle (LLVM: clang/docs/ClangOffloadBundler.rst).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace zyfa::sim::hip {

/// A code object inside the image, or in `storage` where the image was compressed.
struct FoundImage {
    std::vector<std::byte> storage;
    std::span<const std::byte> elf;
};

/// `bytes` is the readable length, or SIZE_MAX where only the pointer is known (hipModuleLoadData): the
/// length then comes from the headers. Throws Failure{hipErrorInvalidImage} or
/// Failure{hipErrorNoBinaryForGpu}.
FoundImage find_code_object(const std::byte* image, std::size_t bytes);

} // namespace zyfa::sim::hip
