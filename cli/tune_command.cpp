// SPDX-License-Identifier: Apache-2.0
// zyfa tune: tunes one problem on given or drawn input, stores the winner with its evidence, shows the
// candidates.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/context_impl.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/inputs.hpp"
#include "cli/measurement_table.hpp"
#include "cli/problem_flags.hpp"
#include "cli/schedule_flags.hpp"

namespace zyfa::cli {

namespace {

struct TuneFlags {
    ProblemFlags problem;
    double budget_s = 60, tie = 0.01;
    std::uint32_t repeats = 3, rows = 48;
    bool keep = false;
    std::vector<std::string> candidates;
};

class Collect : public tuner::MeasurementSink {
  public:
    void measured(const Measurement& measurement) override { measurements.push_back(measurement); }
    std::vector<Measurement> measurements;
};

ExitCode tune(const CommonOptions& common, const TuneFlags& flags) {
    Inputs inputs = load_inputs(flags.problem);
    ContextOptions options = context_options(common);
    options.mode = Mode::tune;
    Context context(options);

    Progress progress;
    Collect sink;
    call::PrepareRequest request;
    tuner::Options& tuning = request.tuning.emplace();
    request.inputs = {.q = std::move(inputs.q),
                      .k = std::move(inputs.k),
                      .v = std::move(inputs.v),
                      .profile = inputs.profile};
    tuning.budget_s = flags.budget_s;
    tuning.gate_rows = flags.rows;
    tuning.repeats = flags.repeats;
    tuning.tie = flags.tie;
    tuning.progress = [&](const std::string& what, std::size_t done, std::size_t of) {
        progress.update(what, done, of);
    };
    if (!flags.candidates.empty()) {
        tuning.candidates.emplace();
        for (const std::string& text : flags.candidates) {
            tuning.candidates->push_back(Schedule::parse(text));
        }
    }
    request.sink = &sink;
    request.retune = !flags.keep;
    const Explanation explanation = context.impl().prepare(inputs.problem, device_ordinal(common), request);
    progress.finish();

    const Counters counters = context.counters();
    if (common.json) {
        nlohmann::ordered_json json{
            {"problem", to_string(inputs.problem)},
            {"input", inputs.source},
            {"schedule", explanation.schedule},
            {"kernel", explanation.kernel},
            {"cache", to_string(explanation.cache)},
            {"key", explanation.key},
            {"reason", explanation.reason},
            {"evidence", nlohmann::ordered_json::parse(explanation.evidence_json, nullptr, false)},
            {"toolchain", explanation.toolchain},
            {"counters",
             {{"assembled", counters.assembled}, {"gated", counters.gated}, {"timed", counters.timed}}},
            {"measurements", nlohmann::ordered_json::array()}};
        if (json["evidence"].is_discarded()) {
            json["evidence"] = nullptr;
        }
        for (const Measurement& measurement : sink.measurements) {
            json["measurements"].push_back(nlohmann::ordered_json::parse(to_json(measurement)));
        }
        fmt::print("{}\n", json.dump(2));
        return ExitCode::ok;
    }
    if (!sink.measurements.empty()) {
        print_measurements(sink.measurements);
        fmt::print("\n");
    }
    Facts facts(to_string(inputs.problem));
    facts.add("input", inputs.source)
        .add("winner", explanation.schedule)
        .add("why", explanation.reason)
        .add("key", explanation.key)
        .add("work", fmt::format("{} assembled, {} gated, {} timed", counters.assembled, counters.gated,
                                 counters.timed));
    if (!explanation.evidence_json.empty()) {
        const Evidence evidence = Evidence::from_json(explanation.evidence_json);
        const char* simulated = evidence.winner.simulated ? " (simulated)" : "";
        facts.add("time",
                  fmt::format("{}{}; the default schedule {}{}; {}", milliseconds(evidence.winner.median_ms),
                              simulated, milliseconds(evidence.fallback.median_ms), simulated,
                              evidence.verdict));
    }
    facts.print();
    return ExitCode::ok;
}

} // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("tune", "Tune one problem and store the winner with its evidence");
    const std::shared_ptr<TuneFlags> flags = std::make_shared<TuneFlags>();
    add_common_flags(*command, invocation.common);
    add_problem_flags(*command, flags->problem, InputFlags::with);
    command->add_option("--budget", flags->budget_s, "Wall-clock seconds; 0: no limit")
        ->check(CLI::NonNegativeNumber.description(""))
        ->capture_default_str()
        ->type_name("S")
        ->group("Tuning");
    command->add_option("--repeats", flags->repeats, "Timed blocks per candidate")
        ->check(CLI::Range(1u, 1000u).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command->add_option("--rows", flags->rows, "Rows that are compared with fp64, per candidate")
        ->check(CLI::Range(1u, 1u << 20).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command->add_option("--tie", flags->tie, "Relative difference below which the default schedule stays")
        ->check(CLI::Range(0.0, 1.0).description(""))
        ->capture_default_str()
        ->type_name("X")
        ->group("Tuning");
    command
        ->add_option("--candidate", flags->candidates,
                     "Only this schedule and the default one (may be repeated)")
        ->type_name("SCHEDULE")
        ->group("Tuning");
    command->add_flag("--keep", flags->keep, "Keep a stored winner instead of tuning again")->group("Tuning");
    command->footer(R"(
Example
  zyfa tune --input data/gqa_excerpt.safetensors --budget 20)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return tune(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
