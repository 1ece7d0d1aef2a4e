// SPDX-License-Identifier: Apache-2.0
// zyfa sweep run|resume: as one worker within a step of Slurm; otherwise one worker process per GPU of this
// machine.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/sweep_commands.hpp"
#include "cli/sweep_layers.hpp"
#include "runtime/runtime.hpp"
#include "sweep/place.hpp"
#include "sweep/progress.hpp"
#include "sweep/worker.hpp"

extern char** environ; // NOLINT: posix_spawn(3)

namespace zyfa::cli {

namespace {

struct RunFlags {
    std::string folder;
    int worker = -1; ///< number of this process among the workers of the machine; negative: not said
    bool retry = false;
};

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// The first SIGTERM or SIGINT gives the task in hand back and ends; a second one ends at once.
void ask_to_stop(int signal) {
    if (stop_asked.exchange(true)) {
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

void say(const std::string& line) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    fmt::print(stderr, "{}\n", line);
}

bool is_number(const std::string& device) {
    return !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
}

/// A worker never falls back to the simulator by itself: on a node without a usable GPU that would mix
/// simulated figures into a sweep.
ContextOptions worker_options(const CommonOptions& common) {
    ContextOptions options = ContextOptions::from_environment();
    options.device = common.device.empty() || is_number(common.device) ? "auto" : common.device;
    return options;
}

ExitCode run_one(const CommonOptions& common, const RunFlags& flags, const sweep::Place& place) {
    const ContextOptions context = worker_options(common);
    sweep::WorkerOptions options;
    options.folder = flags.folder;
    options.device = context.device;
    options.hip_library = context.hip_library;
    options.comgr_library = context.comgr_library;
    options.place = place;
    options.layer = load_layer;
    options.retry = flags.retry;
    options.stopped = [] { return stop_asked.load(); };
    options.say = say;
    const sweep::WorkerReport report = sweep::run_worker(options);
    if (common.json) {
        fmt::print("{}\n",
                   nlohmann::ordered_json{{"worker", report.id},
                                          {"done", report.done},
                                          {"failed", report.failed},
                                          {"stopped", report.end == sweep::WorkerReport::End::stopped}}
                       .dump());
    }
    if (report.end == sweep::WorkerReport::End::device_lost) {
        return ExitCode::device_error;
    }
    return report.failed > 0 ? ExitCode::check_failed : ExitCode::ok;
}

/// Starts this program again as worker `number`.
pid_t start_worker(const CommonOptions& common, const RunFlags& flags, int number) {
    std::vector<std::string> words{"zyfa",       "sweep",    flags.retry ? "resume" : "run",
                                   flags.folder, "--worker", std::to_string(number)};
    if (!common.device.empty()) {
        words.insert(words.end(), {"--device", common.device});
    }
    if (common.json) {
        words.emplace_back("--json");
    }
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    pid_t process = -1;
    const int failed = ::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
    if (failed != 0) {
        throw Error(ErrorCode::io_error, "/proc/self/exe",
                    fmt::format("a worker cannot be started: {}", std::strerror(failed)));
    }
    return process;
}

ExitCode wait_for(std::vector<pid_t> processes) {
    ExitCode worst = ExitCode::ok;
    bool told = false;
    while (!processes.empty()) {
        if (stop_asked && !told) { // a terminal tells the whole group; a batch system only this process
            for (const pid_t process : processes) {
                ::kill(process, SIGTERM);
            }
            told = true;
        }
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, WNOHANG);
        if (ended <= 0) {
            ::usleep(50'000);
            continue;
        }
        std::erase(processes, ended);
        const ExitCode code =
            WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::internal;
        if (WIFSIGNALED(status)) {
            warn(fmt::format("a worker was ended by signal {}", WTERMSIG(status)));
        }
        worst = std::max(worst, code);
    }
    return worst;
}

ExitCode run_machine(const CommonOptions& common, const RunFlags& flags) {
    const ContextOptions context = worker_options(common);
    const auto devices = runtime::Runtime::open(context.device, context.hip_library)->devices().size();
    std::vector<pid_t> processes;
    for (std::size_t i = 0; i < devices; ++i) {
        processes.push_back(start_worker(common, flags, static_cast<int>(i)));
    }
    const ExitCode code = wait_for(std::move(processes));
    const sweep::Progress progress = sweep::progress_of(open_board(flags.folder));
    for (const sweep::LaneProgress& lane : progress.lanes) {
        say(fmt::format("{} of {} tasks are complete, {} more have a winner from fewer sites than asked, {} "
                        "failed ({})",
                        lane.complete, lane.tasks, lane.partial, lane.failed, lane.lane.versions_text()));
    }
    return code;
}

ExitCode run(const CommonOptions& common, const RunFlags& flags) {
    std::signal(SIGTERM, ask_to_stop);
    std::signal(SIGINT, ask_to_stop);
    sweep::Folder::open(flags.folder); // before anything is started
    sweep::Place place = sweep::place_from_environment([](const char* name) { return std::getenv(name); });
    if (place.slurm) {
        return run_one(common, flags, place);
    }
    if (flags.worker >= 0 || is_number(common.device)) {
        place.local = flags.worker >= 0 ? flags.worker : std::stoi(common.device);
        return run_one(common, flags, place);
    }
    return run_machine(common, flags);
}

void add(CLI::App& sweep, Invocation& invocation, const char* name, const char* help, bool retry) {
    CLI::App* command = sweep.add_subcommand(name, help);
    const auto flags = std::make_shared<RunFlags>();
    flags->retry = retry;
    add_folder_option(*command, flags->folder);
    command
        ->add_option("--worker", flags->worker,
                     "Only this worker of the machine, on the GPU of this number; Slurm says it by itself")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N");
    add_common_flags(*command, invocation.common);
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return run(invocation.common, *flags); };
    });
}

} // namespace

void add_sweep_run(CLI::App& sweep, Invocation& invocation) {
    add(sweep, invocation, "run",
        "Work on a sweep: as one worker in a step of Slurm, else with every GPU of this machine", false);
    add(sweep, invocation, "resume", "The same, and try again what failed before", true);
}

} // namespace zyfa::cli
