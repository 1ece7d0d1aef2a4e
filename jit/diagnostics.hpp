// SPDX-License-Identifier: Apache-2.0
// Diagnostics of an assembler, read from its log and shown with the line of assembly that they are about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::jit {

struct Diagnostic {
    unsigned line = 0, column = 0; ///< 1-based; line 0: about no line (the linker's, for one)
    std::string severity;          ///< "error", "warning", "note"
    std::string message;
};

/// Reads "file:line:column: severity: message" and "tool: severity: message"; what else the log holds (source
/// lines, carets, commands) is left out.
std::vector<Diagnostic> parse_diagnostics(std::string_view log);

/// Each diagnostic followed by its line of `assembly`, comment and all, and a caret under the column.
std::string annotate(std::string_view assembly, const std::vector<Diagnostic>& diagnostics);

/// What Error{assemble_failed} says: kernel, toolchain, count, then annotate(); the bare log where no
/// diagnostic could be read from it.
std::string failure_message(std::string_view name, std::string_view toolchain, std::string_view assembly,
                            std::string_view log);

} // namespace zyfa::jit
