// SPDX-License-Identifier: Apache-2.0
// What a launch of any attention kernel wrote, against fp64 attention on the same inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/launch_file.hpp"
#include "core/reference.hpp"

namespace zyfa::cli {

struct AttentionResult {
    ErrorSummary error;                        ///< over every row
    double row_relative_rms = 0;               ///< of the worst row, relative to that row
    std::int64_t batch = 0, head = 0, row = 0; ///< which one that is
    /// Of a plain emulation of the arithmetic on some 128 rows, and of the kernel on the same; 0: not asked
    /// for.
    double emulation_relative_rms = 0, emulated_rows_relative_rms = 0;
    bool passed = true;
    std::string message; ///< the first limit that is broken
};

/// Inputs are what the launch started with; `outputs` is a buffer's bytes after it.
/// Throws Error{invalid_argument} where a tensor does not lie within its buffer.
AttentionResult check_attention(const AttentionSpec& spec, const std::map<std::string, Content>& inputs,
                                const std::map<std::string, std::vector<std::byte>>& outputs);

} // namespace zyfa::cli
