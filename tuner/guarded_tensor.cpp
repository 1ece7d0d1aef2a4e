// SPDX-License-Identifier: Apache-2.0
// Guard bands, and the walk over what lies inside and outside of a strided view.
#include "tuner/guarded_tensor.hpp"

#include <algorithm>
#include <cstring>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// Offsets of all rows of the view, ascending.
std::vector<std::size_t> row_offsets(const TensorLayout& layout) {
    std::vector<std::size_t> offsets;
    offsets.reserve(static_cast<std::size_t>(layout.sizes[0] * layout.sizes[1] * layout.sizes[2]));
    for (std::int64_t b = 0; b < layout.sizes[0]; ++b)
        for (std::int64_t h = 0; h < layout.sizes[1]; ++h)
            for (std::int64_t s = 0; s < layout.sizes[2]; ++s)
                offsets.push_back(layout.row_offset(b, h, s));
    if (!std::is_sorted(offsets.begin(), offsets.end()))
        std::sort(offsets.begin(), offsets.end());
    return offsets;
}

} // namespace

GuardedTensor::GuardedTensor(std::shared_ptr<runtime::Runtime> runtime, int device,
                             TensorLayout tensor_layout)
    : layout_(tensor_layout), extent_(tensor_layout.extent_bytes()),
      buffer_(std::move(runtime), device, tensor_layout.extent_bytes() + 2 * guard_bytes) {}

void* GuardedTensor::data() const noexcept {
    return static_cast<std::byte*>(buffer_.data()) + guard_bytes;
}

void GuardedTensor::fill(std::uint8_t byte) {
    buffer_.fill(byte);
}

void GuardedTensor::upload(std::span<const std::byte> host) {
    if (host.size() < extent_)
        throw Error(ErrorCode::invalid_argument, "inputs",
                    "a tensor of " + std::to_string(host.size()) + " bytes; the problem's strides reach " +
                        std::to_string(extent_));
    uploaded_.assign(buffer_.size(), std::byte{0xff});
    for (const std::size_t offset : row_offsets(layout_))
        std::memcpy(uploaded_.data() + guard_bytes + offset, host.data() + offset, layout_.row_bytes());
    buffer_.upload(uploaded_);
}

std::span<const std::byte> GuardedTensor::download() {
    host_.resize(buffer_.size());
    buffer_.download(host_);
    return std::span<const std::byte>(host_).subspan(guard_bytes, extent_);
}

std::optional<std::string> GuardedTensor::check_guards(std::uint8_t byte) const {
    const auto differs = [byte](std::byte value) { return value != std::byte{byte}; };
    std::size_t from = 0; // first byte not yet looked at
    const auto check = [&](std::size_t to) -> std::optional<std::size_t> {
        if (to <= from)
            return std::nullopt;
        const auto begin = host_.begin() + static_cast<std::ptrdiff_t>(from);
        const auto end = host_.begin() + static_cast<std::ptrdiff_t>(to);
        const auto hit = std::find_if(begin, end, differs);
        return hit == end ? std::nullopt
                          : std::optional<std::size_t>(static_cast<std::size_t>(hit - host_.begin()));
    };
    std::optional<std::size_t> bad;
    for (const std::size_t offset : row_offsets(layout_)) {
        if ((bad = check(guard_bytes + offset)))
            break;
        from = guard_bytes + offset + layout_.row_bytes();
    }
    if (!bad)
        bad = check(host_.size());
    if (!bad)
        return std::nullopt;
    if (*bad < guard_bytes)
        return std::to_string(guard_bytes - *bad) + " bytes before the tensor's base were written";
    const std::size_t position = *bad - guard_bytes;
    if (position < extent_)
        return "padding at byte " + std::to_string(position) + " of the tensor was written";
    return "byte " + std::to_string(position - extent_) + " after the tensor's end was written";
}

} // namespace zyfa::tuner
