// SPDX-License-Identifier: Apache-2.0
// q, k and v on the host: from a safetensors file, cut to what was asked, or drawn.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/problem_flags.hpp"
#include "core/reference.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::cli {

struct Inputs {
    Problem problem;
    std::vector<std::byte> q, k, v; ///< in the problem's dtype and strides, base to last element
    std::string profile;            ///< for evidence: "captured:gqa_excerpt", "gaussian"
    std::string source;             ///< for people: file and cut, or distribution and seed

    HostTensors view() const { return {q, k, v}; }
};

/// Throws Error{io_error} or Error{invalid_argument}; the latter names the flag or the tensor.
Inputs load_inputs(const ProblemFlags& flags);

} // namespace zyfa::cli
