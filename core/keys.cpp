// SPDX-License-Identifier: Apache-2.0
// Classification of problems, and the canonical text of the keys.
//
// A key's text is "<kind>/<version>" followed by " name=value" for every field in a fixed order. Values are
// escaped (%XX), so that a space or '=' in a device's name cannot shift a field. One function per key lists
// the fields; a writer and a reader run through it, so that the two directions cannot drift apart. Only
// canonical text parses: equal keys have equal text and so equal digests.
#include "core/keys.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>

#include "core/profile_key.hpp"
#include "zyfa/error.hpp"

namespace zyfa {

namespace {

constexpr std::array dtypes{DType::bf16, DType::e4m3, DType::e4m3fnuz, DType::f32};
constexpr std::array masks{Mask::none, Mask::causal};
constexpr std::array probabilities{Probability::automatic, Probability::lean, Probability::exact};
constexpr std::array stride_classes{StrideClass::bhsd, StrideClass::bshd, StrideClass::other};

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && std::strchr("_.:+-", c) != nullptr);
}

class KeyWriter {
  public:
    explicit KeyWriter(const char* head) : text_(head) {}

    void field(const char* name, const std::string& value) {
        start(name);
        static constexpr char digits[] = "0123456789ABCDEF";
        for (const char c : value) {
            if (is_plain(c)) {
                text_ += c;
            } else {
                const auto byte = static_cast<unsigned char>(c);
                text_ += '%';
                text_ += digits[byte >> 4];
                text_ += digits[byte & 15];
            }
        }
    }
    void field(const char* name, std::uint32_t value) { start(name) += std::to_string(value); }
    void field(const char* name, bool value) { start(name) += value ? '1' : '0'; }
    void field(const char* name, const Digest& value) { start(name) += value.hex(); }
    template <class Enum, std::size_t n>
    void choice(const char* name, const Enum& value, const std::array<Enum, n>&) {
        start(name) += to_string(value);
    }
    std::string take() { return std::move(text_); }

  private:
    std::string& start(const char* name) {
        text_ += ' ';
        text_ += name;
        text_ += '=';
        return text_;
    }
    std::string text_;
};

class KeyReader {
  public:
    KeyReader(std::string_view text, const char* head) : text_(text), rest_(text) {
        if (!rest_.starts_with(head))
            fail(std::string("does not start with \"") + head + "\"");
        rest_.remove_prefix(std::strlen(head));
    }

    void field(const char* name, std::string& value) {
        const std::string_view written = next(name);
        value.clear();
        for (std::size_t i = 0; i < written.size(); ++i) {
            if (written[i] != '%') {
                value += written[i];
                continue;
            }
            const unsigned byte = number<unsigned>(written.substr(i + 1, 2), name, 16);
            value += static_cast<char>(byte);
            i += 2;
        }
    }
    void field(const char* name, std::uint32_t& value) {
        value = number<std::uint32_t>(next(name), name, 10);
    }
    void field(const char* name, bool& value) { value = number<unsigned>(next(name), name, 10) != 0; }
    void field(const char* name, Digest& value) { value = Digest::from_hex(next(name)); }
    template <class Enum, std::size_t n>
    void choice(const char* name, Enum& value, const std::array<Enum, n>& all) {
        const std::string_view written = next(name);
        for (const Enum candidate : all) {
            if (written == to_string(candidate)) {
                value = candidate;
                return;
            }
        }
        fail(std::string("has an unknown ") + name);
    }
    void finish(const std::string& canonical) const {
        if (canonical != text_)
            fail("is not canonical");
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw Error(ErrorCode::invalid_argument, "key",
                    "\"" + std::string(text_.substr(0, 400)) + "\" " + why);
    }
    std::string_view next(const char* name) {
        const std::size_t length = std::strlen(name);
        if (rest_.size() < length + 2 || rest_[0] != ' ' || rest_.substr(1, length) != name ||
            rest_[1 + length] != '=')
            fail(std::string("has no ") + name + " where it is expected");
        rest_.remove_prefix(length + 2);
        const std::string_view value = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(value.size());
        return value;
    }
    template <class Number>
    Number number(std::string_view written, const char* name, int base) const {
        Number value{};
        const auto [stopped, error] =
            std::from_chars(written.data(), written.data() + written.size(), value, base);
        if (written.empty() || error != std::errc() || stopped != written.data() + written.size())
            fail(std::string("has a malformed ") + name);
        return value;
    }

    std::string_view text_, rest_;
};

