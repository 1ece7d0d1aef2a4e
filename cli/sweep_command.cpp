// SPDX-License-Identifier: Apache-2.0
// zyfa sweep: tuning many problems on many GPUs.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/sweep_commands.hpp"

namespace zyfa::cli {

sweep::Board open_board(const std::string& folder) {
    sweep::Folder opened = sweep::Folder::open(folder);
    sweep::Plan plan = opened.read_plan();
    sweep::Board board(std::move(opened), std::move(plan));
    board.refresh();
    return board;
}

void add_folder_option(CLI::App& command, std::string& folder) {
    command.add_option("folder", folder, "The folder of `zyfa sweep plan`")->required()->type_name("DIR");
}

std::string duration(double seconds) {
    if (seconds < 0) {
        return "unknown";
    }
    const auto whole = static_cast<long long>(seconds + 0.5);
    if (whole < 60) {
        return fmt::format("{} s", whole);
    }
    return whole < 3600 ? fmt::format("{}:{:02} min", whole / 60, whole % 60)
                        : fmt::format("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60);
}

void add_sweep(CLI::App& app, Invocation& invocation) {
    CLI::App* sweep =
        app.add_subcommand("sweep", "Tune a model's shapes on many GPUs, on Slurm or on this machine");
    sweep->require_subcommand(1);
    add_sweep_plan(*sweep, invocation);
    add_sweep_run(*sweep, invocation);
    add_sweep_status(*sweep, invocation);
    add_sweep_merge(*sweep, invocation);
    sweep->footer(R"(
Example
  zyfa sweep init --config config.json -o sweep.json      what a model needs
  zyfa sweep plan sweep.json --folder /shared/sweep       tasks, in a folder that all nodes share
  srun --ntasks-per-node=8 zyfa sweep run /shared/sweep   one worker per GPU; without srun all GPUs of the machine
  zyfa sweep status /shared/sweep --watch
  zyfa sweep merge /shared/sweep -o model.zyfapack --sign site.key
docs/sweeps.md has the whole way, with a file for sbatch.)");
}

} // namespace zyfa::cli
