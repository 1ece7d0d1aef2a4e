// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032, through libsodium), and whose signatures count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace zyfa::cache {

struct PublicKey {
    std::array<std::uint8_t, 32> bytes{};
    auto operator<=>(const PublicKey&) const = default;
    std::string hex() const;
    static PublicKey from_hex(std::string_view hex); ///< throws Error{invalid_argument}
};

/// A signing key: the 32-byte seed. Wiped when it goes.
class SecretKey {
  public:
    static SecretKey generate();
    static SecretKey from_seed(const std::array<std::uint8_t, 32>& seed);
    ~SecretKey();
    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;

    PublicKey public_key() const;
    std::array<std::uint8_t, 64> sign(std::span<const std::byte> message) const;

    /// A file of mode 0600 with one line, "zyfa-secret-key/1 <seed in hex>". Throws Error{io_error}; load
    /// also refuses a file that others can read, or that is not one.
    void save(const std::string& path) const;
    static SecretKey load(const std::string& path);

  private:
    SecretKey() = default;
    std::array<std::uint8_t, 32> seed_{};
};

bool is_signed_by(const PublicKey& signer, std::span<const std::byte> message,
                  const std::array<std::uint8_t, 64>& signature);

/// Whose packs are accepted. As text: one signer a line, "trust <public key in hex> <name>" or
/// "revoke <public key in hex> <reason>"; empty lines and lines that start with '#' are kept out of it. A
/// revoked key stays revoked whatever else the list says.
class SignerList {
  public:
    enum class Standing : std::uint8_t { unknown, trusted, revoked };

    static SignerList parse(std::string_view text); ///< throws Error{invalid_argument} that names the line
    std::string text() const;

    /// An absent file is an empty list. Throws Error{io_error} where the file could have been written by
    /// another user than root or the effective one, Error{invalid_argument} where it is malformed.
    static SignerList load(const std::string& path);
    void save(const std::string& path) const;

    void trust(const PublicKey& signer, const std::string& name);
    void revoke(const PublicKey& signer, const std::string& reason);
    Standing standing(const PublicKey& signer) const;
    std::string name(const PublicKey& signer) const; ///< name or reason; empty if unknown

    struct Entry {
        Standing standing = Standing::unknown;
        std::string name;
    };
    const std::map<PublicKey, Entry>& entries() const noexcept { return entries_; }

  private:
    std::map<PublicKey, Entry> entries_;
};

} // namespace zyfa::cache
