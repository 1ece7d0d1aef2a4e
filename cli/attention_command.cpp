// SPDX-License-Identifier: Apache-2.0
// zyfa attention: one call on real or drawn input; which kernel ran and why, what it cost, and its error
// against fp64.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/accuracy.hpp"
#include "cli/call.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/inputs.hpp"
#include "cli/problem_flags.hpp"
#include "cli/shape_json.hpp"
#include "core/schedule.hpp"

namespace zyfa::cli {

namespace {

struct AttentionFlags {
    ProblemFlags problem;
    std::string mode = "tune", check = "auto";
    double budget_s = 3;
    std::uint32_t repeat = 0;
};

Check check_from(const std::string& text) {
    return text == "all"      ? Check::all
           : text == "sample" ? Check::sample
           : text == "none"   ? Check::none
                              : Check::automatic;
}

nlohmann::ordered_json schedule_json(const Explanation& explanation) {
    nlohmann::ordered_json json{{"text", explanation.schedule}, {"kernel", explanation.kernel}};
    const Schedule schedule = Schedule::parse(explanation.schedule);
    json["template"] = schedule.template_name;
    json["parameters"] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : schedule.parameters) {
        std::visit([&json, &key = name](const auto& v) { json["parameters"][key] = v; }, value);
    }
    return json;
}

nlohmann::ordered_json problem_json(const Problem& problem, const std::string& layout) {
    nlohmann::ordered_json json{{"text", to_string(problem)}};
    json.update(shape_json(problem));
    json["layout"] = layout;
    json["softmax_scale"] = problem.softmax_scale;
    return json;
}

void print_json(const AttentionFlags& flags, const Inputs& inputs, const CallResult& call,
                const std::optional<Accuracy>& accuracy) {
    const Explanation& explanation = call.explanation;
    const StageTimes& stages = explanation.stages;
    const Counters& counters = call.counters;
    nlohmann::ordered_json json{
        {"device",
         {{"kind", call.device.simulated ? "simulator" : "gpu"},
          {"target", call.device.target},
          {"name", call.device.name},
          {"compute_units", call.device.compute_units},
          {"simulated", call.device.simulated}}},
        {"problem", problem_json(call.problem, flags.problem.layout)},
        {"input", inputs.source},
        {"schedule", schedule_json(explanation)},
        {"cache",
         {{"result", to_string(explanation.cache)},
          {"layer", explanation.layer},
          {"key", explanation.key},
          {"reason", explanation.reason}}},
        {"counters",
         {{"assembled", counters.assembled},
          {"gated", counters.gated},
          {"timed", counters.timed},
          {"hits", counters.hits},
          {"misses", counters.misses},
          {"waited", counters.waited},
          {"damaged", counters.damaged}}},
        {"stages_ms",
         {{"instantiate", stages.instantiate},
          {"assemble", stages.assemble},
          {"gate", stages.gate},
          {"tune", stages.tune},
          {"load", stages.load},
          {"launch", call.launch_ms}}},
        {"kernel_ms", call.kernel_ms},
        {"tflops", flops(call.problem) / call.kernel_ms / 1e9},
        {"simulated", call.device.simulated},
        {"binary", {{"digest", explanation.binary_digest}, {"toolchain", explanation.toolchain}}}};
    if (accuracy) {
        json["error"] = {{"relative_rms", accuracy->error.relative_rms},
                         {"max_abs", accuracy->error.max_abs},
                         {"snr_db", accuracy->error.snr_db},
                         {"lse_max_abs", accuracy->error.lse_max_abs},
                         {"rows", accuracy->rows},
                         {"gate_rows", accuracy->gate_rows},
                         {"gate_relative_rms", accuracy->gate_relative_rms},
                         {"emulation_relative_rms", accuracy->emulation_relative_rms},
                         {"passed", accuracy->passed},
                         {"message", accuracy->message}};
    } else {
        json["error"] = nullptr;
    }
    json["guards"] = call.guard_damage;
    fmt::print("{}\n", json.dump(2));
}

std::string work_in_words(const Counters& counters) {
    return counters.assembled + counters.gated + counters.timed == 0
               ? "nothing assembled, nothing timed"
               : fmt::format("{} assembled, {} gated, {} timed", counters.assembled, counters.gated,
                             counters.timed);
}

std::string stages_in_words(const StageTimes& stages, double launch_ms) {
    std::string text;
    const auto add = [&text](const char* name, double ms) {
        if (ms > 0) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, milliseconds(ms));
        }
    };
    add("instantiate", stages.instantiate);
    add("assemble", stages.assemble);
    add("gate", stages.gate);
    add("tune", stages.tune);
    add("load", stages.load);
    add("launch", launch_ms);
    return text;
}

