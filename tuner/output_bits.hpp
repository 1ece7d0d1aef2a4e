// SPDX-License-Identifier: Apache-2.0
// Bit-by-bit comparison of whole outputs: between two launches of a candidate, and between candidates whose
// schedules must not change the result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/digest.hpp"
#include "core/schedule.hpp"
#include "templates/template.hpp"
#include "tuner/tensor_layout.hpp"

namespace zyfa::tuner {

/// Schedules of one class must give the same bits: they differ only in parameters that do not change bits
/// (templates::ParameterSpec::changes_bits).
std::string bit_class(const std::vector<templates::ParameterSpec>& space, const Schedule& schedule);

/// 64-bit hashes of every row of O and every head of LSE; keeps an output comparable at a hundredth of its
/// size.
class OutputBits {
  public:
    OutputBits(const TensorLayout& o_layout, std::span<const std::byte> o, const TensorLayout* lse_layout,
               std::span<const std::byte> lse);

    /// Where `other`, an output of the same problem, differs first; nullopt: the same bits.
    std::optional<std::string> difference(const OutputBits& other) const;
    /// To tell outputs apart that were made at different times.
    Digest digest() const;

  private:
    std::int64_t heads_ = 0, rows_ = 0;
    std::vector<std::uint64_t> o_, lse_;
};

/// Where an element of O or LSE still holds the sentinel byte in all its bytes; nullopt: everything was
/// written.
std::optional<std::string> unwritten(const TensorLayout& layout, std::span<const std::byte> data,
                                     std::uint8_t sentinel, const char* name);

} // namespace zyfa::tuner
