// SPDX-License-Identifier: Apache-2.0
// zyfa check: every schedule of a problem's space through assembler, device and accuracy gate. Nothing is
// stored.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/inputs.hpp"
#include "cli/measurement_table.hpp"
#include "cli/problem_flags.hpp"
#include "cli/sanitize.hpp"
#include "jit/assembler.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::cli {

namespace {

struct CheckFlags {
    ProblemFlags problem;
    std::uint32_t rows = 48;
    SanitizeFlags sanitizer;
};

class KeepNothing : public tuner::MeasurementSink {
  public:
    void measured(const Measurement&) override {}
};

bool passed(const Measurement& measurement) {
    return measurement.status == CandidateStatus::measured;
}

ExitCode check(const CommonOptions& common, const CheckFlags& flags) {
    Inputs inputs = load_inputs(flags.problem);
    const templates::Template& serving = templates::template_for(inputs.problem);
    const ContextOptions options = context_options(common);
    const std::shared_ptr<runtime::Runtime> runtime =
        runtime::Runtime::open(options.device, options.hip_library);
    const Sanitizing sanitizing(*runtime, device_ordinal(common), flags.sanitizer);
    const std::unique_ptr<jit::Assembler> assembler = jit::make_assembler(options.comgr_library);
    if (!assembler) {
        throw Error(ErrorCode::assemble_failed, "",
                    "nothing here can assemble for gfx950; `zyfa doctor` says what was looked for");
    }
    Progress progress;
    KeepNothing sink;
    const tuner::TuningInputs tuning_inputs{.q = std::move(inputs.q),
                                            .k = std::move(inputs.k),
                                            .v = std::move(inputs.v),
                                            .profile = inputs.profile};
    const tuner::Options tuner_options{.budget_s = 0, // all of them, however long it takes
                                       .gate_rows = flags.rows,
                                       .repeats = 1,
                                       .candidates = templates::enumerate(serving, inputs.problem),
                                       .progress = [&](const std::string& what, std::size_t done,
                                                       std::size_t of) { progress.update(what, done, of); }};
    const tuner::Outcome outcome = tuner::tune(runtime, device_ordinal(common), *assembler, inputs.problem,
                                               tuning_inputs, tuner_options, sink);
    progress.finish();

    const std::size_t good = static_cast<std::size_t>(
        std::count_if(outcome.measurements.begin(), outcome.measurements.end(), passed));
    const bool all_good = good == outcome.measurements.size() && good > 0;
    if (common.json) {
        nlohmann::ordered_json json{{"problem", to_string(inputs.problem)},
                                    {"input", inputs.source},
                                    {"simulated", runtime->simulated()},
                                    {"assembler", assembler->toolchain()},
                                    {"schedules", outcome.measurements.size()},
                                    {"passed", good},
                                    {"measurements", nlohmann::ordered_json::array()}};
        for (const Measurement& measurement : outcome.measurements) {
            json["measurements"].push_back(nlohmann::ordered_json::parse(to_json(measurement)));
        }
        if (sanitizing) {
            json["sanitizer"] = nlohmann::ordered_json::parse(sanitizing.json());
        }
        fmt::print("{}\n", json.dump(2));
    } else {
        fmt::print("{}\n", to_string(inputs.problem));
        print_measurements(outcome.measurements);
        fmt::print("{} of {} schedules pass\n", good, outcome.measurements.size());
        if (sanitizing) {
            fmt::print("{}", sanitizing.text());
        }
    }
    return all_good && sanitizing.errors() == 0 ? ExitCode::ok : ExitCode::check_failed;
}

} // namespace

void add_check(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "check", "Every schedule of a problem through assembler, device and accuracy gate");
    const std::shared_ptr<CheckFlags> flags = std::make_shared<CheckFlags>();
    add_common_flags(*command, invocation.common);
    add_problem_flags(*command, flags->problem, InputFlags::with);
    command->add_option("--rows", flags->rows, "Rows that are compared with fp64, per schedule")
        ->check(CLI::Range(1u, 1u << 20))
        ->capture_default_str();
    add_sanitize_flags(*command, flags->sanitizer);
    command->footer(R"(
Example
  zyfa check --input data/gqa_excerpt.safetensors --seq 512)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return check(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
