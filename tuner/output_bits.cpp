// SPDX-License-Identifier: Apache-2.0
// Row hashes of outputs, and the search for elements that nobody wrote.
#include "tuner/output_bits.hpp"

#include <cstring>

#include "tuner/foreign.hpp"

namespace zyfa::tuner {

namespace {

/// A multiply-and-fold hash over 8-byte words; not cryptographic, only to tell outputs apart.
std::uint64_t hash(const std::byte* data, std::size_t bytes) {
    std::uint64_t state = 0x9e3779b97f4a7c15u ^ bytes;
    while (bytes > 0) {
        std::uint64_t word = 0;
        const std::size_t step = bytes < sizeof word ? bytes : sizeof word;
        std::memcpy(&word, data, step);
        state = (state ^ word) * 0xd6e8feb86659fd93u;
        state ^= state >> 32;
        data += step;
        bytes -= step;
    }
    return state;
}

std::string place(std::int64_t batch, std::int64_t head, std::int64_t row) {
    return "b=" + std::to_string(batch) + " h=" + std::to_string(head) + " row=" + std::to_string(row);
}

template <class Visit>
void for_each_row(const TensorLayout& layout, Visit visit) {
    for (std::int64_t b = 0; b < layout.sizes[0]; ++b)
        for (std::int64_t h = 0; h < layout.sizes[1]; ++h)
            for (std::int64_t s = 0; s < layout.sizes[2]; ++s)
                visit(b, h, s);
}

std::vector<std::uint64_t> row_hashes(const TensorLayout& layout, std::span<const std::byte> data) {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(static_cast<std::size_t>(layout.sizes[0] * layout.sizes[1] * layout.sizes[2]));
    for_each_row(layout, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
        hashes.push_back(hash(data.data() + layout.row_offset(b, h, s), layout.row_bytes()));
    });
    return hashes;
}

} // namespace

std::string bit_class(const std::vector<templates::ParameterSpec>& space, const Schedule& schedule) {
    Schedule reduced{schedule.template_name, {}};
    for (const templates::ParameterSpec& axis : space) {
        const auto found = schedule.parameters.find(axis.name);
        if (axis.changes_bits && found != schedule.parameters.end())
            reduced.parameters.insert(*found);
    }
    if (const auto file = schedule.parameters.find(file_parameter); file != schedule.parameters.end())
        reduced.parameters.insert(*file); // somebody's own arithmetic
    return reduced.canonical();
}

OutputBits::OutputBits(const TensorLayout& o_layout, std::span<const std::byte> o,
                       const TensorLayout* lse_layout, std::span<const std::byte> lse)
    : heads_(o_layout.sizes[1]), rows_(o_layout.sizes[2]), o_(row_hashes(o_layout, o)) {
    if (lse_layout)
        lse_ = row_hashes(*lse_layout, lse);
}

std::optional<std::string> OutputBits::difference(const OutputBits& other) const {
    for (std::size_t i = 0; i < o_.size(); ++i)
        if (o_[i] != other.o_[i]) {
            const auto index = static_cast<std::int64_t>(i);
            return "O at " + place(index / rows_ / heads_, index / rows_ % heads_, index % rows_);
        }
    for (std::size_t i = 0; i < lse_.size(); ++i)
        if (lse_[i] != other.lse_[i]) {
            const auto index = static_cast<std::int64_t>(i);
            return "LSE at b=" + std::to_string(index / heads_) + " h=" + std::to_string(index % heads_);
        }
    return std::nullopt;
}

Digest OutputBits::digest() const {
    return DigestBuilder().add(std::as_bytes(std::span(o_))).add(std::as_bytes(std::span(lse_))).finish();
}

std::optional<std::string> unwritten(const TensorLayout& layout, std::span<const std::byte> data,
                                     std::uint8_t sentinel, const char* name) {
    std::optional<std::string> found;
    const std::vector<std::byte> pattern(layout.element_bytes, std::byte{sentinel});
    for_each_row(layout, [&](std::int64_t b, std::int64_t h, std::int64_t s) {
        if (found)
            return;
        const std::byte* row = data.data() + layout.row_offset(b, h, s);
        for (std::size_t at = 0; at < layout.row_bytes(); at += layout.element_bytes)
            if (std::memcmp(row + at, pattern.data(), layout.element_bytes) == 0) {
                found = std::string(name) + " at " + place(b, h, s) + " element " +
                        std::to_string(at / layout.element_bytes) + " was not written";
                return;
            }
    });
    return found;
}

} // namespace zyfa::tuner
