// SPDX-License-Identifier: Apache-2.0
// Writing and opening packs.
//
// FORMAT (numbers are little-endian)
//      0   8  "zyfapack"
//      8   4  format version, 1
//     12   4  0
//     16   8  bytes of the manifest
//     24  32  the signer's Ed25519 public key, or zeros
//     56  64  signature over bytes 0 to 55 and the manifest, or zeros
//    120      manifest, text:
//               zyfa-pack/1
//               created <seconds since 1970>
//               dictionary <zeros> <bytes> <digest>          at most once, first
//               binary <key> <bytes> <digest>                in order of key
//               winner <key> <bytes> <digest>                in order of key
//               measurement <winner's key> <bytes> <digest>  in order of key, then digest
//             then the entries' bytes, in the manifest's order, without gaps, to the end of the file.
// An entry is a zstd frame of a record's canonical bytes (records.cpp), compressed against the dictionary;
// its digest is that of the frame. The dictionary is itself a frame, of raw content: parts of the entries, so
// that the variants of a kernel cost little more than one.
//
// The signature covers the manifest, the manifest's digests cover the entries: a changed byte of head,
// signature or manifest makes the whole pack unreadable, a changed byte of an entry makes that entry
// unreadable (a changed byte of the dictionary makes all of them).
#include "cache/pack.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "cache/compression.hpp"
#include "cache/records.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

constexpr std::string_view magic = "zyfapack";
constexpr std::uint32_t version = 1;
constexpr std::size_t signed_head = 56, head_bytes = 120, key_offset = 24;
constexpr std::string_view manifest_head = "zyfa-pack/1\n";
constexpr std::size_t max_dictionary = 256 * 1024;
constexpr int level = 19; // a pack is written once and shipped often
/// Of winners and measurements: half a kilobyte of JSON that differs from the dictionary's in a few numbers.
/// Level 19 makes it no smaller, in 30 times the time, and a sweep has hundreds of thousands of them.
constexpr int text_level = 12;

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "pack", why);
}

void put(std::vector<std::byte>& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        to.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
}

void put(std::vector<std::byte>& to, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

std::uint64_t get(std::span<const std::byte> from, std::size_t offset, int bytes) {
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | std::to_integer<std::uint64_t>(from[offset + static_cast<std::size_t>(i)]);
    return value;
}

/// What is signed: the head up to the signature, and the manifest.
std::vector<std::byte> signed_bytes(std::span<const std::byte> head, std::span<const std::byte> manifest) {
    std::vector<std::byte> message(head.begin(), head.begin() + signed_head);
    message.insert(message.end(), manifest.begin(), manifest.end());
    return message;
}

/// Raw content for zstd: one code object of every kernel, one record of the other kinds. (It must not begin
/// with zstd's own dictionary magic.)
std::vector<std::byte> make_dictionary(const Content& sorted, const MeasurementRecord* measurement) {
    std::vector<std::byte> dictionary;
    put(dictionary, "zyfa\n");
    const auto add = [&](std::span<const std::byte> bytes) {
        if (dictionary.size() + bytes.size() <= max_dictionary)
            dictionary.insert(dictionary.end(), bytes.begin(), bytes.end());
    };
    if (measurement)
        add(encode(*measurement));
    if (!sorted.winners.empty())
        add(encode(sorted.winners.front()));
    std::set<std::string> kernels;
    for (const BinaryRecord& binary : sorted.binaries)
        if (kernels.insert(binary.kernel_name).second)
            add(encode(binary));
    return dictionary;
}

class Writer {
  public:
    explicit Writer(std::uint64_t unix_time) : manifest_(manifest_head) {
        manifest_ += "created " + std::to_string(unix_time) + "\n";
    }
    void add(const char* kind, const Digest& key, const std::vector<std::byte>& frame) {
        manifest_ += std::string(kind) + " " + key.hex() + " " + std::to_string(frame.size()) + " " +
                     digest(std::span<const std::byte>(frame)).hex() + "\n";
        payload_.insert(payload_.end(), frame.begin(), frame.end());
    }
    std::vector<std::byte> finish(const SecretKey* signer) const {
        std::vector<std::byte> bytes;
        put(bytes, magic);
        put(bytes, version, 4);
        put(bytes, 0, 4);
        put(bytes, manifest_.size(), 8);
        const PublicKey key = signer ? signer->public_key() : PublicKey{};
        for (const std::uint8_t byte : key.bytes)
            bytes.push_back(std::byte{byte});
        const auto manifest = std::as_bytes(std::span(manifest_));
        std::array<std::uint8_t, 64> signature{};
        if (signer)
            signature = signer->sign(signed_bytes(bytes, manifest));
        for (const std::uint8_t byte : signature)
            bytes.push_back(std::byte{byte});
        bytes.insert(bytes.end(), manifest.begin(), manifest.end());
        bytes.insert(bytes.end(), payload_.begin(), payload_.end());
        return bytes;
    }

  private:
    std::string manifest_;
    std::vector<std::byte> payload_;
};

template <class Record>
void sort_by_key(std::vector<Record>& records) {
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.key < b.key; });
    const auto same = [](const Record& a, const Record& b) { return a.key == b.key; };
    records.erase(std::unique(records.begin(), records.end(), same), records.end());
}

