// SPDX-License-Identifier: Apache-2.0
#include "jit/diagnostics.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

namespace zyfa::jit {
namespace {

constexpr std::array<std::string_view, 3> severities{"error", "warning", "note"};

/// The number at the end of `text` after its last ':', which is cut off.
std::optional<unsigned> take_number(std::string_view& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    unsigned number = 0;
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    text = text.substr(0, colon);
    return number;
}

std::optional<Diagnostic> parse_line(std::string_view line) {
    for (const std::string_view severity : severities) {
        const std::string marker = ": " + std::string(severity) + ": ";
        const auto at = line.find(marker);
        if (at == std::string_view::npos)
            continue;
        Diagnostic diagnostic;
        diagnostic.severity = severity;
        diagnostic.message = line.substr(at + marker.size());
        std::string_view place = line.substr(0, at);
        const auto last = take_number(place), before_last = last ? take_number(place) : std::nullopt;
        if (before_last) {
            diagnostic.line = *before_last;
            diagnostic.column = *last;
        } else if (last) {
            diagnostic.line = *last;
        }
        return diagnostic;
    }
    return std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return lines;
}

} // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log) {
    std::vector<Diagnostic> diagnostics;
    for (const std::string_view line : split_lines(log))
        if (auto diagnostic = parse_line(line))
            diagnostics.push_back(std::move(*diagnostic));
    return diagnostics;
}

std::string annotate(std::string_view assembly, const std::vector<Diagnostic>& diagnostics) {
    const auto lines = split_lines(assembly);
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics) {
        if (diagnostic.line)
            text += "line " + std::to_string(diagnostic.line) + ": ";
        text += diagnostic.severity + ": " + diagnostic.message + '\n';
        if (diagnostic.line == 0 || diagnostic.line > lines.size())
            continue;
        const std::string_view source = lines[diagnostic.line - 1];
        text += "  | " + std::string(source) + '\n';
        if (diagnostic.column == 0 || diagnostic.column > source.size() + 1)
            continue;
        std::string lead(source.substr(0, diagnostic.column - 1));
        std::replace_if(lead.begin(), lead.end(), [](char c) { return c != '\t'; }, ' ');
        text += "  | " + lead + "^\n";
    }
    return text;
}

std::string failure_message(std::string_view name, std::string_view toolchain, std::string_view assembly,
                            std::string_view log) {
    const auto diagnostics = parse_diagnostics(log);
    const auto errors = std::count_if(diagnostics.begin(), diagnostics.end(),
                                      [](const Diagnostic& d) { return d.severity == "error"; });
    std::string text = std::string(toolchain) + " refused the assembly of " + std::string(name);
    if (errors == 0)
        return text + "; its log:\n" + std::string(log.empty() ? "(empty)" : log);
    text += ": " + std::to_string(errors) + (errors == 1 ? " error\n" : " errors\n");
    constexpr std::size_t most = 8; // a macro's mistake comes once for every use
    const std::vector<Diagnostic> shown(diagnostics.begin(),
                                        diagnostics.begin() +
                                            static_cast<std::ptrdiff_t>(std::min(diagnostics.size(), most)));
    text += annotate(assembly, shown);
    if (diagnostics.size() > most)
        text += "and " + std::to_string(diagnostics.size() - most) + " more\n";
    return text;
}

} // namespace zyfa::jit
