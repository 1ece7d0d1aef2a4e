// SPDX-License-Identifier: Apache-2.0
// The subcommands of zyfa sweep; each file registers its own.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "sweep/board.hpp"

namespace zyfa::cli {

void add_sweep_plan(CLI::App& sweep, Invocation& invocation);   ///< init, plan
void add_sweep_run(CLI::App& sweep, Invocation& invocation);    ///< run, resume
void add_sweep_status(CLI::App& sweep, Invocation& invocation); ///< status
void add_sweep_merge(CLI::App& sweep, Invocation& invocation);  ///< merge, report

/// The board of a folder, read.
sweep::Board open_board(const std::string& folder);

/// Adds the positional argument that every command on a planned sweep takes.
void add_folder_option(CLI::App& command, std::string& folder);

/// "1:05:09", "3:20", "12 s"; "unknown" below 0.
std::string duration(double seconds);

} // namespace zyfa::cli
