// SPDX-License-Identifier: Apache-2.0
// What commands print of any problem.
#pragma once

#include <nlohmann/json.hpp>

#include "zyfa/problem.hpp"

namespace zyfa::cli {

/// dtype, sizes and mask.
inline nlohmann::ordered_json shape_json(const Problem& problem) {
    return {{"dtype", to_string(problem.dtype)}, {"batch", problem.batch}, {"heads_q", problem.heads_q},
            {"heads_kv", problem.heads_kv},      {"seq_q", problem.seq_q}, {"seq_kv", problem.seq_kv},
            {"dim_qk", problem.dim_qk},          {"dim_v", problem.dim_v}, {"mask", to_string(problem.mask)}};
}

} // namespace zyfa::cli
