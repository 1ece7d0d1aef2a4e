// SPDX-License-Identifier: Apache-2.0
// Digests of canonical bytes (BLAKE2b-256 through libsodium).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zyfa {

struct Digest {
    std::array<std::uint8_t, 32> bytes{};
    auto operator<=>(const Digest&) const = default;
    std::string hex() const;
    static Digest from_hex(std::string_view hex); ///< throws Error{invalid_argument}
};

Digest digest(std::span<const std::byte> data);
Digest digest(std::string_view data);

/// Incremental form.
class DigestBuilder {
  public:
    DigestBuilder();
    DigestBuilder& add(std::span<const std::byte> data);
    DigestBuilder& add(std::string_view data);
    Digest finish();

  private:
    alignas(64) std::array<unsigned char, 384> state_; // crypto_generichash_state, checked by static_assert
};

} // namespace zyfa
