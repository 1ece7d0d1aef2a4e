// SPDX-License-Identifier: Apache-2.0
// "zyfa.<kind>/1\n", then every field in order: 8 bytes of little-endian length and the field's bytes; a
// number is 8 bytes, a digest 32.
#include "cache/records.hpp"

#include <cstring>
#include <string_view>

namespace zyfa::cache {

namespace {

constexpr std::string_view binary_head = "zyfa.binary/1\n", winner_head = "zyfa.winner/1\n",
                           measurement_head = "zyfa.measurement/1\n", ruling_head = "zyfa.ruling/1\n";

template <class Archive, class Record>
void binary_fields(Archive& archive, Record& r) {
    archive.field(r.key);
    archive.field(r.key_text);
    archive.field(r.kernel_name);
    archive.field(r.target);
    archive.field(r.toolchain);
    archive.field(r.code_object);
    archive.field(r.origin);
}

template <class Archive, class Record>
void winner_fields(Archive& archive, Record& r) {
    archive.field(r.key);
    archive.field(r.key_text);
    archive.field(r.schedule);
    archive.field(r.binary);
    archive.field(r.evidence_json);
    archive.field(r.data_profile);
    archive.field(r.policy);
    archive.field(r.versions_json);
    archive.field(r.unix_time);
    archive.field(r.origin);
}

template <class Archive, class Record>
void measurement_fields(Archive& archive, Record& r) {
    archive.field(r.key);
    archive.field(r.schedule);
    archive.field(r.measurement_json);
    archive.field(r.unix_time);
}

class Writer {
  public:
    explicit Writer(std::string_view head) { append(head.data(), head.size()); }
    void field(const std::string& value) { sized(value.data(), value.size()); }
    void field(const std::vector<std::byte>& value) { sized(value.data(), value.size()); }
    void field(const Digest& value) { sized(value.bytes.data(), value.bytes.size()); }
    void field(std::uint64_t value) {
        number(sizeof value);
        number(value);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    void append(const void* data, std::size_t size) {
        const auto* from = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), from, from + size);
    }
    void number(std::uint64_t value) {
        for (int i = 0; i < 8; ++i)
            bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    }
    void sized(const void* data, std::size_t size) {
        number(size);
        append(data, size);
    }
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    Reader(std::span<const std::byte> bytes, std::string_view head) : rest_(bytes) {
        const auto start = take(head.size());
        good_ = good_ && std::memcmp(start.data(), head.data(), head.size()) == 0;
    }
    void field(std::string& value) {
        const auto bytes = sized();
        value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void field(std::vector<std::byte>& value) {
        const auto bytes = sized();
        value.assign(bytes.begin(), bytes.end());
    }
    void field(Digest& value) {
        const auto bytes = sized();
        good_ = good_ && bytes.size() == value.bytes.size();
        if (good_)
            std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
    }
    void field(std::uint64_t& value) {
        good_ = good_ && number() == sizeof value;
        value = number();
    }
    /// Whether everything was there and nothing is left.
    bool finish() const { return good_ && rest_.empty(); }

  private:
    std::span<const std::byte> take(std::uint64_t size) {
        good_ = good_ && size <= rest_.size();
        if (!good_)
            return {};
        const auto taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        const auto bytes = take(8);
        for (std::size_t i = bytes.size(); i-- > 0;)
            value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
        return value;
    }
    std::span<const std::byte> sized() { return take(number()); }

    std::span<const std::byte> rest_;
    bool good_ = true;
};

} // namespace

std::vector<std::byte> encode(const BinaryRecord& record) {
    Writer writer(binary_head);
    binary_fields(writer, record);
    return writer.take();
}

std::vector<std::byte> encode(const WinnerRecord& record) {
    Writer writer(winner_head);
    winner_fields(writer, record);
    return writer.take();
}

std::vector<std::byte> encode(const MeasurementRecord& record) {
    Writer writer(measurement_head);
    measurement_fields(writer, record);
    return writer.take();
}

std::vector<std::byte> encode(const RulingRecord& record) {
    Writer writer(ruling_head);
    writer.field(record.key);
    writer.field(record.key_text);
    writer.field(record.schedule);
    writer.field(std::string(to_string(record.kind)));
    writer.field(record.reason);
    writer.field(record.unix_time);
    return writer.take();
}

std::optional<BinaryRecord> decode_binary(std::span<const std::byte> bytes) {
    Reader reader(bytes, binary_head);
    BinaryRecord record;
    binary_fields(reader, record);
    return reader.finish() ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<WinnerRecord> decode_winner(std::span<const std::byte> bytes) {
    Reader reader(bytes, winner_head);
    WinnerRecord record;
    winner_fields(reader, record);
    return reader.finish() ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<MeasurementRecord> decode_measurement(std::span<const std::byte> bytes) {
    Reader reader(bytes, measurement_head);
    MeasurementRecord record;
    measurement_fields(reader, record);
    return reader.finish() ? std::optional(std::move(record)) : std::nullopt;
}

bool is_consistent(const BinaryRecord& record) {
    return record.key == digest(std::string_view(record.key_text));
}

bool is_consistent(const WinnerRecord& record) {
    return record.key == digest(std::string_view(record.key_text));
}

bool is_consistent(const RulingRecord& record) {
    return record.key == digest(std::string_view(record.key_text));
}

} // namespace zyfa::cache
