// SPDX-License-Identifier: Apache-2.0
// A sweep as one HTML page that needs nothing else: no script, no font, no image from elsewhere.
#pragma once

#include <string>

#include "sweep/board.hpp"

namespace zyfa::sweep {

/// Progress, versions, nodes and how they differ, winners with every site's times, changed winners, failures,
/// what was left out. Damaged results are listed.
std::string html_report(const Board& board);

} // namespace zyfa::sweep
