// SPDX-License-Identifier: Apache-2.0
// A target as HIP names it, "gfx950:sramecc+:xnack-", in the forms the toolchains take.
#pragma once

#include <string>
#include <string_view>

namespace zyfa::jit {

/// "gfx950"
inline std::string processor(std::string_view target) {
    return std::string(target.substr(0, target.find(':')));
}

/// "+sramecc,-xnack"; empty where the target names no feature.
inline std::string llvm_features(std::string_view target) {
    std::string features;
    for (auto colon = target.find(':'); colon != std::string_view::npos;) {
        const auto next = target.find(':', colon + 1);
        const std::string_view item =
            target.substr(colon + 1, next == std::string_view::npos ? next : next - colon - 1);
        if (!item.empty()) {
            features += features.empty() ? "" : ",";
            features += item.back();
            features += item.substr(0, item.size() - 1);
        }
        colon = next;
    }
    return features;
}

} // namespace zyfa::jit
