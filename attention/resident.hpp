// SPDX-License-Identifier: Apache-2.0
// A kernel that is loaded and ready to be launched for one exact problem on one device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "attention/selection.hpp"
#include "templates/template.hpp"
#include "zyfa/attention.hpp"

namespace zyfa::call {

/// Largest kernel-argument block; the hot path copies it to the stack.
inline constexpr std::size_t max_kernarg_bytes = 512;

/// Immutable once it is in the table. Everything that a call reads lies here, without further indirection.
struct Resident {
    void* function = nullptr; ///< hipFunction_t
    std::array<std::uint32_t, 3> grid{}, block{};
    std::uint32_t dynamic_lds = 0;
    std::uint64_t workspace_bytes = 0, counter_bytes = 0; ///< of a split over keys (LaunchPlan)
    std::uint32_t kernarg_bytes = 0, patch_count = 0;
    float softmax_scale = 0; ///< where the call leaves it out
    bool fp8 = false;
    int device = 0;
    std::array<std::uint64_t, 5> extents{}; ///< bytes of q, k, v, o, lse
    std::array<templates::KernargPatch, 16> patches{};
    alignas(16) std::array<std::byte, max_kernarg_bytes> kernarg{};

    std::shared_ptr<const Selection> selection; ///< keeps the module loaded; says where the kernel came from
};

} // namespace zyfa::call
