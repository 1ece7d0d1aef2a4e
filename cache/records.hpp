// SPDX-License-Identifier: Apache-2.0
// A record as canonical bytes, read back by the same list of fields. Its digest guards a row of the store,
// and the bytes themselves are what a pack carries.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cache/store.hpp"
#include "core/digest.hpp"

namespace zyfa::cache {

std::vector<std::byte> encode(const BinaryRecord& record);
std::vector<std::byte> encode(const WinnerRecord& record);
std::vector<std::byte> encode(const MeasurementRecord& record);
std::vector<std::byte> encode(const RulingRecord& record);

/// nullopt where the bytes are not exactly one record of the kind. Never reads past `bytes`.
std::optional<BinaryRecord> decode_binary(std::span<const std::byte> bytes);
std::optional<WinnerRecord> decode_winner(std::span<const std::byte> bytes);
std::optional<MeasurementRecord> decode_measurement(std::span<const std::byte> bytes);

template <class Record>
Digest digest_of(const Record& record) {
    return digest(std::span<const std::byte>(encode(record)));
}

/// Whether the record's key is the digest of its text (measurements have no text of their own).
bool is_consistent(const BinaryRecord& record);
bool is_consistent(const WinnerRecord& record);
bool is_consistent(const RulingRecord& record);

} // namespace zyfa::cache
