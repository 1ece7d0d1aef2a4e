// SPDX-License-Identifier: Apache-2.0
// zyfa sweep status: done, running, failed with reasons, time left; once, or as a live view.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/sweep_commands.hpp"
#include "sweep/progress.hpp"

namespace zyfa::cli {

namespace {

struct StatusFlags {
    std::string folder;
    bool watch = false;
    double every_s = 2;
};

std::string state_of(const sweep::WorkerState& worker) {
    if (worker.ended) {
        return worker.end_reason;
    }
    return worker.alive ? "alive" : "lost";
}

nlohmann::ordered_json in_json(const sweep::Board& board, const sweep::Progress& progress) {
    nlohmann::ordered_json json{{"name", board.plan().spec.name},
                                {"plan", board.plan().id},
                                {"tasks", board.plan().tasks.size()},
                                {"complete", progress.complete()},
                                {"mixed_versions", progress.mixed_versions},
                                {"lanes", nlohmann::ordered_json::array()},
                                {"workers", nlohmann::ordered_json::array()},
                                {"failures", nlohmann::ordered_json::array()}};
    for (const sweep::LaneProgress& lane : progress.lanes) {
        json["lanes"].push_back({{"lane", lane.lane.id()},
                                 {"device", lane.lane.device.target},
                                 {"compute_units", lane.lane.device.compute_units},
                                 {"simulated", lane.lane.device.simulated},
                                 {"versions_id", lane.lane.versions_id()},
                                 {"hip", lane.lane.versions.hip},
                                 {"driver", lane.lane.versions.driver},
                                 {"firmware", lane.lane.versions.firmware},
                                 {"sites", lane.sites},
                                 {"complete", lane.complete},
                                 {"partial", lane.partial},
                                 {"running", lane.running},
                                 {"waiting", lane.waiting},
                                 {"failed", lane.failed},
                                 {"changed", lane.changed},
                                 {"busy_s", lane.busy_s},
                                 {"left_s", lane.left_s}});
    }
    for (const sweep::WorkerProgress& work : progress.workers) {
        const sweep::WorkerState& worker = board.workers()[work.worker];
        json["workers"].push_back({{"id", worker.info.id},
                                   {"site", worker.info.site},
                                   {"node", worker.info.node},
                                   {"gpu", worker.info.gpu},
                                   {"job", worker.info.job},
                                   {"restarts", worker.info.restarts},
                                   {"lane", worker.info.lane.id()},
                                   {"state", state_of(worker)},
                                   {"activity", worker.alive ? worker.activity : ""},
                                   {"done", work.done},
                                   {"failed", work.failed},
                                   {"lost", work.lost},
                                   {"busy_s", work.busy_s}});
    }
    for (const sweep::Failure& failure : progress.failures) {
        json["failures"].push_back({{"lane", failure.lane},
                                    {"problem", failure.problem},
                                    {"site", failure.site},
                                    {"stage", to_string(failure.stage)},
                                    {"reason", failure.reason},
                                    {"given_up", failure.given_up}});
    }
    return json;
}

void print_words(const sweep::Board& board, const sweep::Progress& progress) {
    fmt::print("{}: {}, {} per lane\n", board.plan().spec.name, counted(progress.lanes.size(), "lane"),
               counted(board.plan().tasks.size(), "task"));
    if (progress.mixed_versions) {
        fmt::print(
            "MIXED VERSIONS: measurements of unlike versions are not compared; each lane runs the sweep "
            "for itself\n");
    }
    fmt::print("\n");
    Table lanes({{"lane"},
                 {"done", true},
                 {"one site", true},
                 {"running", true},
                 {"waiting", true},
                 {"failed", true},
                 {"changed", true},
                 {"left", true},
                 {"sites"},
                 {"device and versions"}});
    for (const sweep::LaneProgress& lane : progress.lanes) {
        std::string sites;
        for (const std::string& site : lane.sites) {
            sites += (sites.empty() ? "" : ",") + site;
        }
        lanes.add({lane.lane.id(), std::to_string(lane.complete), std::to_string(lane.partial),
                   std::to_string(lane.running), std::to_string(lane.waiting), std::to_string(lane.failed),
                   std::to_string(lane.changed), progress.any_alive ? duration(lane.left_s) : "-", sites,
                   lane.lane.text()});
    }
    lanes.print();
    Table workers({{"worker"}, {"state"}, {"done", true}, {"failed", true}, {"busy", true}, {"at"}});
    for (const sweep::WorkerProgress& work : progress.workers) {
        const sweep::WorkerState& worker = board.workers()[work.worker];
        workers.add({worker.info.id, state_of(worker), std::to_string(work.done), std::to_string(work.failed),
                     duration(work.busy_s), worker.alive ? worker.activity : ""});
    }
    if (!workers.empty()) {
        fmt::print("\n");
        workers.print();
    }
    Table failures({{"failed"}, {"stage"}, {"site"}, {"reason"}});
    for (const sweep::Failure& failure : progress.failures) {
        failures.add({failure.problem, to_string(failure.stage), failure.site, failure.reason});
    }
    if (!failures.empty()) {
        fmt::print("\n");
        failures.print();
    }
}

ExitCode status(const CommonOptions& common, const StatusFlags& flags) {
    sweep::Board board = open_board(flags.folder);
    for (;;) {
        const sweep::Progress progress = sweep::progress_of(board);
        if (common.json) {
            fmt::print("{}\n", in_json(board, progress).dump(flags.watch ? -1 : 2));
        } else {
            if (flags.watch && ::isatty(STDOUT_FILENO) != 0) {
                fmt::print("\x1b[H\x1b[2J");
            }
            print_words(board, progress);
        }
        std::fflush(stdout);
        if (!flags.watch || progress.complete()) {
            return progress.failures.empty() ? ExitCode::ok : ExitCode::check_failed;
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(flags.every_s));
        board.refresh();
    }
}

} // namespace

void add_sweep_status(CLI::App& sweep, Invocation& invocation) {
    CLI::App* command = sweep.add_subcommand(
        "status", "Done, running, failed with reasons, time left; exit code 1 if something failed");
    const auto flags = std::make_shared<StatusFlags>();
    add_folder_option(*command, flags->folder);
    command->add_flag("--watch", flags->watch, "Show it again and again, until the sweep is complete");
    command->add_option("--every", flags->every_s, "Seconds between two views")
        ->check(CLI::Range(0.1, 3600.0).description(""))
        ->capture_default_str()
        ->type_name("S");
    add_json_flag(*command, invocation.common);
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return status(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
