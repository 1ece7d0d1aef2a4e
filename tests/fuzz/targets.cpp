// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/targets.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cache/compression.hpp"
#include "cache/pack.hpp"
#include "cache/records.hpp"
#include "cache/signature.hpp"
#include "core/keys.hpp"
#include "tests/fuzz/require.hpp"
#include "zyfa/error.hpp"

namespace zyfa::fuzz {

namespace {

using namespace cache;

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Everything a caller could ask of a pack that was opened.
void read_all(const Pack& pack) {
    std::vector<std::string> damage;
    const Content content = pack.content(damage);
    for (const BinaryRecord& record : content.binaries) {
        require(is_consistent(record));
        require(record.origin == pack.origin());
        require(pack.binary(record.key).has_value());
    }
    for (const WinnerRecord& record : content.winners) {
        require(is_consistent(record));
        require(pack.winner(record.key).has_value());
        static_cast<void>(pack.measurements(record.key));
    }
    const Pack::Counts counts = pack.counts();
    require(content.binaries.size() + content.winners.size() + content.measurements.size() + damage.size() ==
            counts.binaries + counts.winners + counts.measurements);
}

void open_pack(std::vector<std::byte> bytes) {
    PackTrust anyone; // a signature would keep the mutations from going any deeper
    anyone.unsigned_too = true;
    try {
        read_all(Pack::open(std::move(bytes), anyone));
    } catch (const Error&) {
    }
    // Whom nobody trusts is never opened.
}

/// A head without signature before manifest and entries: the first two bytes are the manifest's length.
std::vector<std::byte> with_head(std::span<const std::byte> bytes) {
    std::vector<std::byte> pack(120);
    std::memcpy(pack.data(), "zyfapack", 8);
    pack[8] = std::byte{1};
    if (bytes.size() >= 2) {
        pack[16] = bytes[0];
        pack[17] = bytes[1];
        pack.insert(pack.end(), bytes.begin() + 2, bytes.end());
    }
    return pack;
}

template <class Decode>
void decode_exactly(std::span<const std::byte> bytes, Decode decode) {
    if (const auto record = decode(bytes)) {
        const std::vector<std::byte> again = encode(*record);
        require(again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), again.size()) == 0);
    }
}

template <class Read>
void refuse_or_read(Read read) {
    try {
        read();
    } catch (const Error&) {
    }
}

} // namespace

void read_as_pack(std::span<const std::byte> bytes) {
    if (bytes.empty())
        return;
    const auto rest = bytes.subspan(1);
    switch (std::to_integer<unsigned>(bytes[0]) % 4) {
    case 0:
        return open_pack({rest.begin(), rest.end()});
    case 1:
        return open_pack(with_head(rest));
    case 2:
        decode_exactly(rest, decode_binary);
        decode_exactly(rest, decode_winner);
        decode_exactly(rest, decode_measurement);
        return;
    default:
        if (const auto content = decompress(rest))
            require(content->size() <= max_content_bytes);
    }
}

void read_as_key(std::span<const std::byte> bytes) {
    const std::string_view text = as_text(bytes);
    refuse_or_read([&] { require(WinnerKey::parse(text).canonical() == text); });
    refuse_or_read([&] { require(BinaryKey::parse(text).canonical() == text); });
    refuse_or_read([&] { require(PublicKey::from_hex(text).hex().size() == text.size()); });
    refuse_or_read([&] {
        const SignerList list = SignerList::parse(text);
        require(SignerList::parse(list.text()).text() == list.text());
    });
}

} // namespace zyfa::fuzz
