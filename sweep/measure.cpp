// SPDX-License-Identifier: Apache-2.0
#include "sweep/measure.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "attention/services.hpp"
#include "core/distributions.hpp"
#include "core/keys.hpp"
#include "templates/template.hpp"
#include "tuner/binaries.hpp"
#include "tuner/inputs.hpp"
#include "tuner/representative.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

namespace zyfa::sweep {

namespace {

class Ignore : public tuner::MeasurementSink {
  public:
    void measured(const Measurement&) override {}
};

/// Drawn data, with the descales of its codes in the problem. Only as much as is measured.
tuner::TuningInputs draw(const Spec& spec, bool simulated, Problem& problem) {
    Problem drawn = tuner::representative(problem, simulated, spec.tuning.budget_s).problem;
    constexpr std::uint64_t most_elements = std::uint64_t{1} << 24;
    tuner::TuningInputs inputs = tuner::drawn_inputs(drawn, spec.distribution, spec.seed, most_elements);
    if (problem.dtype == DType::bf16)
        return inputs;
    // As drawn_inputs does it: a large problem repeats the data of one key-value head.
    const auto elements = static_cast<std::uint64_t>(
        drawn.batch * (drawn.heads_q * drawn.seq_q + 2 * drawn.heads_kv * drawn.seq_kv) * drawn.dim_qk);
    if (elements > most_elements) {
        const float scale = drawn.softmax_scale;
        drawn = Problem::contiguous(drawn.dtype, 1, drawn.heads_q / drawn.heads_kv, 1, drawn.seq_q,
                                    drawn.seq_kv, drawn.dim_qk, drawn.dim_v, drawn.mask);
        drawn.softmax_scale = scale;
    }
    const DrawnInputs codes = draw_inputs(drawn, spec.distribution, spec.seed);
    problem.q_descale = codes.q_descale;
    problem.k_descale = codes.k_descale;
    problem.v_descale = codes.v_descale;
    return inputs;
}

/// The sweep's candidates for a task. They name what differs from the problem's default schedule.
std::vector<Schedule> candidates_of(const Spec& spec, const Task& task) {
    const Schedule standard = templates::template_named(task.template_name).default_schedule(task.problem);
    std::vector<Schedule> result;
    for (const Schedule& candidate : spec.candidates) {
        if (candidate.template_name != task.template_name)
            continue;
        Schedule whole = standard;
        for (const auto& [name, value] : candidate.parameters)
            whole.parameters[name] = value;
        result.push_back(std::move(whole));
    }
    return result;
}

/// Adds a layer's measurement of the same schedule: times add up, the worst accuracy counts, and a schedule
/// that fails on one layer has failed.
void add(Measurement& sum, const Measurement& layer) {
    if (sum.status != CandidateStatus::measured)
        return;
    if (layer.status != CandidateStatus::measured) {
        sum = layer;
        return;
    }
    sum.median_ms += layer.median_ms;
    sum.min_ms += layer.min_ms;
    sum.max_ms += layer.max_ms;
    sum.blocks += layer.blocks;
    sum.launches += layer.launches;
    sum.relative_rms = std::max(sum.relative_rms, layer.relative_rms);
    sum.emulation_relative_rms = std::max(sum.emulation_relative_rms, layer.emulation_relative_rms);
    sum.max_abs = std::max(sum.max_abs, layer.max_abs);
    sum.lse_max_abs = std::max(sum.lse_max_abs, layer.lse_max_abs);
    sum.gate_rows += layer.gate_rows;
}

/// Over several layers: the fastest in total, if it beats the default by more than a tie.
void choose(Result& result, double tie) {
    const Measurement* best = nullptr;
    for (const Measurement& measurement : result.measurements)
        if (measurement.status == CandidateStatus::measured &&
            (!best || measurement.median_ms < best->median_ms))
            best = &measurement;
    if (!best)
        throw Error(ErrorCode::internal, "", "no schedule passed on every captured layer");
    const Measurement& standard = result.measurements.front();
    Evidence& evidence = result.evidence;
    evidence.fallback = standard;
    evidence.winner = *best;
    if (standard.status != CandidateStatus::measured) {
        evidence.verdict = "the default schedule failed";
        return;
    }
    const double gain = 1 - best->median_ms / standard.median_ms;
    const double least = best->simulated ? std::max(tie, tuner::model_error) : tie;
    if (best == &standard || gain < least) {
        evidence.winner = standard;
        evidence.verdict = best == &standard ? "default" : "tie";
    } else {
        const std::string tenths = std::to_string(std::max(0L, std::lround(gain * 1000)));
        const std::string padded = tenths.size() < 2 ? "0" + tenths : tenths;
        evidence.verdict = "faster by " + padded.substr(0, padded.size() - 1) + "." + padded.back() + "%";
    }
}

/// Binaries of schedules that a pack may need, as far as they could be assembled.
void add_binaries(Bench& bench, const Task& task, const std::vector<Schedule>& schedules, Result& result) {
    const templates::Template& form = templates::template_named(task.template_name);
    const ProblemClass problem_class = classify(task.problem);
    std::set<Digest> known;
    for (const Schedule& schedule : schedules) {
        const templates::Kernel kernel = form.instantiate(problem_class, schedule);
        const jit::CodeObject* code = bench.assembler.find(kernel.assembly);
        const BinaryKey key = tuner::binary_key(kernel);
        if (!code || !known.insert(key.digest()).second)
            continue;
        cache::BinaryRecord record;
        record.key = key.digest();
        record.key_text = key.canonical();
        record.kernel_name = kernel.name;
        record.target = kernel.target;
        record.toolchain = code->toolchain;
        record.code_object = code->elf;
        result.binaries.push_back(std::move(record));
    }
}

} // namespace

jit::CodeObject KeepingAssembler::assemble(const std::string& assembly, const std::string& target,
                                           const std::string& name_for_messages) {
    const Digest key = digest(assembly);
    const auto known = kept_.find(key);
    if (known != kept_.end())
        return known->second;
    jit::CodeObject code = assembler_->assemble(assembly, target, name_for_messages);
    ++assembled_;
    return kept_.emplace(key, std::move(code)).first->second;
}

const jit::CodeObject* KeepingAssembler::find(const std::string& assembly) const {
    const auto known = kept_.find(digest(assembly));
    return known == kept_.end() ? nullptr : &known->second;
}

std::optional<Result> measure(Bench& bench, const Plan& plan, const Task& task, const Request& request) {
    const Spec& spec = plan.spec;
    const bool simulated = bench.runtime->simulated();
    tuner::Options options;
    options.budget_s = spec.tuning.budget_s;
    options.gate_rows = spec.tuning.gate_rows;
    options.repeats = spec.tuning.repeats;
    options.tie = spec.tuning.tie;
    options.policy = spec.tuning.policy;
    options.race.finalists = spec.agreement.finalists;
    options.progress = request.progress;
    options.cancelled = request.cancelled;
    if (request.stage == Stage::confirm)
        options.candidates = request.finalists;
    else if (!spec.candidates.empty())
        options.candidates = candidates_of(spec, task);

    const std::uint64_t assembled_before = bench.assembler.assembled();
    Result result;
    result.task = task.key;
    result.stage = request.stage;
    const std::size_t runs = std::max<std::size_t>(task.layers.size(), 1);
    for (std::size_t run = 0; run < runs; ++run) {
        Problem problem = task.problem;
        const tuner::TuningInputs inputs = task.layers.empty()
                                               ? draw(spec, simulated, problem)
                                               : bench.layer(bench.layer_path(task.layers[run]), problem);
        Ignore ignore;
        tuner::Outcome outcome =
            tuner::tune(bench.runtime, bench.ordinal, bench.assembler, problem, inputs, options, ignore);
        if (request.cancelled && request.cancelled())
            return std::nullopt;
        result.gated += outcome.gated;
        result.timed += outcome.timed;
        if (run == 0) {
            result.evidence = std::move(outcome.evidence);
            result.measurements = std::move(outcome.measurements);
            continue;
        }
        result.evidence.data_profile += "+" + outcome.evidence.data_profile;
        for (Measurement& sum : result.measurements) {
            const auto same = std::find_if(outcome.measurements.begin(), outcome.measurements.end(),
                                           [&](const Measurement& m) { return m.schedule == sum.schedule; });
            if (same != outcome.measurements.end())
                add(sum, *same);
        }
    }
    if (runs > 1)
        choose(result, spec.tuning.tie);
    result.assembled = bench.assembler.assembled() - assembled_before;
    for (const runtime::DeviceInfo& device : bench.runtime->devices())
        if (device.ordinal == bench.ordinal)
            result.winner_key = winner_key(task.problem, call::identity_of(device)).canonical();
    add_binaries(bench, task, finalists_of(result, spec.agreement.finalists), result);
    return result;
}

std::vector<Schedule> finalists_of(const Result& search, std::size_t count) {
    std::vector<const Measurement*> passed;
    for (const Measurement& measurement : search.measurements)
        if (measurement.status == CandidateStatus::measured)
            passed.push_back(&measurement);
    std::sort(passed.begin(), passed.end(), [](const Measurement* a, const Measurement* b) {
        return a->median_ms != b->median_ms ? a->median_ms < b->median_ms : a < b; // both of one list
    });
    std::vector<Schedule> schedules{search.evidence.fallback.schedule};
    const auto add_once = [&schedules](const Schedule& schedule) {
        if (std::find(schedules.begin(), schedules.end(), schedule) == schedules.end())
            schedules.push_back(schedule);
    };
    add_once(search.evidence.winner.schedule);
    for (std::size_t i = 0; i < passed.size() && i < count; ++i)
        add_once(passed[i]->schedule);
    return schedules;
}

} // namespace zyfa::sweep
