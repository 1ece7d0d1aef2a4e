// SPDX-License-Identifier: Apache-2.0
// Plots as SVG text, for pages that load nothing.
#pragma once

#include <string>
#include <vector>

namespace zyfa::cli {

/// Text with the characters that mean something in HTML replaced.
std::string escaped(const std::string& text);

struct PlotPoint {
    double x = 0, y = 0;
    std::size_t series = 0; ///< picks the colour
    std::string label;      ///< shown where the pointer rests
};

struct Plot {
    std::string title, x_name, y_name;
    std::vector<std::string> series; ///< names for the legend; empty: none
    std::vector<PlotPoint> points;
    double shaded_to = 0; ///< from the left edge to this x: "not settled"; 0: nothing

    /// Empty where there is nothing to show.
    std::string svg() const;
};

} // namespace zyfa::cli
