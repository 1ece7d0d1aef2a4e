// SPDX-License-Identifier: Apache-2.0
// The suite's figures as one picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zyfa::accuracy {

/// One call's errors.
struct Figure {
    std::string inputs;  ///< "sink-4", or a captured layer's name
    std::string variant; ///< "lean", "exact", "plain emulation", "lean without block scales"
    std::string key_order;
    std::int64_t seq = 0, heads = 0;
    double relative_rms = 0, max_abs = 0, snr_db = 0, lse_max_abs = 0;
};

std::string csv_head();
std::string to_csv(const Figure& figure);
/// Throws Error{invalid_argument} for text that is not the suite's CSV.
std::vector<Figure> from_csv(const std::string& text);

/// SVG: one line per inputs, relative RMS error on a logarithmic axis, one colour per variant; hollow marks
/// for keys visited from the diagonal.
std::string chart(const std::vector<Figure>& figures, const std::string& title);

} // namespace zyfa::accuracy
