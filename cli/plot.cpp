// SPDX-License-Identifier: Apache-2.0
// Axes, ticks and points.
#include "cli/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

namespace zyfa::cli {

namespace {

constexpr double width = 560, height = 300, left = 70, right = 15, top = 30, bottom = 45;
constexpr std::array colours{"#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a"};

struct Axis {
    double low = 0, high = 1;
    explicit Axis(double from, double to) : low(from), high(to) {
        const double margin = high > low ? 0.05 * (high - low) : std::max(0.05 * std::abs(low), 1e-12);
        low -= margin;
        high += margin;
    }
    double share(double value) const { return (value - low) / (high - low); }
    /// Four to nine round numbers.
    std::vector<double> ticks() const {
        double step = std::pow(10, std::floor(std::log10((high - low) / 4)));
        for (const double factor : {2.0, 2.5, 2.0})
            if ((high - low) / step > 8)
                step *= factor;
        std::vector<double> result;
        for (double at = std::ceil(low / step) * step; at <= high; at += step)
            result.push_back(std::abs(at) < 1e-9 * step ? 0 : at);
        return result;
    }
};

} // namespace

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else if (c == '"')
            result += "&quot;";
        else
            result += c;
    }
    return result;
}

std::string Plot::svg() const {
    if (points.empty())
        return {};
    const auto by_x = [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; };
    const auto by_y = [](const PlotPoint& a, const PlotPoint& b) { return a.y < b.y; };
    const auto [x_low, x_high] = std::minmax_element(points.begin(), points.end(), by_x);
    const auto [y_low, y_high] = std::minmax_element(points.begin(), points.end(), by_y);
    const Axis x_axis(x_low->x, x_high->x), y_axis(y_low->y, y_high->y);
    const auto x_at = [&](double x) { return left + x_axis.share(x) * (width - left - right); };
    const auto y_at = [&](double y) { return height - bottom - y_axis.share(y) * (height - top - bottom); };
    std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width,
                                  height, escaped(title));
    out += fmt::format("<text class=\"title\" x=\"{}\" y=\"18\">{}</text>\n", left, escaped(title));
    if (shaded_to > x_axis.low)
        out += fmt::format(
            "<rect class=\"unsettled\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">not settled</text>\n",
            left, top, x_at(std::min(shaded_to, x_axis.high)) - left, height - top - bottom, left + 4,
            top + 12);
    for (const double tick : x_axis.ticks())
        out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text "
                           "class=\"tick\" text-anchor=\"middle\" x=\"{0:.1f}\" y=\"{3}\">{4:.4g}</text>\n",
                           x_at(tick), top, height - bottom, height - bottom + 14, tick);
    for (const double tick : y_axis.ticks())
        out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text "
                           "class=\"tick\" text-anchor=\"end\" x=\"{3}\" y=\"{4:.1f}\">{5:.4g}</text>\n",
                           left, width - right, y_at(tick), left - 5, y_at(tick) + 4, tick);
    for (const PlotPoint& point : points)
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}</title></circle>\n",
            x_at(point.x), y_at(point.y), points.size() > 150 ? 1.6 : 3.5,
            colours[point.series % colours.size()], escaped(point.label));
    out += fmt::format("<text class=\"name\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                       0.5 * (left + width - right), height - 8, escaped(x_name));
    out += fmt::format("<text class=\"name\" text-anchor=\"middle\" transform=\"translate(14 {:.1f}) "
                       "rotate(-90)\">{}</text>\n",
                       0.5 * (top + height - bottom), escaped(y_name));
    for (std::size_t i = 0; i < series.size(); ++i)
        out +=
            fmt::format("<circle cx=\"{0}\" cy=\"{1}\" r=\"4\" fill=\"{2}\"/><text class=\"tick\" x=\"{3}\" "
                        "y=\"{4}\">{5}</text>\n",
                        width - 130, top + 8 + 15 * static_cast<double>(i), colours[i % colours.size()],
                        width - 120, top + 12 + 15 * static_cast<double>(i), escaped(series[i]));
    return out + "</svg>\n";
}

} // namespace zyfa::cli
