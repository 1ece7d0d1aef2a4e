// SPDX-License-Identifier: Apache-2.0
// zyfa tuning-worker: the process in which a tuning gates its candidates. Not for people: it speaks over file
// descriptors that only a tuning hands it.
#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "templates/template.hpp"
#include "tuner/gate_worker.hpp"

namespace zyfa::cli {

void add_worker(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("tuning-worker", "The process in which a tuning gates candidates");
    command->group(""); // not in the help
    command->callback([&invocation] {
        invocation.action = [] {
            return tuner::serve_gate(&templates::template_named) == 0 ? ExitCode::ok : ExitCode::internal;
        };
    });
}

} // namespace zyfa::cli
