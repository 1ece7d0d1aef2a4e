// SPDX-License-Identifier: Apache-2.0
// BLAKE2b-256 (RFC 7693) through libsodium's crypto_generichash.
#include "core/digest.hpp"

#include <sodium.h>

#include "zyfa/error.hpp"

namespace zyfa {

static_assert(sizeof(crypto_generichash_state) <= 384 && alignof(crypto_generichash_state) <= 64,
              "DigestBuilder's state must hold libsodium's");
static_assert(crypto_generichash_BYTES == 32);

namespace {

/// Picks libsodium's fastest implementation; thread-safe and done once.
void initialise() {
    static const bool ready = sodium_init() >= 0;
    if (!ready)
        throw Error(ErrorCode::internal, "", "libsodium could not be initialised");
}

crypto_generichash_state* as_state(std::array<unsigned char, 384>& bytes) {
    return reinterpret_cast<crypto_generichash_state*>(bytes.data());
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

int nibble(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

} // namespace

std::string Digest::hex() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(64);
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Digest Digest::from_hex(std::string_view hex) {
    Digest result;
    bool good = hex.size() == 64;
    for (std::size_t i = 0; good && i < 32; ++i) {
        const int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
        good = high >= 0 && low >= 0;
        if (good)
            result.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    if (!good)
        throw Error(ErrorCode::invalid_argument, "digest",
                    "\"" + std::string(hex.substr(0, 80)) + "\"; accepted: 64 lower-case hexadecimal digits");
    return result;
}

Digest digest(std::span<const std::byte> data) {
    return DigestBuilder().add(data).finish();
}

Digest digest(std::string_view data) {
    return digest(bytes_of(data));
}

DigestBuilder::DigestBuilder() {
    initialise();
    crypto_generichash_init(as_state(state_), nullptr, 0, crypto_generichash_BYTES);
}

DigestBuilder& DigestBuilder::add(std::span<const std::byte> data) {
    crypto_generichash_update(as_state(state_), reinterpret_cast<const unsigned char*>(data.data()),
                              data.size());
    return *this;
}

DigestBuilder& DigestBuilder::add(std::string_view data) {
    return add(bytes_of(data));
}

Digest DigestBuilder::finish() {
    Digest result;
    crypto_generichash_final(as_state(state_), result.bytes.data(), result.bytes.size());
    return result;
}

} // namespace zyfa
