// SPDX-License-Identifier: Apache-2.0
// One tuning from the first candidate to the verdict.
#include "tuner/tuner.hpp"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "runtime/versions.hpp"
#include "tuner/inputs.hpp"
#include "tuner/representative.hpp"
#include "tuner/search.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/test_bed.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// A candidate that was launched and passed the gate.
struct Passed {
    std::size_t measurement; ///< index in Outcome::measurements
    Binary* binary;
    BoundLaunch launch;
};

/// Times blocks of the candidates that passed.
class PassedTimer : public BlockTimer {
  public:
    PassedTimer(const std::shared_ptr<runtime::Runtime>& runtime, int device, const runtime::Stream& stream,
                std::vector<Passed>& passed)
        : runtime_(runtime), device_(device), stream_(stream), passed_(passed) {}
    double block_ms(std::size_t candidate, std::uint32_t launches) override {
        return event_ms(runtime_, device_, stream_, launches,
                        [&](void* stream) { passed_[candidate].launch(stream); });
    }

  private:
    const std::shared_ptr<runtime::Runtime>& runtime_;
    int device_;
    const runtime::Stream& stream_;
    std::vector<Passed>& passed_;
};

class Tuning {
  public:
    Tuning(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
           const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
           const Options& options, MeasurementSink& sink)
        : runtime_(runtime), device_(device), form_(form), problem_(problem), options_(options), sink_(sink),
          model_(options.policy.empty() ? runtime->simulated() : options.policy == "model"),
          cut_(representative(problem, runtime->simulated(), options.budget_s)), guard_(*runtime, device),
          inputs_(inputs.q.empty() ? drawn_inputs(cut_.problem) : inputs),
          binaries_(runtime, device, assembler, form, classify(problem)),
          bed_(runtime, device, form, cut_.problem, inputs_, options.gate_rows) {
        if (!model_ && !options.policy.empty() && options.policy != "race")
            throw Error(ErrorCode::invalid_argument, "policy",
                        "the timing policy is \"" + options.policy + "\"; accepted: \"model\", \"race\"");
        outcome_.gate_ms += watch_.ms();
        for (const runtime::DeviceInfo& info : runtime->devices())
            if (info.ordinal == device)
                clock_ghz_ = static_cast<double>(info.clock_khz) * 1e-6;
    }

    Outcome run() {
        points_ = search_points(form_, problem_, options_.candidates, options_.hint);
        double slowest = 0; // of the candidates so far: whether the next one still fits into the budget
        std::size_t done = 0;
        for (; done < points_.size() && (done == 0 || go_on(slowest)); ++done) {
            report(points_[done].schedule.canonical(), done);
            const Stopwatch candidate;
            try_candidate(points_[done]);
            slowest = std::max(slowest, candidate.seconds());
            if (lost_)
                throw Error(ErrorCode::device_error, "",
                            "the device does not answer after " + points_[done].schedule.canonical() + ": " +
                                outcome_.measurements.back().message);
        }
        for (std::size_t i = done; i < points_.size(); ++i)
            skip(points_[i]);
        report("choosing", points_.size());
        finish();
        return std::move(outcome_);
    }

  private:
    bool go_on(double next_s = 0) const {
        if (options_.cancelled && options_.cancelled())
            return false;
        return options_.budget_s <= 0 || watch_.seconds() + next_s < options_.budget_s;
    }

    void report(const std::string& what, std::size_t done) const {
        if (options_.progress)
            options_.progress(what, done, points_.size());
    }

    Measurement blank(const SearchPoint& point) const {
        Measurement measurement;
        measurement.schedule = point.schedule;
        measurement.policy = model_ ? "model" : "race";
        measurement.simulated = runtime_->simulated();
        return measurement;
    }

    void skip(const SearchPoint& point) {
        Measurement measurement = blank(point);
        measurement.status = CandidateStatus::skipped;
        measurement.message =
            options_.cancelled && options_.cancelled() ? "cancelled" : "the budget was spent";
        outcome_.measurements.push_back(std::move(measurement));
    }

    void try_candidate(const SearchPoint& point) {
        Measurement measurement = blank(point);
        std::optional<Passed> passed;
        if (point.rejection) {
            measurement.status = CandidateStatus::rejected_constraint;
            measurement.message = *point.rejection;
        } else if (Binary* binary = binaries_.get(point.schedule, measurement)) {
            passed = gate_and_time(point.schedule, *binary, measurement);
        }
        sink_.measured(measurement);
        outcome_.measurements.push_back(std::move(measurement));
        if (passed)
            passed_.push_back(std::move(*passed));
    }

