// SPDX-License-Identifier: Apache-2.0
// What a launch left behind, compared with what was asked, for people and for scripts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/attention_check.hpp"
#include "cli/launch_file.hpp"

namespace zyfa::cli {

struct Comparison {
    bool passed = true;
    double max_abs = 0;
    std::uint64_t differing = 0, elements = 0;
    std::optional<std::uint64_t> first; ///< index of the first element at fault
    double found = 0, wanted = 0;
};

struct OutputResult {
    const OutputSpec* spec = nullptr;
    std::uint64_t size = 0;
    std::optional<Comparison> comparison;
    std::vector<double> values; ///< those to print
};

/// Throws Error{invalid_argument} where `wanted` is the longer one.
Comparison compare(const OutputSpec& spec, std::span<const std::byte> found,
                   std::span<const std::byte> wanted);

nlohmann::ordered_json in_json(const OutputResult& output);
std::string in_words(const OutputResult& output);
nlohmann::ordered_json in_json(const AttentionSpec& spec, const AttentionResult& result);
std::string in_words(const AttentionSpec& spec, const AttentionResult& result);

} // namespace zyfa::cli
