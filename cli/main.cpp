// SPDX-License-Identifier: Apache-2.0
// zyfa: the command-line tool.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/command.hpp"

namespace {

constexpr const char* footer = R"(
Examples
  zyfa doctor                                             what this machine has, and what is missing
  zyfa attention --input data/gqa_excerpt.safetensors     one call on real input, checked against fp64
  zyfa attention --seq 512 --heads-q 4 --no-causal        the same on drawn input
  zyfa asm --seq 4096                                     the kernel that would run, as assembly
  zyfa cache list                                         what is stored

Exit codes
  0 ok            3 no usable device       6 device error, or a fault that the simulator found
  1 check failed  4 miss in mode must_hit  7 a file could not be read or written
  2 usage         5 assembling failed      8 a defect of zyfa      9 undecided: a tie, or withheld

Environment
  ZYFA_DEVICE  ZYFA_HIP_LIBRARY  ZYFA_COMGR_LIBRARY  ZYFA_CACHE_DIR  ZYFA_CACHE_LAYERS  ZYFA_MODE
  ZYFA_WINNERS_LAYER  ZYFA_BATCH_INVARIANT  ZYFA_STABLE  ZYFA_BACKGROUND_TUNING  ZYFA_TUNER_WORKER
  ZYFA_TUNE_MEMORY
  ZYFA_LOG     stderr, or a file to append to: one line per shape that is made resident)";

void set_up_log() {
    auto logger = spdlog::stderr_color_st("zyfa");
    logger->set_pattern("zyfa: %^%v%$");
    spdlog::set_default_logger(logger);
}

zyfa::cli::ExitCode report(const zyfa::cli::CommonOptions& common, zyfa::ErrorCode code,
                           const std::string& argument, const std::string& message) {
    if (common.json) {
        nlohmann::ordered_json error;
        error["error"] = {{"code", zyfa::to_string(code)}, {"argument", argument}, {"message", message}};
        fmt::print("{}\n", error.dump(2));
    } else {
        fmt::print(stderr, "zyfa: error: {}\n", message);
    }
    return zyfa::cli::exit_code(code);
}

zyfa::cli::ExitCode run(const zyfa::cli::Invocation& invocation) {
    try {
        return invocation.action();
    } catch (const zyfa::Error& error) {
        return report(invocation.common, error.code(), error.argument(), error.what());
    } catch (const std::exception& error) {
        return report(invocation.common, zyfa::ErrorCode::internal, "",
                      fmt::format("{} (this is a defect of zyfa)", error.what()));
    }
}

} // namespace

int main(int argc, char** argv) {
    set_up_log();
    CLI::App app("zyfa: attention kernels for gfx950 (AMD Instinct MI355X), assembled, checked, tuned and "
                 "cached at run "
                 "time",
                 "zyfa");
    app.footer(footer);
    app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
    app.require_subcommand(1);

    zyfa::cli::Invocation invocation;
    zyfa::cli::add_doctor(app, invocation);
    zyfa::cli::add_attention(app, invocation);
    zyfa::cli::add_tune(app, invocation);
    zyfa::cli::add_compare(app, invocation);
    zyfa::cli::add_worker(app, invocation);
    zyfa::cli::add_report(app, invocation);
    zyfa::cli::add_asm(app, invocation);
    zyfa::cli::add_cache(app, invocation);
    zyfa::cli::add_check(app, invocation);
    zyfa::cli::add_simulate(app, invocation);
    zyfa::cli::add_trace(app, invocation);
    zyfa::cli::add_microbench(app, invocation);
    zyfa::cli::add_sweep(app, invocation);

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error); // prints help, version, or what is wrong
        return code == 0 ? 0 : static_cast<int>(zyfa::cli::ExitCode::usage);
    }
    const zyfa::cli::ExitCode code = run(invocation);
    std::fflush(stdout);
    return static_cast<int>(code);
}
