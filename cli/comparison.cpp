// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "attention/call_key.hpp"
#include "attention/context_impl.hpp"
#include "cli/console.hpp"
#include "cli/inputs.hpp"
#include "cli/interrupt.hpp"
#include "cli/layer_inputs.hpp"
#include "cli/measurement_table.hpp"
#include "core/keys.hpp"
#include "core/problem_json.hpp"
#include "core/profile_key.hpp"
#include "core/validate.hpp"
#include "tuner/timing.hpp"

namespace zyfa::cli {

namespace {

/// A device and what is compared on it.
class Bench {
  public:
    Bench(const CommonOptions& common, Context& context)
        : impl_(context.impl()), ordinal_(device_ordinal(common)) {}

    call::Services& services() { return impl_.services(); }
    const runtime::DeviceInfo& device() { return impl_.services().device(ordinal_); }
    WinnerKey key_of(const Problem& problem) { return winner_key(problem, call::identity_of(device())); }

    tuner::Outcome run(const Problem& asked, const tuner::TuningInputs& inputs, tuner::Options& options,
                       tuner::MeasurementSink& sink) {
        Progress progress;
        const Interrupt interrupt;
        options.cancelled = [] { return Interrupt::seen(); };
        options.progress = [&](const std::string& what, std::size_t done, std::size_t of) {
            progress.update(what, done, of);
        };
        const Problem problem = validate(call::arguments_of(asked, ordinal_));
        return tuner::tune(services().runtime(), ordinal_, services().assembler(), problem, inputs, options,
                           sink);
    }

