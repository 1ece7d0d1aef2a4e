// SPDX-License-Identifier: Apache-2.0
// What is done with hostile bytes: by libFuzzer for as long as it likes, and by the tests for some thousand
// fixed mutations. A function returns whatever the bytes are; a fault is a crash, a sanitizer's finding, or
// std::abort where something was believed that should not have been.
#pragma once

#include <cstddef>
#include <span>

namespace zyfa::fuzz {

/// The first byte says as what the rest is read: a pack, the manifest and entries of a pack with a good
/// head, a record, or a zstd frame.
void read_as_pack(std::span<const std::byte> bytes);

/// As a winner's or a binary's key, a signer list, and a public key.
void read_as_key(std::span<const std::byte> bytes);

} // namespace zyfa::fuzz