    std::optional<Passed> gate_and_time(const Schedule& schedule, Binary& binary, Measurement& measurement) {
        BoundLaunch launch = bed_.bind(binary, schedule);
        double ms = 0;
        {
            const StopwatchScope timed(outcome_.gate_ms);
            ms = bed_.gate(schedule, launch, measurement);
            ++outcome_.gated;
        }
        if (measurement.status == CandidateStatus::crashed)
            lost_ = !bed_.device_alive();
        if (measurement.status != CandidateStatus::measured)
            return std::nullopt;
        const StopwatchScope timed(outcome_.tune_ms);
        std::uint32_t launches = 1;
        if (!model_) {
            // The gate's launches were the warm-up; the block's length comes from the second of them.
            launches = launches_for(options_.race.screen_ms, ms, options_.race.most_launches);
            ms = event_ms(runtime_, device_, bed_.stream(), launches, [&](void* stream) { launch(stream); });
        }
        ++outcome_.timed;
        measurement.median_ms = measurement.min_ms = measurement.max_ms = ms;
        measurement.blocks = 1;
        measurement.launches = launches;
        measurement.clock_ghz =
            runtime_->simulated() ? clock_ghz_ : 0; // a GPU's own is not known without telemetry
        measurement.message = cut_.note;
        return Passed{outcome_.measurements.size(), &binary, std::move(launch)};
    }

    Measurement& of(const Passed& passed) { return outcome_.measurements[passed.measurement]; }

    void finish() {
        if (passed_.empty()) {
            const Measurement& first = outcome_.measurements.front();
            const bool build = first.status == CandidateStatus::assemble_failed;
            const bool device =
                first.status == CandidateStatus::crashed || first.status == CandidateStatus::load_failed;
            throw Error(build    ? ErrorCode::assemble_failed
                        : device ? ErrorCode::device_error
                                 : ErrorCode::internal,
                        "",
                        "no schedule of " + std::string(form_.name()) + " can be used for " +
                            to_string(problem_) + "; " + first.schedule.canonical() + " is " +
                            to_string(first.status) + ": " + first.message);
        }
        const Verdict verdict = choose();
        const Passed& winner = passed_[verdict.winner];
        outcome_.schedule = of(winner).schedule;
        outcome_.kernel = winner.binary->kernel;
        outcome_.code_object = winner.binary->code;
        outcome_.evidence.winner = of(winner);
        outcome_.evidence.fallback = outcome_.measurements.front();
        outcome_.evidence.verdict = verdict.text;
        outcome_.evidence.data_profile = inputs_.profile;
        outcome_.evidence.unix_time = static_cast<std::uint64_t>(std::time(nullptr));
        const runtime::Versions versions = runtime::versions(*runtime_, device_);
        outcome_.evidence.versions_json = nlohmann::json{
            {"zyfa", ZYFA_VERSION},
            {"hip", versions.hip},
            {"driver", versions.driver},
            {"firmware", versions.firmware},
            {"toolchain",
             outcome_.code_object.toolchain}}.dump();
        outcome_.assembled = binaries_.assembled();
        outcome_.instantiate_ms = binaries_.instantiate_ms();
        outcome_.assemble_ms = binaries_.assemble_ms();
    }

    Verdict choose() {
        const StopwatchScope timed(outcome_.tune_ms);
        std::vector<double> times;
        for (const Passed& passed : passed_)
            times.push_back(of(passed).median_ms);
        if (passed_.front().measurement != 0) { // the default did not pass: the fastest of the others
            const auto fastest = std::min_element(times.begin(), times.end());
            return {static_cast<std::size_t>(fastest - times.begin()), "the default schedule failed"};
        }
        if (model_)
            return choose_by_model(times, std::max(options_.tie, model_error));
        PassedTimer timer(runtime_, device_, bed_.stream(), passed_);
        const std::vector<FinalistTimes> finals =
            race(timer, times, options_.race, options_.repeats, [this] { return go_on(); });
        for (const FinalistTimes& final : finals)
            record(final);
        return choose_by_race(finals, options_.tie);
    }

    /// Replaces the screening block's numbers by those of the final.
    void record(const FinalistTimes& final) {
        const auto store = [&](const Passed& passed, std::span<const double> blocks, std::uint32_t launches) {
            Measurement& measurement = of(passed);
            const Spread times = spread(blocks);
            measurement.median_ms = times.median;
            measurement.min_ms = times.min;
            measurement.max_ms = times.max;
            measurement.blocks = static_cast<std::uint32_t>(2 * blocks.size());
            measurement.launches = launches;
            sink_.measured(measurement);
        };
        if (final.candidate_ms.empty())
            return;
        store(passed_[final.candidate], final.candidate_ms, final.launches);
        store(passed_.front(), final.default_ms, final.default_launches);
    }

    const std::shared_ptr<runtime::Runtime>& runtime_;
    int device_;
    const templates::Template& form_;
    const Problem& problem_;
    const Options& options_;
    MeasurementSink& sink_;
    Stopwatch watch_;
    bool model_;
    Representative cut_;
    runtime::DeviceGuard guard_;
    TuningInputs inputs_;
    Binaries binaries_;
    TestBed bed_;
    double clock_ghz_ = 0;
    bool lost_ = false;
    std::vector<SearchPoint> points_;
    std::vector<Passed> passed_;
    Outcome outcome_;
};

} // namespace

Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
             const Options& options, MeasurementSink& sink) {
    return Tuning(runtime, device, assembler, form, problem, inputs, options, sink).run();
}

Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const Problem& problem, const TuningInputs& inputs, const Options& options,
             MeasurementSink& sink) {
    return tune(runtime, device, assembler, templates::template_for(problem), problem, inputs, options, sink);
}

} // namespace zyfa::tuner