  private:
    Context::Impl& impl_;
    int ordinal_;
};

class Ignore : public tuner::MeasurementSink {
    void measured(const Measurement&) override {}
};

enum class Result { faster, slower, tie, withheld, failed };

bool measured(const Measurement& measurement) {
    return measurement.status == CandidateStatus::measured;
}

bool has_interval(const Measurement& candidate) {
    return candidate.gain_low != 0 || candidate.gain_high != 0;
}

double gain_of(const Measurement& baseline, const Measurement& candidate) {
    return has_interval(candidate) ? candidate.gain : baseline.median_ms / candidate.median_ms - 1;
}

/// `candidate` against the baseline, which is measurements.front().
Result result_of(const tuner::Outcome& outcome, const Measurement& candidate, double precision) {
    const Measurement& baseline = outcome.measurements.front();
    if (candidate.status == CandidateStatus::skipped) // the budget was spent, or Ctrl-C
        return Result::withheld;
    if (!measured(candidate) || !measured(baseline))
        return Result::failed;
    if (outcome.evidence.verdict.starts_with("withheld"))
        return Result::withheld;
    if (outcome.schedule == candidate.schedule)
        return Result::faster;
    const double least = candidate.policy == "model" ? std::max(precision, tuner::model_error) : precision;
    const double gain = gain_of(baseline, candidate);
    const bool computed = !has_interval(candidate) && candidate.policy != "race";
    if ((computed || candidate.gain_high < 0) && gain <= -least)
        return Result::slower;
    // Of those that are faster the tuning has one winner; it is not this one.
    const bool other_won = outcome.schedule != baseline.schedule;
    return other_won && (computed || candidate.gain_low > 0) && gain >= least ? Result::faster : Result::tie;
}

/// "+1.23% (+1.10% to +1.36%)", or why there is no time.
std::string gain_in_words(const Measurement& baseline, const Measurement& candidate) {
    if (!measured(candidate))
        return candidate.message;
    std::string text = fmt::format("{:+.2f}%", 100 * gain_of(baseline, candidate));
    if (has_interval(candidate))
        text += fmt::format(" ({:+.2f}% to {:+.2f}%)", 100 * candidate.gain_low, 100 * candidate.gain_high);
    return text;
}

const char* to_string(Result result) {
    switch (result) {
    case Result::faster:
        return "faster";
    case Result::slower:
        return "slower";
    case Result::tie:
        return "tie";
    case Result::withheld:
        return "withheld";
    case Result::failed:
        return "failed";
    }
    return "unknown";
}

/// What the user calls a candidate, and what it is.
struct Candidate {
    std::string name;
    Schedule schedule;
};

const Measurement& measurement_of(const tuner::Outcome& outcome, const Schedule& schedule) {
    for (const Measurement& measurement : outcome.measurements)
        if (measurement.schedule == schedule)
            return measurement;
    throw Error(ErrorCode::internal, "", schedule.canonical() + " was not measured");
}

/// Kernels from files are recorded with their provenance, though they never win.
void record_files(Bench& bench, const Problem& problem, const tuner::Outcome& outcome) {
    std::vector<cache::MeasurementRecord> records;
    for (const Measurement& measurement : outcome.measurements)
        if (!measurement.provenance.empty())
            records.push_back({bench.key_of(problem).digest(), measurement.schedule.canonical(),
                               to_json(measurement), static_cast<std::uint64_t>(std::time(nullptr))});
    if (!records.empty())
        bench.services().cache().publish_measurements(records);
}

cache::WinnerRecord winner_named(cache::Cache& cache, const std::string& prefix) {
    std::vector<cache::WinnerRecord> found;
    for (cache::WinnerRecord& winner : cache.winners())
        if (winner.key.hex().starts_with(prefix) || winner.key_text == prefix)
            found.push_back(std::move(winner));
    if (found.size() != 1)
        throw Error(ErrorCode::invalid_argument, "--verify",
                    fmt::format("{} winners' digests start with '{}'; `zyfa cache list` shows them",
                                found.size(), prefix));
    return found.front();
}

/// A problem of the key's class and buckets, for winners whose own was not recorded.
Problem typical_problem(const WinnerKey& key) {
    const ProblemClass& c = key.problem_class;
    const auto size = [](std::uint32_t bucket) { return std::int64_t{1} << std::min(bucket, 40u); };
    const std::int64_t heads = std::max<std::int64_t>(size(key.sizes.batch_heads), c.even_group ? 2 : 1);
    Problem problem = Problem::contiguous(
        c.dtype, 1, heads, c.even_group ? heads / 2 : heads, size(key.sizes.seq_q), size(key.sizes.seq_kv),
        c.dim_qk, c.dim_v, c.mask,
        key.strides == StrideClass::bshd ? Problem::Layout::bshd : Problem::Layout::bhsd, c.lse);
    problem.nan_exact = c.nan_exact;
    problem.probability = c.probability;
    return problem;
}

} // namespace

double tuning_budget(const std::optional<double>& asked, const std::string& policy) {
    // Blocks of a second take their time: a budget would only cut the verdict short.
    return asked.value_or(policy.empty() || policy == "model" || policy == "race" ? 60 : 0);
}

void add_isolation_flags(CLI::App& command, IsolationFlags& flags) {
    command
        .add_option(
            "--isolate", flags.isolate,
            "Gate every candidate in a process of its own first: on, off, auto (on for files and on a "
            "GPU)")
        ->check(CLI::IsMember({"auto", "on", "off"}))
        ->capture_default_str()
        ->group("Tuning");
    command
        .add_option("--candidate-limit", flags.candidate_limit_s,
                    "Wall-clock seconds of one gate there; then the process is killed (default: 60, then 20 "
                    "times the longest that passed)")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("S")
        ->group("Tuning");
    command
        .add_option("--memory", flags.memory_bytes,
                    "Most device memory for tensors, bytes; larger problems are cut, and the result says so "
                    "(0: no limit; default 8 GiB)")
        ->type_name("N")
        ->group("Tuning");
}

void apply(const IsolationFlags& flags, bool simulated, bool files, tuner::Options& options) {
    if (flags.isolate == "on" || (flags.isolate == "auto" && (files || !simulated)))
        options.worker = {"/proc/self/exe", "tuning-worker"};
    options.candidate_limit_s = flags.candidate_limit_s;
    options.memory_bytes = flags.memory_bytes.value_or(ContextOptions::from_environment().tune_memory_bytes);
}

bool names_file(const std::string& candidate) {
    return candidate.find('{') == std::string::npos &&
           (candidate.find('/') != std::string::npos || candidate.find('.') != std::string::npos);
}

ExitCode compare(const CommonOptions& common, const ComparisonFlags& flags) {
    Inputs inputs = load_inputs(flags.problem);
    ContextOptions options = context_options(common);
    options.mode = Mode::replay;
    Context context(options);
    Bench bench(common, context);
    const templates::Template& form = templates::template_for(inputs.problem);
    tuner::Options tuning;
    std::vector<Candidate> candidates;
    for (const std::string& name : flags.candidates) {
        Candidate candidate{name, {}};
        if (name == "default") {
            candidate.schedule = form.default_schedule(inputs.problem);
        } else if (name == "winner") {
            const auto winner = bench.services().cache().find_winner(bench.key_of(inputs.problem).digest());
            if (!winner)
                throw Error(ErrorCode::cache_miss, "winner", "nothing is stored for this problem and device");
            candidate.schedule = Schedule::parse(winner->schedule);
        } else if (names_file(name)) {
            std::optional<Schedule> like;
            if (!flags.like.empty())
                like = Schedule::parse(flags.like);
            tuning.files.push_back(tuner::read_foreign(name, form, inputs.problem, like,
                                                       call::shape_of(bench.device()),
                                                       bench.services().assembler()));
            candidate.schedule = tuning.files.back().schedule;
        } else {
            candidate.schedule = Schedule::parse(name);
            if (candidate.schedule.template_name != form.name())
                throw Error(
                    ErrorCode::invalid_argument, "candidate",
                    fmt::format("{} is of another template; the problem is served by {}", name, form.name()));
            if (const auto why = form.reject(inputs.problem, candidate.schedule))
                throw Error(ErrorCode::invalid_argument, "candidate",
                            fmt::format("{} is not allowed: {}", name, *why));
        }
        for (const Candidate& other : candidates)
            if (other.schedule == candidate.schedule)
                throw Error(ErrorCode::invalid_argument, "candidate",
                            fmt::format("{} and {} are the same: {}", other.name, name,
                                        candidate.schedule.canonical()));
        candidates.push_back(std::move(candidate));
    }
    tuning.candidates.emplace();
    for (const Candidate& candidate : candidates)
        if (!tuner::is_foreign(candidate.schedule))
            tuning.candidates->push_back(candidate.schedule);
    tuning.baseline = candidates.front().schedule;
    tuning.policy = flags.policy;
    tuning.budget_s = tuning_budget(flags.budget_s, flags.policy);
    tuning.gate_rows = flags.rows;
    tuning.tie = flags.precision;
    tuning.race.finalists = candidates.size();
    apply(flags.isolation, bench.device().simulated, !tuning.files.empty(), tuning);

    Ignore sink;
    const tuner::Outcome outcome = bench.run(inputs.problem,
                                             {.q = std::move(inputs.q),
                                              .k = std::move(inputs.k),
                                              .v = std::move(inputs.v),
                                              .profile = inputs.profile},
                                             tuning, sink);
    record_files(bench, inputs.problem, outcome);
    const Measurement& baseline = measurement_of(outcome, candidates.front().schedule);
    nlohmann::ordered_json json{{"problem", to_string(inputs.problem)},
                                {"input", inputs.source},
                                {"policy", outcome.evidence.winner.policy},
                                {"simulated", baseline.simulated},
                                {"baseline", candidates.front().name},
                                {"verdict", outcome.evidence.verdict},
                                {"comparisons", nlohmann::ordered_json::array()},
                                {"measurements", nlohmann::ordered_json::array()}};
    Facts facts(to_string(inputs.problem));
    facts.add("input", inputs.source)
        .add("policy", outcome.evidence.winner.policy)
        .add("baseline", candidates.front().name);
    ExitCode code = ExitCode::ok;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        const Measurement& measurement = measurement_of(outcome, candidates[i].schedule);
        const Result result = result_of(outcome, measurement, flags.precision);
        const Measurement& culprit = measured(measurement) ? baseline : measurement;
        std::string words = fmt::format("{}: {}", candidates[i].name, to_string(result));
        if (result == Result::failed)
            words += fmt::format(": {} is {}: {}", &culprit == &baseline ? candidates.front().name : "it",
                                 to_string(culprit.status), culprit.message);
        else if (result == Result::tie || result == Result::withheld)
            words += ": " + gain_in_words(baseline, measurement);
        else
            words += " than the baseline: " + gain_in_words(baseline, measurement);
        facts.add("result", words);
        json["comparisons"].push_back({{"candidate", candidates[i].name}, {"result", to_string(result)}});
        if (result == Result::failed)
            code = ExitCode::check_failed;
        else if (candidates.size() == 2 && (result == Result::tie || result == Result::withheld))
            code = ExitCode::undecided;
    }
    for (const Measurement& measurement : outcome.measurements)
        json["measurements"].push_back(nlohmann::ordered_json::parse(zyfa::to_json(measurement)));
    if (common.json) {
        fmt::print("{}\n", json.dump(2));
        return code;
    }
    print_measurements(outcome.measurements, "baseline");
    fmt::print("\n");
    facts.print();
    return code;
}

