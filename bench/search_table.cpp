// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_search_table: times every schedule of the named grid on a given input on the simulator's
// timing model, one launch each and without the gate, as a table for zyfa_search_replay. A table of a long
// input takes an hour: with --seconds it is made in parts, each of which goes on where the file ends.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "bench/search_tables.hpp"
#include "cli/inputs.hpp"
#include "cli/problem_flags.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "tuner/binaries.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/test_bed.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;

namespace {

using SetDevice = const char* (*)(int, const char*, const char*);

void set_options(const runtime::Runtime& runtime, const std::vector<std::string>& options) {
    const auto set = reinterpret_cast<SetDevice>(runtime.extension("zyfaSimSetDevice"));
    for (const std::string& option : options) {
        const std::size_t at = option.find('=');
        if (at == std::string::npos)
            throw Error(ErrorCode::invalid_argument, "--sim", option + " is no option=value");
        if (const char* wrong = set(0, option.substr(0, at).c_str(), option.substr(at + 1).c_str()))
            throw Error(ErrorCode::invalid_argument, "--sim", wrong);
    }
}

/// The other axes keep their default.
void keep_axes(bench::SearchTable& table, const std::vector<std::string>& axes) {
    if (axes.empty())
        return;
    std::size_t points = 1;
    for (templates::ParameterSpec& axis : table.space) {
        if (std::find(axes.begin(), axes.end(), axis.name) == axes.end())
            axis.grid.resize(1);
        points *= axis.grid.size();
    }
    table.ms.assign(points, bench::not_timed);
}

/// Times what `table` does not have yet. False where the seconds were over before.
bool measure(const cli::Inputs& inputs, double seconds, bench::SearchTable& table) {
    const tuner::Stopwatch watch;
    const auto runtime = runtime::Runtime::open("sim", "");
    set_options(*runtime, table.device);
    const auto assembler = jit::make_assembler("");
    const templates::Template& form = templates::template_for(inputs.problem);
    tuner::TuningInputs data{inputs.q, inputs.k, inputs.v, inputs.profile};
    tuner::Binaries binaries(runtime, 0, *assembler, form, classify(inputs.problem));
    tuner::TestBed bed(runtime, 0, form, inputs.problem, data, 1);
    for (std::size_t i = 0; i < table.ms.size(); ++i) {
        const Schedule schedule = table.schedule(i);
        if (table.ms[i] != bench::not_timed)
            continue;
        if (form.reject(inputs.problem, schedule)) {
            table.ms[i] = 0;
            continue;
        }
        if (seconds > 0 && watch.seconds() > seconds)
            return false;
        Measurement measurement;
        tuner::Binary* binary = binaries.get(schedule, measurement);
        if (!binary)
            throw Error(ErrorCode::internal, "", measurement.message);
        tuner::BoundLaunch launch = bed.bind(*binary, schedule);
        table.ms[i] = tuner::event_ms(runtime, 0, bed.stream(), 1, [&](void* stream) { launch(stream); });
        fmt::print(stderr, "{}/{} {} {:.6f} ms\n", i + 1, table.ms.size(), schedule.canonical(), table.ms[i]);
    }
    return true;
}

/// The times of an unfinished table of the same launches.
void take_times(const std::string& file, bench::SearchTable& table) {
    if (!std::filesystem::exists(file))
        return;
    const bench::SearchTable known = bench::read_table(file);
    if (known.problem != table.problem || known.input != table.input || known.device != table.device ||
        known.form != table.form || known.ms.size() != table.ms.size() ||
        known.schedule(known.ms.size() - 1) != table.schedule(table.ms.size() - 1))
        throw Error(ErrorCode::invalid_argument, "--output", file + " is a table of other launches");
    table.ms = known.ms;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Times every schedule of a problem's named grid on the simulator (simulated times)");
    cli::ProblemFlags flags;
    cli::add_problem_flags(app, flags, cli::InputFlags::with);
    std::string output, name;
    std::vector<std::string> options, axes;
    double seconds = 0;
    app.add_option("-o,--output", output, "Table to write")->required();
    app.add_option("--name", name, "What the table is called")->required();
    app.add_option("--sim", options, "Options of the simulated device, option=value");
    app.add_option("--axis", axes, "Only this axis (may be repeated); the others keep their default");
    app.add_option(
        "--seconds", seconds,
        "Begin no launch after so many; what the file has is not timed again. Exit code 3: unfinished");
    CLI11_PARSE(app, argc, argv);
    try {
        const cli::Inputs inputs = cli::load_inputs(flags);
        bench::SearchTable table =
            bench::empty_table(templates::template_for(inputs.problem), inputs.problem);
        keep_axes(table, axes);
        table.name = name;
        table.input = inputs.profile;
        table.problem = to_string(inputs.problem);
        table.device = options;
        if (seconds > 0)
            take_times(output, table);
        const bool done = measure(inputs, seconds, table);
        bench::write_table(output, table);
        return done ? 0 : 3;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