std::string_view next_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
}

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || stopped != text.data() + text.size())
        refuse("its manifest is malformed");
    return value;
}

void check_signer(std::span<const std::byte> bytes, std::span<const std::byte> manifest,
                  const PackTrust& trust, std::string& origin) {
    PublicKey signer;
    std::array<std::uint8_t, 64> signature{};
    std::memcpy(signer.bytes.data(), bytes.data() + key_offset, signer.bytes.size());
    std::memcpy(signature.data(), bytes.data() + signed_head, signature.size());
    if (signer == PublicKey{}) {
        if (!trust.unsigned_too)
            refuse("it is not signed");
        origin = "pack:unsigned";
        return;
    }
    switch (trust.signers.standing(signer)) {
    case SignerList::Standing::unknown:
        refuse("its signer " + signer.hex() + " is not in the list of trusted signers");
    case SignerList::Standing::revoked:
        refuse("its signer " + signer.hex() + " is revoked: " + trust.signers.name(signer));
    case SignerList::Standing::trusted:
        break;
    }
    if (!is_signed_by(signer, signed_bytes(bytes, manifest), signature))
        refuse("its signature does not hold: head or manifest were changed");
    origin = "pack:" + signer.hex();
}

} // namespace

std::vector<std::byte> write_pack(const Content& content, const SecretKey* signer, std::uint64_t unix_time) {
    Content sorted = content;
    sort_by_key(sorted.winners);
    sort_by_key(sorted.binaries);
    std::map<std::pair<Digest, Digest>, const MeasurementRecord*> measurements;
    for (const MeasurementRecord& record : sorted.measurements)
        measurements.emplace(std::pair(record.key, digest_of(record)), &record);

    Writer writer(unix_time);
    const std::vector<std::byte> dictionary =
        make_dictionary(sorted, measurements.empty() ? nullptr : measurements.begin()->second);
    writer.add("dictionary", {}, compress(dictionary, level));
    DictionaryCompressor against(dictionary, level), text(dictionary, text_level);
    for (const BinaryRecord& record : sorted.binaries)
        writer.add("binary", record.key, against.compress(encode(record)));
    for (const WinnerRecord& record : sorted.winners)
        writer.add("winner", record.key, text.compress(encode(record)));
    std::map<std::pair<Digest, Digest>, std::vector<std::byte>> frames; // ordered by the frame's digest
    for (const auto& [place, record] : measurements) {
        auto frame = text.compress(encode(*record));
        frames.emplace(std::pair(record->key, digest(std::span<const std::byte>(frame))), std::move(frame));
    }
    for (const auto& [place, frame] : frames)
        writer.add("measurement", place.first, frame);
    return writer.finish(signer);
}