ExitCode verify_winner(const CommonOptions& common, const std::string& prefix, ComparisonFlags flags,
                       bool input_given) {
    ContextOptions options = context_options(common);
    options.mode = Mode::replay;
    Context context(options);
    Bench bench(common, context);
    const cache::WinnerRecord record = winner_named(bench.services().cache(), prefix);
    const WinnerKey key = WinnerKey::parse(record.key_text);
    const Evidence evidence = Evidence::from_json(record.evidence_json);
    const Schedule winner = Schedule::parse(record.schedule);

    Problem problem;
    tuner::TuningInputs inputs;
    std::string data = "drawn: gaussian, as tuning without an input does";
    if (input_given) {
        LayerInputs loaded = load_layers(flags.problem, flags.layers);
        problem = loaded.problem;
        data = loaded.source;
        inputs = std::move(loaded.inputs);
    } else {
        problem =
            evidence.problem_json.empty() ? typical_problem(key) : problem_from_json(evidence.problem_json);
        if (record.data_profile != "gaussian")
            data += fmt::format("; the winner was tuned on {} (name it with --input, or --layer)",
                                record.data_profile);
    }
    if (bench.key_of(problem).canonical() != key_without_profile(record.key_text))
        throw Error(ErrorCode::invalid_argument, input_given ? "--input" : "--device",
                    fmt::format("the problem here has another key ({}) than the winner ({})",
                                bench.key_of(problem).canonical(), record.key_text));

    tuner::Options tuning;
    tuning.candidates.emplace(1, winner);
    tuning.policy = flags.policy.empty() ? record.policy : flags.policy;
    tuning.budget_s = tuning_budget(flags.budget_s, tuning.policy);
    tuning.gate_rows = flags.rows;
    tuning.tie = flags.precision;
    tuning.race.finalists = 1;
    apply(flags.isolation, bench.device().simulated, false, tuning);
    Ignore sink;
    const tuner::Outcome outcome = bench.run(problem, inputs, tuning, sink);
    const Measurement& now = measurement_of(outcome, winner);
    const Measurement& fallback = outcome.measurements.front();
    const bool is_default = fallback.schedule == winner;
    const bool rebuilt = !now.binary_digest.empty() && now.binary_digest != record.binary.hex();

    std::string holds, why;
    ExitCode code = ExitCode::ok;
    const Result result = result_of(outcome, now, flags.precision);
    const std::string gain = gain_in_words(fallback, now) + " against the default schedule";
    if (is_default && measured(now)) {
        holds = "holds";
        why = "it is the default schedule, and passes its gate";
    } else if (measured(now) && !measured(fallback)) {
        holds = "holds";
        why = fmt::format("it passes its gate; the default schedule is {}: {}", to_string(fallback.status),
                          fallback.message);
    } else if (result == Result::failed) {
        holds = "no longer";
        why = fmt::format("{}: {}", to_string(now.status), now.message);
    } else if (result == Result::faster || result == Result::slower) {
        holds = result == Result::faster ? "holds" : "no longer";
        why = gain;
    } else {
        holds = to_string(result);
        why = now.status == CandidateStatus::skipped ? now.message : gain;
        if (outcome.evidence.verdict.starts_with("withheld"))
            why += "; " + outcome.evidence.verdict;
    }
    if (holds == "no longer")
        code = ExitCode::check_failed;
    else if (holds != "holds")
        code = ExitCode::undecided;
    if (common.json) {
        const nlohmann::ordered_json json{
            {"digest", record.key.hex()},
            {"key", record.key_text},
            {"schedule", record.schedule},
            {"result", holds},
            {"why", why},
            {"then", evidence.verdict},
            {"policy", tuning.policy},
            {"problem", to_string(problem)},
            {"input", data},
            {"same_binary", !rebuilt},
            {"winner", nlohmann::ordered_json::parse(zyfa::to_json(now))},
            {"fallback", nlohmann::ordered_json::parse(zyfa::to_json(fallback))}};
        fmt::print("{}\n", json.dump(2));
        return code;
    }
    const auto time_of = [](const Measurement& measurement) -> std::string {
        return measured(measurement)
                   ? milliseconds(measurement.median_ms) + (measurement.simulated ? " (simulated)" : "")
                   : to_string(measurement.status);
    };
    Facts facts(fmt::format("{}: {}", holds, why));
    facts.add("key", record.key_text)
        .add("schedule", record.schedule)
        .add("then", fmt::format("{}, by {}", evidence.verdict, record.policy))
        .add("now", fmt::format("{}; the default schedule {}, by {}", time_of(now), time_of(fallback),
                                tuning.policy))
        .add("problem", to_string(problem))
        .add("input", data);
    if (rebuilt)
        facts.add("binary", "this build makes another binary of the schedule than the one that was measured");
    if (measured(now) && !now.message.empty())
        facts.add("note", now.message);
    facts.print();
    return code;
}

