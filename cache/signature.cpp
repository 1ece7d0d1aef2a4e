// SPDX-License-Identifier: Apache-2.0
#include "cache/signature.hpp"

#include <sodium.h>
#include <sys/stat.h>

#include <vector>

#include "cache/files.hpp"
#include "core/digest.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

constexpr std::string_view secret_head = "zyfa-secret-key/1 ";
constexpr std::uint64_t max_list_bytes = 1 << 20;

/// Both are 32 bytes; Digest has the strict reader of hexadecimal digits.
std::string hex_of(const std::array<std::uint8_t, 32>& bytes) {
    return Digest{bytes}.hex();
}

struct Expanded {
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
    PublicKey public_key;
    explicit Expanded(const std::array<std::uint8_t, 32>& seed) {
        crypto_sign_seed_keypair(public_key.bytes.data(), secret.data(), seed.data());
    }
    ~Expanded() { sodium_memzero(secret.data(), secret.size()); }
};

void initialise() {
    if (sodium_init() < 0)
        throw Error(ErrorCode::internal, "", "libsodium could not be initialised");
}

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The next word of `line`, which is removed from it with the space after it.
std::string_view next_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
}

std::string one_line(const std::string& text) {
    std::string result;
    for (const char c : text)
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    return result;
}

} // namespace

std::string PublicKey::hex() const {
    return hex_of(bytes);
}

PublicKey PublicKey::from_hex(std::string_view hex) {
    return {Digest::from_hex(hex).bytes};
}

SecretKey SecretKey::generate() {
    initialise();
    SecretKey key;
    randombytes_buf(key.seed_.data(), key.seed_.size());
    return key;
}

SecretKey SecretKey::from_seed(const std::array<std::uint8_t, 32>& seed) {
    initialise();
    SecretKey key;
    key.seed_ = seed;
    return key;
}

SecretKey::~SecretKey() {
    sodium_memzero(seed_.data(), seed_.size());
}

PublicKey SecretKey::public_key() const {
    return Expanded(seed_).public_key;
}

std::array<std::uint8_t, 64> SecretKey::sign(std::span<const std::byte> message) const {
    const Expanded key(seed_);
    std::array<std::uint8_t, 64> signature{};
    crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()),
                         message.size(), key.secret.data());
    return signature;
}

void SecretKey::save(const std::string& path) const {
    std::string line = std::string(secret_head) + hex_of(seed_) + "\n";
    write_file(path, bytes_of(line), 0600);
    sodium_memzero(line.data(), line.size());
}

SecretKey SecretKey::load(const std::string& path) {
    initialise();
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)))
        throw Error(ErrorCode::io_error, path,
                    "a secret key that others may read is not used (chmod 600 mends it)");
    std::string line = text_of(read_file(path, 4096));
    if (!line.starts_with(secret_head) || !line.ends_with('\n'))
        throw Error(ErrorCode::invalid_argument, path, "is not a secret key of `zyfa cache keys`");
    SecretKey key;
    key.seed_ = Digest::from_hex(
                    std::string_view(line).substr(secret_head.size(), line.size() - secret_head.size() - 1))
                    .bytes;
    sodium_memzero(line.data(), line.size());
    return key;
}

bool is_signed_by(const PublicKey& signer, std::span<const std::byte> message,
                  const std::array<std::uint8_t, 64>& signature) {
    initialise();
    return crypto_sign_verify_detached(signature.data(),
                                       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                       signer.bytes.data()) == 0;
}

SignerList SignerList::parse(std::string_view text) {
    SignerList list;
    for (int number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.empty() || line[0] == '#')
            continue;
        try {
            const std::string_view verb = next_word(line);
            const PublicKey signer = PublicKey::from_hex(next_word(line));
            if (verb == "trust")
                list.trust(signer, std::string(line));
            else if (verb == "revoke")
                list.revoke(signer, std::string(line));
            else
                throw Error(ErrorCode::invalid_argument, "", "accepted: trust or revoke, a key, a name");
        } catch (const Error& error) {
            throw Error(ErrorCode::invalid_argument, "signers",
                        "line " + std::to_string(number) + ": " + error.what());
        }
    }
    return list;
}

std::string SignerList::text() const {
    std::string result;
    for (const auto& [signer, entry] : entries_)
        result += (entry.standing == Standing::trusted ? "trust " : "revoke ") + signer.hex() + " " +
                  one_line(entry.name) + "\n";
    return result;
}

SignerList SignerList::load(const std::string& path) {
    if (!exists(path))
        return {};
    if (const std::string reason = distrust(path); !reason.empty())
        throw Error(ErrorCode::io_error, "signers", reason);
    return parse(text_of(read_file(path, max_list_bytes)));
}

void SignerList::save(const std::string& path) const {
    write_file(path, bytes_of(text()), 0600);
}

void SignerList::trust(const PublicKey& signer, const std::string& name) {
    Entry& entry = entries_[signer];
    if (entry.standing != Standing::revoked)
        entry = {Standing::trusted, name};
}

void SignerList::revoke(const PublicKey& signer, const std::string& reason) {
    entries_[signer] = {Standing::revoked, reason};
}

SignerList::Standing SignerList::standing(const PublicKey& signer) const {
    const auto found = entries_.find(signer);
    return found == entries_.end() ? Standing::unknown : found->second.standing;
}

std::string SignerList::name(const PublicKey& signer) const {
    const auto found = entries_.find(signer);
    return found == entries_.end() ? std::string() : found->second.name;
}

} // namespace zyfa::cache
