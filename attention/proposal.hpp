// SPDX-License-Identifier: Apache-2.0
// What rank 0 sends to the other ranks of a job (include/zyfa/agree.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace zyfa::call {

struct Proposal {
    std::string failure; ///< why there is none; empty: the rest holds
    std::string problem; ///< in words: that all ranks mean the same one
    std::string schedule, binary, kernel, toolchain, evidence_json, reason; ///< binary: digest in hex
    bool unsuited = false; ///< for a problem that the key's winner does not suit
    std::vector<std::byte> code_object;
    bool operator==(const Proposal&) const = default;
};

std::vector<std::byte> encode(const Proposal& proposal);
/// Throws Error{invalid_argument} where the bytes are no proposal of this version.
Proposal decode_proposal(const std::vector<std::byte>& bytes);

} // namespace zyfa::call