void add_compare(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand(
        "compare", "Time schedules, or kernels from files, against the first of them; stores no winner");
    const auto flags = std::make_shared<ComparisonFlags>();
    flags->policy = "sustained";
    add_common_flags(*command, invocation.common);
    add_problem_flags(*command, flags->problem, InputFlags::with);
    command
        ->add_option("candidates", flags->candidates,
                     "default, winner, a schedule as text, or a file: assembly (.s) or a code object")
        ->required()
        ->expected(2, 20)
        ->type_name("A B");
    command
        ->add_option("--like", flags->like,
                     "Files take the launches of this schedule (default: what `zyfa asm` wrote at their top, "
                     "else the default schedule)")
        ->type_name("SCHEDULE")
        ->group("Tuning");
    command->add_option("--policy", flags->policy, "As for `zyfa tune`")
        ->capture_default_str()
        ->type_name("NAME")
        ->group("Tuning");
    command->add_option("--budget", flags->budget_s, "Wall-clock seconds; 0: no limit")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("S")
        ->group("Tuning");
    command->add_option("--rows", flags->rows, "Rows that are compared with fp64, per candidate")
        ->check(CLI::Range(1u, 1u << 20).description(""))
        ->capture_default_str()
        ->type_name("N")
        ->group("Tuning");
    command->add_option("--precision", flags->precision, "Relative difference below which it is a tie")
        ->check(CLI::Range(0.0, 1.0).description(""))
        ->capture_default_str()
        ->type_name("X")
        ->group("Tuning");
    add_isolation_flags(*command, flags->isolation);
    command->footer(R"(
Exit code 9: a tie, or the verdict was withheld; 1: a candidate failed its gate

Examples
  zyfa compare default 'bf16_fwd_d128{chiplet_map=runs,...,tau=8.0}' --seq 512
  zyfa compare default edited.s --seq 512)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return compare(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
