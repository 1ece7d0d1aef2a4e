// SPDX-License-Identifier: Apache-2.0
// Device tensors between guard bands: what a kernel writes outside of its view is seen, and what it reads
// there is NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/runtime.hpp"
#include "tuner/tensor_layout.hpp"

namespace zyfa::tuner {

/// A device buffer that holds guard band, tensor, guard band. The bands are as wide as the widest tile that a
/// kernel could overrun by (256 rows of 128 BF16 elements).
class GuardedTensor {
  public:
    static constexpr std::size_t guard_bytes = 64 * 1024;

    GuardedTensor(std::shared_ptr<runtime::Runtime> runtime, int device, TensorLayout layout);

    void* data() const noexcept;
    const TensorLayout& layout() const noexcept { return layout_; }

    /// Fills bands and tensor with one byte; 0xff makes every BF16, e4m3 and FP32 value a NaN.
    void fill(std::uint8_t byte);
    /// Fills everything with 0xff and writes the view's elements from `host` (indexed like the tensor). Bytes
    /// of `host` between rows and heads are not taken over: a kernel that uses them meets NaN.
    void upload(std::span<const std::byte> host);
    /// The tensor's bytes, base to extent; the whole buffer is fetched, for check_guards.
    std::span<const std::byte> download();
    /// After download(): where a byte outside of the view differs from `byte`, in words; nullopt if intact.
    std::optional<std::string> check_guards(std::uint8_t byte) const;
    /// After upload() and download(): whether every byte is still what was uploaded.
    bool unchanged() const { return host_ == uploaded_; }

  private:
    TensorLayout layout_;
    std::size_t extent_ = 0;
    runtime::DeviceBuffer buffer_;
    std::vector<std::byte> host_, uploaded_;
};

} // namespace zyfa::tuner
