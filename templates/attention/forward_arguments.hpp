// SPDX-License-Identifier: Apache-2.0
// The kernel-argument block as a kernel file declares it.
#pragma once

#include <cstddef>
#include <utility>

#include "templates/asm/kernel_file.hpp"
#include "templates/attention/kernarg.hpp"

namespace zyfa::templates::attention {

/// `parts`: whether the kernel stores and merges parts of a split over keys.
inline void declare_arguments(isa::KernelFile& file, bool parts) {
    for (const auto& [field, offset] :
         {std::pair{"q", offsetof(Kernarg, q)}, {"k", offsetof(Kernarg, k)}, {"v", offsetof(Kernarg, v)}})
        file.arguments.push_back({field, static_cast<std::uint32_t>(offset), 8, true});
    file.arguments.push_back({"shape", 24, 120, false});
    file.arguments.push_back({"lse", offsetof(Kernarg, lse), 8, true});
    file.arguments.push_back({"output_shape", 152, 40, false});
    file.arguments.push_back({"o", offsetof(Kernarg, o), 8, true});
    file.arguments.push_back({"reserved", 200, 24, false});
    file.arguments.push_back({"workspace", offsetof(Kernarg, workspace), 8, parts});
    file.arguments.push_back({"workspace_shape", 232, 16, false});
    file.arguments.push_back({"counters", offsetof(Kernarg, counters), 8, parts});
}

} // namespace zyfa::templates::attention