constexpr const char* winner_head = "zyfa.winner/1";
constexpr const char* binary_head = "zyfa.binary/1";

template <class Archive, class Key>
void winner_fields(Archive& archive, Key& key) {
    archive.choice("dtype", key.problem_class.dtype, dtypes);
    archive.field("dqk", key.problem_class.dim_qk);
    archive.field("dv", key.problem_class.dim_v);
    archive.choice("mask", key.problem_class.mask, masks);
    archive.field("even_group", key.problem_class.even_group);
    archive.field("nan_exact", key.problem_class.nan_exact);
    archive.field("lse", key.problem_class.lse);
    archive.choice("probability", key.problem_class.probability, probabilities);
    archive.field("bh", key.sizes.batch_heads);
    archive.field("sq", key.sizes.seq_q);
    archive.field("skv", key.sizes.seq_kv);
    archive.choice("strides", key.strides, stride_classes);
    archive.field("target", key.device.target);
    archive.field("cus", key.device.compute_units);
    archive.field("xcds", key.device.xcds);
    archive.field("partition", key.device.partition);
    archive.field("simulated", key.device.simulated);
}

template <class Archive, class Key>
void binary_fields(Archive& archive, Key& key) {
    archive.field("assembly", key.assembly);
    archive.field("target", key.target);
    archive.field("kernarg_abi", key.kernarg_abi);
}

/// Whether a tensor of these sizes could lie in memory as BHSD or as BSHD.
struct Possible {
    bool bhsd = true, bshd = true;
    void restrict_to(const Strides& strides, std::int64_t heads, std::int64_t seq) {
        if (heads == 1 || seq == 1)
            return;
        bhsd = bhsd && strides.head > strides.seq;
        bshd = bshd && strides.head < strides.seq && strides.head != 0;
    }
};

} // namespace

const char* to_string(StrideClass strides) noexcept {
    switch (strides) {
    case StrideClass::bhsd:
        return "bhsd";
    case StrideClass::bshd:
        return "bshd";
    case StrideClass::other:
        return "other";
    }
    return "unknown";
}

ProblemClass classify(const Problem& problem) {
    ProblemClass result;
    result.dtype = problem.dtype;
    result.dim_qk = static_cast<std::uint32_t>(problem.dim_qk);
    result.dim_v = static_cast<std::uint32_t>(problem.dim_v);
    result.mask = problem.mask;
    result.even_group = problem.heads_kv > 0 && problem.heads_q / problem.heads_kv % 2 == 0;
    result.nan_exact = problem.nan_exact;
    result.lse = problem.lse;
    result.probability = problem.dtype == DType::bf16 ? Probability::automatic : problem.probability;
    return result;
}

std::uint32_t bucket(std::int64_t size) {
    return size <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(size) - 1));
}

SizeBucket bucket(const Problem& problem) {
    constexpr std::int64_t workgroup_rows = 256;
    return {bucket(problem.batch * problem.heads_q), bucket(std::max(problem.seq_q, workgroup_rows)),
            bucket(std::max(problem.seq_kv, workgroup_rows))};
}

StrideClass stride_class(const Problem& problem) {
    Possible possible;
    possible.restrict_to(problem.q, problem.heads_q, problem.seq_q);
    possible.restrict_to(problem.k, problem.heads_kv, problem.seq_kv);
    possible.restrict_to(problem.v, problem.heads_kv, problem.seq_kv);
    possible.restrict_to(problem.o, problem.heads_q, problem.seq_q);
    return possible.bhsd ? StrideClass::bhsd : possible.bshd ? StrideClass::bshd : StrideClass::other;
}

WinnerKey winner_key(const Problem& problem, const DeviceIdentity& device) {
    return {classify(problem), bucket(problem), stride_class(problem), device};
}

std::string WinnerKey::canonical() const {
    KeyWriter writer(winner_head);
    winner_fields(writer, *this);
    return writer.take();
}

WinnerKey WinnerKey::parse(std::string_view text) {
    KeyReader reader(key_without_profile(text), winner_head);
    WinnerKey key;
    winner_fields(reader, key);
    reader.finish(key.canonical());
    return key;
}

std::string BinaryKey::canonical() const {
    KeyWriter writer(binary_head);
    binary_fields(writer, *this);
    return writer.take();
}

BinaryKey BinaryKey::parse(std::string_view text) {
    KeyReader reader(text, binary_head);
    BinaryKey key;
    binary_fields(reader, key);
    reader.finish(key.canonical());
    return key;
}

} // namespace zyfa
