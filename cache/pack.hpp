// SPDX-License-Identifier: Apache-2.0
// Packs: cache entries in one flat, signed file. (The format stands on top of pack.cpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/signature.hpp"
#include "cache/store.hpp"

namespace zyfa::cache {

inline constexpr std::string_view pack_suffix = ".zyfapack";
inline constexpr std::uint64_t max_pack_bytes = std::uint64_t{1} << 30;

/// Records on their way from one place to another.
struct Content {
    std::vector<WinnerRecord> winners;
    std::vector<BinaryRecord> binaries;
    std::vector<MeasurementRecord> measurements;
};

/// Which packs are accepted.
struct PackTrust {
    SignerList signers;
    bool unsigned_too = false; ///< an unsigned pack is accepted, and its entries say so
};

/// The bytes of a pack; the same content, time and signer give the same bytes. Unsigned without `signer`.
std::vector<std::byte> write_pack(const Content& content, const SecretKey* signer, std::uint64_t unix_time);

/// A pack whose manifest is authentic. Entries are checked one by one as they are read.
class Pack {
  public:
    /// Nothing beyond the fixed head is looked at before the signature holds and the signer is trusted.
    /// Throws Error{unsupported} for another format version, Error{invalid_argument} for everything else that
    /// is wrong: the message says what.
    static Pack open(std::vector<std::byte> bytes, const PackTrust& trust);

    std::optional<WinnerRecord> winner(const Digest& key, std::string* damage = nullptr) const;
    std::optional<BinaryRecord> binary(const Digest& key, std::string* damage = nullptr) const;
    std::vector<MeasurementRecord> measurements(const Digest& winner_key,
                                                std::string* damage = nullptr) const;

    /// Every entry that is intact; one line per entry that is not.
    Content content(std::vector<std::string>& damage) const;

    const std::string& origin() const noexcept { return origin_; } ///< "pack:<public key>" or "pack:unsigned"
    std::uint64_t unix_time() const noexcept { return unix_time_; }
    std::uint64_t size() const noexcept { return bytes_.size(); }
    struct Counts {
        std::uint64_t winners = 0, binaries = 0, measurements = 0;
    };
    Counts counts() const noexcept;

  private:
    struct Entry {
        std::uint64_t offset = 0, bytes = 0;
        Digest digest;
    };
    Pack() = default;
    void read_manifest(std::string_view manifest, std::uint64_t payload);
    std::optional<std::vector<std::byte>> unpack(const Entry& entry) const;
    template <class Record, class Decode>
    std::optional<Record> record(const Digest& key, const Entry& entry, const char* kind, Decode decode,
                                 std::string* damage) const;

    std::vector<std::byte> bytes_;
    std::vector<std::byte> dictionary_;
    std::string origin_;
    std::uint64_t unix_time_ = 0, payload_offset_ = 0;
    std::map<Digest, Entry> winners_, binaries_;
    std::multimap<Digest, Entry> measurements_;
};

} // namespace zyfa::cache
