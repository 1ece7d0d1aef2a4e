// SPDX-License-Identifier: Apache-2.0
// What the sanitizer says at the end of a launch: findings, each pair of instructions and rule once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zyfa::sim::sanitizer {

/// error: a documented rule is broken. note: a rule that LLVM follows and shipped code breaks without harm,
/// or something that hardware tolerates (--strict makes notes errors).
enum class Severity : std::uint8_t { error, note };

/// One instruction of a finding.
struct Site {
    std::string location;    ///< "kernel+0x40"
    std::string disassembly; ///< empty: there is no such instruction
    std::uint64_t pc = 0;    ///< simulated address
};

struct Finding {
    Severity severity = Severity::error;
    std::string rule;   ///< "result used before its wait", "MFMA result read too early", ...
    std::string detail; ///< what was seen at the first occurrence
    std::string fix;    ///< the smallest that would do; may be empty
    Site at;            ///< where it showed
    Site other;         ///< what it conflicts with: the producer, the earlier access
    std::string place;  ///< "workgroup (0,0,0), wave 1, lane 3"
    std::uint64_t count = 1;
};

struct Report {
    std::string kernel;
    std::vector<Finding> findings; ///< of one launch: errors first, then by address
    bool truncated = false;        ///< there were more pairs than are kept
    bool races_limited = false;    ///< more global memory was touched than the race check keeps track of
    /// Times that fewer wait states stood between two instructions than a rule asks, and the matrix pipe's
    /// own stalls took as long: no finding.
    std::uint64_t covered_by_stalls = 0;

    std::uint64_t errors(bool strict) const; ///< findings, not occurrences
    std::uint64_t notes() const;
};

/// Adds a launch's report to those of earlier launches, one per kernel, its findings' counts added up.
void add(std::vector<Report>& reports, const Report& launch);
std::uint64_t errors(std::span<const Report> reports, bool strict);
std::uint64_t notes(std::span<const Report> reports);

/// As a terminal shows them, closed by "ERROR SUMMARY: n".
std::string to_text(std::span<const Report> reports, bool strict);
/// {"errors", "notes", "strict", "kernels": [{"kernel", "truncated", "races_limited", "findings":
/// [{"severity", "rule", "detail", "fix", "count", "place", "at": {"location", "pc", "disassembly"} or null,
/// "other": likewise}]}]}
std::string to_json(std::span<const Report> reports, bool strict);

} // namespace zyfa::sim::sanitizer
