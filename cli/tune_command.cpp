// SPDX-License-Identifier: Apache-2.0
// zyfa tune: tunes one problem on given or drawn input, stores the winner with its evidence, shows the
// candidates.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/context_impl.hpp"
#include "cli/command.hpp"
#include "cli/comparison.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/layer_inputs.hpp"
#include "cli/measurement_table.hpp"
#include "cli/problem_flags.hpp"
#include "cli/schedule_flags.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

struct TuneFlags {
    ProblemFlags problem;
    std::optional<double> budget_s;
    double tie = 0.01;
    std::string policy, search, guide;
    std::uint32_t repeats = 3, rows = 48;
    std::size_t finalists = 3;
    bool keep = false, fresh = false;
    std::uint32_t rotating = 1;
    std::vector<std::string> candidates, layers;
    std::string verify, like;
    IsolationFlags isolation;
};

class Collect : public tuner::MeasurementSink {
  public:
    /// A candidate's last measurement counts: a finalist's is that of the final.
    void measured(const Measurement& measurement) override {
        for (Measurement& known : measurements) {
            if (known.schedule == measurement.schedule) {
                known = measurement;
                return;
            }
        }
        measurements.push_back(measurement);
    }
    std::vector<Measurement> measurements;
};

/// What stores no winner.
ComparisonFlags comparison(const TuneFlags& flags) {
    ComparisonFlags result;
    result.problem = flags.problem;
    result.layers = flags.layers;
    result.candidates = {"default"};
    result.candidates.insert(result.candidates.end(), flags.candidates.begin(), flags.candidates.end());
    result.like = flags.like;
    result.policy = flags.policy;
    result.budget_s = flags.budget_s;
    result.rows = flags.rows;
    result.precision = flags.tie;
    result.isolation = flags.isolation;
    return result;
}

ExitCode tune(const CommonOptions& common, const TuneFlags& flags) {
    const bool files = std::any_of(flags.candidates.begin(), flags.candidates.end(), names_file);
    if (!flags.layers.empty() && (files || !flags.problem.input.empty()))
        throw Error(
            ErrorCode::invalid_argument, "--layer",
            "--layer is accepted neither with --input, which can be named as one of the layers, nor with "
            "a candidate from a file");
    if (!flags.verify.empty()) {
        return verify_winner(common, flags.verify, comparison(flags),
                             !flags.problem.input.empty() || !flags.layers.empty());
    }
    if (files) {
        return compare(common, comparison(flags));
    }
    LayerInputs inputs = load_layers(flags.problem, flags.layers);
    ContextOptions options = context_options(common);
    options.mode = Mode::tune;
    Context context(options);

    Progress progress;
    Collect sink;
    call::PrepareRequest request;
    tuner::Options& tuning = request.tuning.emplace();
    request.inputs = std::move(inputs.inputs);
    tuning.budget_s = tuning_budget(flags.budget_s, flags.policy);
    tuning.policy = flags.policy;
    tuning.search = flags.search;
    tuning.guide = flags.guide;
    tuning.race.finalists = flags.finalists;
    const Interrupt interrupt;
    tuning.cancelled = [] { return Interrupt::seen(); };
    apply(flags.isolation, context.impl().services().runtime()->simulated(), false, tuning);
    tuning.gate_rows = flags.rows;
    tuning.repeats = flags.repeats;
    tuning.tie = flags.tie;
    tuning.rotating = flags.rotating;
    tuning.fresh = flags.fresh;
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
    if (Interrupt::seen()) {
        note("stopped: what was measured is kept; the same command goes on from there");
    }

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
        print_measurements(sink.measurements, "default", 24);
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
    command
        ->add_option(
            "--layer", flags->layers,
            "A file with q, k and v, or a distribution, and how often it occurs beside the others: the "
            "weighted set is tuned as one (may be repeated)")
        ->type_name("NAME[=WEIGHT]")
        ->group("Input");
    command
        ->add_option("--budget", flags->budget_s,
                     "Wall-clock seconds; 0: no limit (default: 60, none for blocks of a second)")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("S")
        ->group("Tuning");
    command
        ->add_option(
            "--policy", flags->policy,
            "model, race, sustained, paper-fixed, paper-adaptive, kernel-only (default: model on the "
            "simulator, race on a GPU)")
        ->type_name("NAME")
        ->group("Tuning");
    command
        ->add_option("--search", flags->search,
                     "exhaustive, coordinate, halving (default: coordinate; with --candidate exhaustive)")
        ->type_name("NAME")
        ->group("Tuning");
    command
        ->add_option(
            "--guide", flags->guide,
            "model: the timing model (the simulator) leaves out candidates that it finds slow, on a GPU "
            "too")
        ->type_name("NAME")
        ->group("Tuning");
    command->add_option("--finalists", flags->finalists, "Candidates that meet the default in the final")
        ->check(CLI::Range(1u, 20u).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command->add_flag("--fresh", flags->fresh, "Measure all again, whatever earlier tunings have measured")
        ->group("Tuning");
    command->add_option("--repeats", flags->repeats, "ABBA rounds of each finalist in a race")
        ->check(CLI::Range(1u, 1000u).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command->add_option("--rows", flags->rows, "Rows that are compared with fp64, per candidate")
        ->check(CLI::Range(1u, 1u << 20).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command
        ->add_option(
            "--rotate", flags->rotating,
            "Copies of the tensors that timed launches take in turn, so that none finds its inputs in a "
            "cache; 0: as many as fill the Infinity Cache twice")
        ->check(CLI::Range(0u, 1024u).description(""))
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
                     "Only this schedule, or kernel from a file (.s, .co), and the default one (may be "
                     "repeated); with a file, nothing is stored as a winner")
        ->type_name("SCHEDULE|FILE")
        ->group("Tuning");
    command->add_option("--like", flags->like, "Files take the launches of this schedule (`zyfa compare`)")
        ->type_name("SCHEDULE")
        ->group("Tuning");
    command
        ->add_option("--verify", flags->verify,
                     "Only gate and time the stored winner of this key (first digits of its digest) against "
                     "the default: exit code 0 if it holds, 1 if no longer, 9 if undecided")
        ->type_name("KEY")
        ->group("Tuning");
    add_isolation_flags(*command, flags->isolation);
    command->add_flag("--keep", flags->keep, "Keep a stored winner instead of tuning again")->group("Tuning");
    command->footer(R"(
Example
  zyfa tune --input data/gqa_excerpt.safetensors --budget 20)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return tune(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