void print_table(const Inputs& inputs, const CallResult& call, const std::optional<Accuracy>& accuracy) {
    const Explanation& explanation = call.explanation;
    const char* simulated = call.device.simulated ? " (simulated)" : "";
    Facts facts(to_string(call.problem));
    facts.add("input", inputs.source)
        .add("device", describe(call.device))
        .add("schedule", explanation.schedule)
        .add("kernel", explanation.kernel)
        .add("cache", fmt::format("{}; {}", to_string(explanation.cache), explanation.reason))
        .add("work", work_in_words(call.counters))
        .add("stages", stages_in_words(explanation.stages, call.launch_ms) + " of wall clock")
        .add("time", fmt::format("{}{}, {:.4g} TFLOP/s{}", milliseconds(call.kernel_ms), simulated,
                                 flops(call.problem) / call.kernel_ms / 1e9, simulated));
    if (accuracy) {
        const std::string which = accuracy->rows == accuracy->of
                                      ? fmt::format("all {} rows", accuracy->rows)
                                      : fmt::format("{} of {} rows", accuracy->rows, accuracy->of);
        facts.add("error",
                  fmt::format(
                      "relative RMS {:.3e} ({:.1f} dB), largest {:.2e}{}; against fp64 on {}",
                      accuracy->error.relative_rms, accuracy->error.snr_db, accuracy->error.max_abs,
                      call.problem.lse ? fmt::format(", LSE within {:.1e}", accuracy->error.lse_max_abs) : "",
                      which));
        facts.add("verdict",
                  accuracy->passed
                      ? fmt::format("passes the accuracy gate: {:.3e} on {} rows, a plain emulation {:.3e}",
                                    accuracy->gate_relative_rms, accuracy->gate_rows,
                                    accuracy->emulation_relative_rms)
                      : "FAILS the accuracy gate: " + accuracy->message);
    }
    if (!call.guard_damage.empty()) {
        facts.add("guards", "DAMAGED: " + call.guard_damage);
    }
    facts.print();
}

ExitCode attention(const CommonOptions& common, const AttentionFlags& flags) {
    const Inputs inputs = load_inputs(flags.problem);
    Progress progress;
    CallRequest request{.mode = mode_named(flags.mode),
                        .budget_s = flags.budget_s,
                        .repeat = flags.repeat,
                        .progress = [&](const std::string& what, std::size_t done, std::size_t of) {
                            progress.update(what, done, of);
                        }};
    const CallResult call = run_call(common, inputs, request);
    std::optional<Accuracy> accuracy;
    if (const Check check = check_from(flags.check); check != Check::none) {
        accuracy = measure_accuracy(
            call.problem, inputs.view(), call.o, call.lse, check,
            [&](std::size_t done, std::size_t of) { progress.update("fp64 reference, head", done, of); });
    }
    progress.finish();
    if (common.json) {
        print_json(flags, inputs, call, accuracy);
    } else {
        print_table(inputs, call, accuracy);
    }
    return call.guard_damage.empty() && (!accuracy || accuracy->passed) ? ExitCode::ok
                                                                        : ExitCode::check_failed;
}

} // namespace

void add_attention(CLI::App& app, Invocation& invocation) {
    CLI::App* command =
        app.add_subcommand("attention", "One call on given or drawn input, checked against fp64");
    const std::shared_ptr<AttentionFlags> flags = std::make_shared<AttentionFlags>();
    add_common_flags(*command, invocation.common);
    add_problem_flags(*command, flags->problem, InputFlags::with);
    command
        ->add_option("--mode", flags->mode,
                     "off: default schedule, nothing stored; replay: a stored winner, else the default; "
                     "tune: tune on a "
                     "miss and store; must_hit: a miss is an error")
        ->check(CLI::IsMember({"off", "replay", "tune", "must_hit"}))
        ->envname("ZYFA_MODE")
        ->capture_default_str()
        ->group("Run");
    command->add_option("--budget", flags->budget_s, "Seconds that a tuning may take; 0: no limit")
        ->check(CLI::NonNegativeNumber.description(""))
        ->capture_default_str()
        ->type_name("S")
        ->group("Run");
    command
        ->add_option("--repeat", flags->repeat,
                     "Timed launches, of which the median counts (default: 1 simulated, 20 on a GPU)")
        ->type_name("N")
        ->group("Run");
    command
        ->add_option("--check", flags->check,
                     "Rows to compare with fp64; auto: all where that takes seconds, else a sample")
        ->check(CLI::IsMember({"auto", "all", "sample", "none"}))
        ->capture_default_str()
        ->group("Run");
    command->footer(R"(
Examples
  zyfa attention --input data/gqa_excerpt.safetensors
  zyfa attention --input data/gqa_excerpt.safetensors --seq 300 --mode off --json
  zyfa attention --batch 2 --heads-q 8 --heads-kv 2 --seq 512 --distribution logit-sd-4 --seed 7)");
    command->callback([&invocation, flags] {
        invocation.action = [&invocation, flags] { return attention(invocation.common, *flags); };
    });
}

} // namespace zyfa::cli
