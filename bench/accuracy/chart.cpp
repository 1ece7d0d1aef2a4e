// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <fmt/core.h>

#include "zyfa/error.hpp"

namespace zyfa::accuracy {

namespace {

constexpr double left = 170, right = 20, top = 64, line = 26, bottom = 44, width = 760;

struct Variant {
    const char *name, *colour;
};
constexpr std::array variants{Variant{"exact", "#1f6feb"}, Variant{"lean", "#d1242f"},
                              Variant{"plain emulation", "#57606a"},
                              Variant{"lean without block scales", "#9a6700"}};

} // namespace

std::string csv_head() {
    return "inputs,variant,key_order,seq,heads,relative_rms,max_abs,snr_db,lse_max_abs\n";
}

std::string to_csv(const Figure& f) {
    return fmt::format("{},{},{},{},{},{:.6f},{:.6f},{:.2f},{:.5f}\n", f.inputs, f.variant, f.key_order,
                       f.seq, f.heads, f.relative_rms, f.max_abs, f.snr_db, f.lse_max_abs);
}

std::vector<Figure> from_csv(const std::string& text) {
    std::istringstream lines(text);
    std::string row;
    std::vector<Figure> out;
    if (!std::getline(lines, row) || row + "\n" != csv_head())
        throw Error(ErrorCode::invalid_argument, "csv", "the first line is not \"" + csv_head() + "\"");
    while (std::getline(lines, row)) {
        std::istringstream cells(row);
        std::array<std::string, 9> cell;
        for (std::string& c : cell)
            if (!std::getline(cells, c, ','))
                throw Error(ErrorCode::invalid_argument, "csv", "too few columns: " + row);
        const auto number = [&](std::size_t i) { return std::strtod(cell[i].c_str(), nullptr); };
        out.push_back({cell[0], cell[1], cell[2], std::atoll(cell[3].c_str()), std::atoll(cell[4].c_str()),
                       number(5), number(6), number(7), number(8)});
    }
    return out;
}

std::string chart(const std::vector<Figure>& figures, const std::string& title) {
    std::vector<std::string> inputs;
    double low = 1, high = 1e-9;
    for (const Figure& f : figures) {
        if (std::ranges::find(inputs, f.inputs) == inputs.end())
            inputs.push_back(f.inputs);
        low = std::min(low, f.relative_rms);
        high = std::max(high, f.relative_rms);
    }
    low = std::log10(low) - 0.05, high = std::log10(high) + 0.05;
    const double end = top + line * static_cast<double>(inputs.size()), height = end + bottom;
    const auto x = [&](double value) {
        return left + (std::log10(value) - low) / (high - low) * (width - left - right);
    };
    std::string out =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
                    "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
                    "<text x=\"12\" y=\"20\" font-size=\"14\">{2}</text>\n",
                    width, height, title);
    double at = 12;
    const auto mark = [&](double cx, double cy, const char* colour, bool hollow) {
        return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" stroke=\"{}\" "
                           "stroke-width=\"1.5\"/>",
                           cx, cy, hollow ? "none" : colour, colour);
    };
    for (const Variant& variant : variants) {
        out += mark(at + 5, 41, variant.colour, false) +
               fmt::format("<text x=\"{}\" y=\"45\">{}</text>\n", at + 14, variant.name);
        at += 40 + 7.0 * static_cast<double>(std::string(variant.name).size());
    }
    out += mark(at + 5, 41, "#24292f", true) +
           fmt::format("<text x=\"{}\" y=\"45\">hollow: keys from the diagonal</text>\n", at + 14);
    for (const double decade : {1e-3, 1e-2, 1e-1, 1.0})
        for (const double factor : {1.0, 2.0, 5.0})
            if (const double value = decade * factor; std::log10(value) > low && std::log10(value) < high)
                out += fmt::format(
                    "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#d0d7de\"/>"
                    "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
                    x(value), top - 4, end, end + 16, value);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double y = top + line * (static_cast<double>(i) + 0.5);
        out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#eaeef2\"/>"
                           "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                           left, width - right, y, y, left - 10, y + 4, inputs[i]);
        for (const Figure& f : figures)
            for (const Variant& variant : variants)
                if (f.inputs == inputs[i] && f.variant == variant.name)
                    out += mark(x(f.relative_rms), y, variant.colour, f.key_order == "from_diagonal") + "\n";
    }
    return out +
           fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">relative RMS error of O against "
                       "fp64 on the same codes</text>\n</svg>\n",
                       0.5 * (left + width - right), end + 36);
}

} // namespace zyfa::accuracy