Pack Pack::open(std::vector<std::byte> bytes, const PackTrust& trust) {
    if (bytes.size() < head_bytes || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        refuse("it is not a pack");
    if (const std::uint64_t found = get(bytes, 8, 4); found != version)
        throw Error(ErrorCode::unsupported, "pack",
                    "its format version is " + std::to_string(found) +
                        "; accepted: " + std::to_string(version));
    const std::uint64_t manifest_bytes = get(bytes, 16, 8);
    if (manifest_bytes > bytes.size() - head_bytes)
        refuse("it is cut short");
    Pack pack;
    pack.bytes_ = std::move(bytes);
    const auto manifest = std::span<const std::byte>(pack.bytes_).subspan(head_bytes, manifest_bytes);
    check_signer(pack.bytes_, manifest, trust, pack.origin_);
    if (get(pack.bytes_, 12, 4) != 0)
        refuse("its head is malformed");
    pack.payload_offset_ = head_bytes + manifest_bytes;
    pack.read_manifest({reinterpret_cast<const char*>(manifest.data()), manifest.size()},
                       pack.bytes_.size() - pack.payload_offset_);
    return pack;
}

void Pack::read_manifest(std::string_view manifest, std::uint64_t payload) {
    const auto malformed = [](bool wrong) {
        if (wrong)
            refuse("its manifest is malformed");
    };
    malformed(!manifest.starts_with(manifest_head) || !manifest.ends_with('\n'));
    manifest.remove_prefix(manifest_head.size());
    std::uint64_t offset = 0;
    std::optional<Entry> dictionary;
    for (bool first = true; !manifest.empty(); first = false) {
        std::string_view line = manifest.substr(0, manifest.find('\n'));
        manifest.remove_prefix(line.size() + 1);
        const std::string_view kind = next_word(line);
        if (first) {
            malformed(kind != "created");
            unix_time_ = number(line);
            continue;
        }
        const Digest key = Digest::from_hex(next_word(line));
        Entry entry;
        entry.offset = offset;
        entry.bytes = number(next_word(line));
        entry.digest = Digest::from_hex(line);
        malformed(entry.bytes > payload - offset);
        offset += entry.bytes;
        if (kind == "dictionary") {
            malformed(dictionary.has_value() ||
                      !(winners_.empty() && binaries_.empty() && measurements_.empty()));
            dictionary = entry;
        } else if (kind == "binary") {
            malformed(!binaries_.emplace(key, entry).second);
        } else if (kind == "winner") {
            malformed(!winners_.emplace(key, entry).second);
        } else if (kind == "measurement") {
            measurements_.emplace(key, entry);
        } else {
            malformed(true);
        }
    }
    if (offset != payload)
        refuse("it has " + std::to_string(payload - offset) + " bytes that its manifest does not name");
    if (dictionary)
        if (auto content = unpack(*dictionary))
            dictionary_ = std::move(*content); // without it the entries do not unpack, and each says so
}

std::optional<std::vector<std::byte>> Pack::unpack(const Entry& entry) const {
    const auto frame =
        std::span<const std::byte>(bytes_).subspan(payload_offset_ + entry.offset, entry.bytes);
    if (digest(frame) != entry.digest)
        return std::nullopt;
    return decompress(frame, dictionary_);
}

template <class Record, class Decode>
std::optional<Record> Pack::record(const Digest& key, const Entry& entry, const char* kind, Decode decode,
                                   std::string* damage) const {
    const auto bytes = unpack(entry);
    std::optional<Record> found = bytes ? decode(std::span<const std::byte>(*bytes)) : std::nullopt;
    bool intact = found && found->key == key;
    if constexpr (requires { found->origin; }) {
        intact = intact && is_consistent(*found);
        if (intact)
            found->origin = origin_;
    }
    if (intact)
        return found;
    if (damage)
        *damage = std::string(kind) + " " + key.hex() + ": the entry does not match the manifest";
    return std::nullopt;
}

std::optional<WinnerRecord> Pack::winner(const Digest& key, std::string* damage) const {
    const auto found = winners_.find(key);
    if (found == winners_.end())
        return std::nullopt;
    return record<WinnerRecord>(key, found->second, "winner", decode_winner, damage);
}

std::optional<BinaryRecord> Pack::binary(const Digest& key, std::string* damage) const {
    const auto found = binaries_.find(key);
    if (found == binaries_.end())
        return std::nullopt;
    return record<BinaryRecord>(key, found->second, "binary", decode_binary, damage);
}

std::vector<MeasurementRecord> Pack::measurements(const Digest& winner_key, std::string* damage) const {
    std::vector<MeasurementRecord> result;
    const auto [begin, end] = measurements_.equal_range(winner_key);
    for (auto found = begin; found != end; ++found)
        if (auto r = record<MeasurementRecord>(winner_key, found->second, "measurement", decode_measurement,
                                               damage))
            result.push_back(std::move(*r));
    return result;
}

Content Pack::content(std::vector<std::string>& damage) const {
    Content result;
    const auto take = [&damage](auto& to, auto record, std::string& what) {
        if (record)
            to.push_back(std::move(*record));
        else
            damage.push_back(what);
    };
    std::string what;
    for (const auto& [key, entry] : winners_)
        take(result.winners, record<WinnerRecord>(key, entry, "winner", decode_winner, &what), what);
    for (const auto& [key, entry] : binaries_)
        take(result.binaries, record<BinaryRecord>(key, entry, "binary", decode_binary, &what), what);
    for (const auto& [key, entry] : measurements_)
        take(result.measurements,
             record<MeasurementRecord>(key, entry, "measurement", decode_measurement, &what), what);
    return result;
}

Pack::Counts Pack::counts() const noexcept {
    return {winners_.size(), binaries_.size(), measurements_.size()};
}

} // namespace zyfa::cache
