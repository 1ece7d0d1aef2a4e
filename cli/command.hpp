// SPDX-License-Identifier: Apache-2.0
// How a subcommand is put together: it registers its flags and leaves an action behind; main() runs the one
// that was named and turns exceptions into exit codes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "zyfa/context.hpp"

namespace CLI {
class App;
}

namespace zyfa::runtime {
class Runtime;
}

namespace zyfa::cli {

/// Flags that every subcommand has.
struct CommonOptions {
    bool json = false;
    std::string device; ///< "auto", "sim" or an ordinal; from ZYFA_DEVICE where not given
};

/// What parsing leaves behind.
struct Invocation {
    CommonOptions common;
    std::function<ExitCode()> action;
};

/// Adds --json and --device.
void add_common_flags(CLI::App& command, CommonOptions& common);
/// Adds --json alone, for commands that need no device.
void add_json_flag(CLI::App& command, CommonOptions& common);

void add_doctor(CLI::App& app, Invocation& invocation);
void add_attention(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_compare(CLI::App& app, Invocation& invocation);
void add_worker(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_asm(CLI::App& app, Invocation& invocation);
void add_cache(CLI::App& app, Invocation& invocation);
void add_check(CLI::App& app, Invocation& invocation);
void add_simulate(CLI::App& app, Invocation& invocation);
void add_trace(CLI::App& app, Invocation& invocation);
void add_microbench(CLI::App& app, Invocation& invocation);
void add_sweep(CLI::App& app, Invocation& invocation);

/// The context's options from the environment and the flags. `--device auto` becomes "sim" where there is no
/// usable GPU, with a note on stderr that says so: only the tool does that, the library never.
ContextOptions context_options(const CommonOptions& common);

/// The device ordinal that the flags ask for: N for "--device N", else 0.
int device_ordinal(const CommonOptions& common);

/// "simulator (gfx950:sramecc+:xnack-, 256 CUs)" or "AMD Instinct MI355X (gfx950..., device 0)".
std::string describe(const DeviceSummary& device);

} // namespace zyfa::cli
