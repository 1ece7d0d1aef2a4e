// SPDX-License-Identifier: Apache-2.0
#include "sim/sanitizer/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace zyfa::sim::sanitizer {

namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string hex(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(value));
    return buffer;
}

std::string json(const Site& site) {
    if (site.disassembly.empty())
        return "null";
    return "{\"location\": " + quoted(site.location) + ", \"pc\": " + quoted(hex(site.pc)) +
           ", \"disassembly\": " + quoted(site.disassembly) + "}";
}

const char* severity(const Finding& finding, bool strict) {
    return finding.severity == Severity::error || strict ? "error" : "note";
}

/// As its author wrote it; other names as they are.
std::string readable(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
    return name.starts_with("_Z") && text ? text.get() : name;
}

} // namespace

std::uint64_t Report::errors(bool strict) const {
    return static_cast<std::uint64_t>(
        std::count_if(findings.begin(), findings.end(),
                      [strict](const auto& f) { return strict || f.severity == Severity::error; }));
}

std::uint64_t Report::notes() const {
    return findings.size() - errors(false);
}

void add(std::vector<Report>& reports, const Report& launch) {
    const auto known = std::find_if(reports.begin(), reports.end(),
                                    [&](const Report& r) { return r.kernel == launch.kernel; });
    if (known == reports.end()) {
        reports.push_back(launch);
        return;
    }
    known->truncated |= launch.truncated;
    known->races_limited |= launch.races_limited;
    known->covered_by_stalls += launch.covered_by_stalls;
    for (const Finding& f : launch.findings) {
        const auto same = std::find_if(known->findings.begin(), known->findings.end(), [&](const Finding& g) {
            return g.rule == f.rule && g.at.pc == f.at.pc && g.other.pc == f.other.pc;
        });
        if (same != known->findings.end())
            same->count += f.count;
        else
            known->findings.push_back(f);
    }
}

std::uint64_t errors(std::span<const Report> reports, bool strict) {
    std::uint64_t sum = 0;
    for (const Report& report : reports)
        sum += report.errors(strict);
    return sum;
}

std::uint64_t notes(std::span<const Report> reports) {
    std::uint64_t sum = 0;
    for (const Report& report : reports)
        sum += report.notes();
    return sum;
}

std::string to_text(std::span<const Report> reports, bool strict) {
    std::string text;
    for (const Report& report : reports) {
        const std::string kernel = readable(report.kernel);
        for (const Finding& f : report.findings) {
            text += std::string(severity(f, strict)) + ": " + f.rule + " in kernel " + kernel + "\n";
            if (!f.at.disassembly.empty())
                text += "  at " + f.at.location + " (pc " + hex(f.at.pc) + "): " + f.at.disassembly + "\n";
            if (!f.other.disassembly.empty())
                text += "  after " + f.other.location + " (pc " + hex(f.other.pc) +
                        "): " + f.other.disassembly + "\n";
            if (!f.place.empty())
                text += "  " + f.place + "\n";
            text += "  " + f.detail + "\n";
            if (!f.fix.empty())
                text += "  fix: " + f.fix + "\n";
            if (f.count > 1)
                text += "  seen " + std::to_string(f.count) + " times\n";
        }
        if (report.truncated)
            text += "more findings were dropped: " + std::to_string(report.findings.size()) +
                    " are shown of kernel " + kernel + "\n";
        if (report.races_limited)
            text +=
                "the check for races in global memory covers only what kernel " + kernel + " touched first\n";
    }
    const std::uint64_t wrong = errors(reports, strict), noted = strict ? 0 : notes(reports);
    text += "ERROR SUMMARY: " + std::to_string(wrong) + (wrong == 1 ? " error" : " errors");
    if (noted != 0)
        text += ", " + std::to_string(noted) + (noted == 1 ? " note" : " notes");
    return text + "\n";
}

std::string to_json(std::span<const Report> reports, bool strict) {
    std::string text = "{\"errors\": " + std::to_string(errors(reports, strict)) +
                       ", \"notes\": " + std::to_string(strict ? 0 : notes(reports)) +
                       ", \"strict\": " + (strict ? "true" : "false") + ", \"kernels\": [";
    for (const Report& report : reports) {
        if (&report != reports.data())
            text += ", ";
        text += "{\"kernel\": " + quoted(report.kernel) +
                ", \"truncated\": " + (report.truncated ? "true" : "false") +
                ", \"races_limited\": " + (report.races_limited ? "true" : "false") + ", \"findings\": [";
        for (const Finding& f : report.findings) {
            if (&f != report.findings.data())
                text += ", ";
            text += std::string("{\"severity\": \"") + severity(f, strict) +
                    "\", \"rule\": " + quoted(f.rule) + ", \"detail\": " + quoted(f.detail) +
                    ", \"fix\": " + quoted(f.fix) + ", \"count\": " + std::to_string(f.count) +
                    ", \"place\": " + quoted(f.place) + ", \"at\": " + json(f.at) +
                    ", \"other\": " + json(f.other) + "}";
        }
        text += "]}";
    }
    return text + "]}";
}

} // namespace zyfa::sim::sanitizer
