// SPDX-License-Identifier: Apache-2.0
// One tuning from the first candidate to the verdict.
#include "tuner/tuner.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/digest.hpp"
#include "core/problem_json.hpp"
#include "runtime/versions.hpp"
#include "tuner/device_lock.hpp"
#include "tuner/finals.hpp"
#include "tuner/gate_worker.hpp"
#include "tuner/guide.hpp"
#include "tuner/hung_devices.hpp"
#include "tuner/inputs.hpp"
#include "tuner/journal.hpp"
#include "tuner/known.hpp"
#include "tuner/launch_device.hpp"
#include "tuner/layer_beds.hpp"
#include "tuner/representative.hpp"
#include "tuner/search.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/strategy.hpp"
#include "tuner/tensor_layout.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

/// A candidate that was launched and passed the gate, in this process or an earlier one.
struct Passed {
    std::size_t measurement; ///< index in Outcome::measurements
    Binary* binary = nullptr;
    std::optional<PassLaunch> launch; ///< made when it is needed
};

/// Times blocks of the candidates that passed.
class PassedTimer : public BlockTimer {
  public:
    using Launch = std::function<void(std::size_t candidate, void* stream)>;
    PassedTimer(const std::shared_ptr<runtime::Runtime>& runtime, int device, const runtime::Stream& stream,
                double limit_s, Launch launch)
        : runtime_(runtime), device_(device), stream_(stream), limit_s_(limit_s), launch_(std::move(launch)) {
    }
    double block_ms(std::size_t candidate, std::uint32_t launches) override {
        return event_ms(
            runtime_, device_, stream_, launches, [&](void* stream) { launch_(candidate, stream); },
            limit_s_);
    }

  private:
    const std::shared_ptr<runtime::Runtime>& runtime_;
    int device_;
    const runtime::Stream& stream_;
    double limit_s_;
    Launch launch_;
};

void check_guide(const Options& options, Protocol protocol) {
    if (options.guide.empty())
        return;
    if (options.guide != "model")
        throw Error(ErrorCode::invalid_argument, "guide",
                    "the guide is \"" + options.guide + "\"; accepted: \"model\"");
    if (protocol == Protocol::model)
        throw Error(ErrorCode::invalid_argument, "guide",
                    "the guide is \"model\", and so is the timing policy: there is nothing else to measure; "
                    "accepted with a guide: the other policies");
}

/// What copies take by themselves is not known before the problem is cut; they are few where it is large.
std::uint64_t memory_of_one_copy(const Options& options) {
    const std::uint32_t copies = options.rotating > 0 ? options.rotating : 2;
    return options.memory_bytes / copies;
}

/// Candidates that were named are all wanted.
Strategy strategy_of(const Options& options) {
    const bool named = options.candidates || !options.files.empty();
    return !options.search.empty() ? strategy_named(options.search)
           : named                 ? Strategy::exhaustive
                                   : Strategy::coordinate;
}

Protocol protocol_of(const Options& options, const runtime::Runtime& runtime) {
    if (options.policy.empty())
        return runtime.simulated() ? Protocol::model : Protocol::race;
    const Protocol protocol = protocol_named(options.policy);
    if (protocol == Protocol::model && !runtime.simulated()) // it would judge by one launch each
        throw Error(
            ErrorCode::invalid_argument, "policy",
            "the timing policy is \"model\", and the device is no simulator, whose times are computed; "
            "accepted: the other policies, with the guide \"model\" where the timing model is to say what is "
            "measured");
    return protocol;
}

/// Inputs for the problem that is measured: given ones are in the strides of the whole one or, from a sweep,
/// already of the cut one.
TuningInputs inputs_for(const TuningInputs& given, const Problem& asked, const Problem& cut) {
    if (given.q.empty())
        return drawn_inputs(cut);
    const bool same = asked.q == cut.q && asked.k == cut.k && asked.v == cut.v;
    return same || given.q.size() == layout_q(cut).extent_bytes() ? given : repacked(given, asked, cut);
}

runtime::DeviceInfo info_of(const runtime::Runtime& runtime, int device) {
    for (const runtime::DeviceInfo& info : runtime.devices())
        if (info.ordinal == device)
            return info;
    throw Error(ErrorCode::no_device, "device", "no device has the ordinal " + std::to_string(device));
}

class Tuning {
  public:
    Tuning(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
           const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
           const Options& options, MeasurementSink& sink)
        : runtime_(runtime), device_(device), form_(form), problem_(problem), options_(options), sink_(sink),
          protocol_(protocol_of(options, *runtime)), model_(protocol_ == Protocol::model),
          strategy_(strategy_of(options)),
          cut_(representative(problem, runtime->simulated(), options.budget_s, memory_of_one_copy(options))),
          inputs_(inputs_for(inputs, problem, cut_.problem)),
          binaries_(runtime, device, assembler, form, classify(problem), options.files),
          bed_(runtime, device, form, cut_.problem, inputs_, options.gate_rows) {
        if (options.rotating != 1)
            bed_.rotate(inputs_, options.rotating);
        outcome_.gate_ms += watch_.ms();
        check_guide(options, protocol_);
        info_ = info_of(*runtime, device);
        telemetry_ = open_telemetry(runtime, info_, no_telemetry_);
    }

    /// Not empty: a candidate hangs on the device and cannot be ended, and this object must not be destroyed.
    const std::string& hung() const noexcept { return hung_; }
    /// What hangs in the final, after the launches that have passed.
    void note_hang(const Error& error) {
        if (error.argument() == hang_argument && hung_.empty() && !lost_ &&
            !(runtime::stop_kernels(*runtime_, device_) && bed_.device_alive()))
            hung_ =
                std::string("a schedule hangs on device ") + std::to_string(device_) + ", " + error.what();
    }
    /// Others than this process may still use the device.
    void let_go() {
        worker_.reset();
        lock_ = DeviceLock();
    }

    Outcome run() {
        lock_device();
        open_journal();
        known_ = Known(options_.fresh ? std::vector<Measurement>{} : options_.known, subject());
        points_ = search_points(form_, problem_, candidates(), options_.hint);
        admit_files();
        put_baseline_first();
        leave_banned_out();
        ask_guide();
        outcome_.measurements.reserve(points_.size());
        measured_.assign(points_.size(), none);
        recall();
        const Trace trace = search(
            strategy_, points_, [this](std::size_t point, double effort) { return evaluate(point, effort); },
            search_options());
        for (std::size_t i = 0; i < points_.size(); ++i)
            if (measured_[i] == none)
                leave_out(points_[i], trace);
        report("choosing", points_.size());
        finish();
        return std::move(outcome_);
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};

    /// Computed times are not disturbed by others; everything else has the device to itself.
    void lock_device() {
        if (runtime_->simulated() && model_)
            return;
        lock_ = DeviceLock(info_.pci, {}, [this] {
            report("waiting for the process that tunes on this device", 0);
            return go_on();
        });
        if (!lock_.held())
            throw Error(ErrorCode::device_error, "lock",
                        "another process tunes on device " + std::to_string(device_) + " (" +
                            device_lock_path(info_.pci) + ")");
    }

    std::optional<std::vector<Schedule>> candidates() const {
        std::optional<std::vector<Schedule>> all = options_.candidates;
        if (!options_.files.empty() && !all)
            all.emplace();
        for (const ForeignCandidate& file : options_.files)
            all->push_back(file.schedule);
        return all;
    }

    /// The template does not know a file's schedule; it knows the one whose launches the file takes.
    void admit_files() {
        for (SearchPoint& point : points_)
            for (const ForeignCandidate& file : options_.files)
                if (point.schedule == file.schedule)
                    point.rejection = form_.reject(problem_, without_file(file.schedule));
    }

    void put_baseline_first() {
        if (!options_.baseline || points_.front().schedule == *options_.baseline)
            return;
        const auto found = std::find_if(points_.begin(), points_.end(), [&](const SearchPoint& point) {
            return point.schedule == *options_.baseline;
        });
        if (found == points_.end())
            throw Error(ErrorCode::invalid_argument, "baseline",
                        options_.baseline->canonical() + " is not among the candidates");
        if (found->rejection)
            throw Error(ErrorCode::invalid_argument, "baseline",
                        options_.baseline->canonical() + " is not allowed: " + *found->rejection);
        std::rotate(points_.begin(), found, found + 1);
        const Schedule fallback = form_.default_schedule(problem_);
        const std::vector<Schedule> asked = candidates().value_or(std::vector<Schedule>{});
        if (std::find(asked.begin(), asked.end(), fallback) == asked.end()) // nobody has asked for it
            std::erase_if(points_, [&](const SearchPoint& point) { return point.schedule == fallback; });
    }

    /// Where the default schedule is banned, the point nearest to it takes its part.
    void leave_banned_out() {
        if (options_.banned.empty())
            return;
        for (SearchPoint& point : points_)
            if (const auto& banned = options_.banned;
                std::find(banned.begin(), banned.end(), point.schedule.canonical()) != banned.end())
                point.rejection = "banned by hand";
        const auto first = std::find_if(points_.begin(), points_.end(),
                                        [](const SearchPoint& point) { return !point.rejection; });
        if (first == points_.end())
            throw Error(ErrorCode::unsupported, "problem",
                        "every schedule of " + std::string(form_.name()) + " is banned for " +
                            to_string(problem_));
        std::rotate(points_.begin(), first, first + 1);
    }

    /// What is measured, on what, and how: measurements of one subject can stand in for one another.
    std::string subject() {
        if (!subject_.empty())
            return subject_;
        DigestBuilder data;
        data.add(inputs_.q).add(inputs_.k).add(inputs_.v);
        for (const TuningInputs::Layer& layer : inputs_.layers)
            data.add(layer.q).add(layer.k).add(layer.v);
        const runtime::Versions now = runtime::versions(*runtime_, device_);
        nlohmann::json all{{"problem", to_string(cut_.problem)},
                           {"template", form_.name()},
                           {"device", info_.name + " " + info_.pci},
                           {"policy", to_string(protocol_)},
                           {"rows", options_.gate_rows},
                           {"data", data.finish().hex()},
                           {"profile", profile_name(inputs_)},
                           {"versions", {now.hip, now.driver, now.firmware}}};
        if (options_.rotating != 1)
            all["rotating"] = options_.rotating;
        return subject_ = digest(all.dump()).hex();
    }

    void open_journal() {
        if (options_.journal.empty())
            return;
        const nlohmann::json subject{{"subject", this->subject()}, {"zyfa", ZYFA_VERSION}};
        keep_journal([&] {
            if (options_.fresh)
                unlink(options_.journal.c_str());
            journal_.emplace(options_.journal, subject.dump());
        });
    }

    /// Finds what need not be measured. The default is measured again where times are not computed: it tells
    /// how this day's compare with those of the earlier ones.
    void recall() {
        for (const SearchPoint& point : points_)
            recalled_.push_back(recalled(point));
        if (!model_ && recalled_.front())
            default_then_ms_ = std::exchange(recalled_.front(), nullptr)->screen_ms;
    }

    const Measurement* recalled(const SearchPoint& point) {
        if (point.rejection || !known_.has(point.schedule))
            return nullptr;
        Measurement identified;
        if (!binaries_.identify(point.schedule, identified))
            return nullptr;
        const Measurement* known = known_.find(point.schedule, identified.binary_digest);
        if (known && known->status == CandidateStatus::measured)
            bed_.remember(point.schedule, known->output_bits);
        return known;
    }

    /// A tuning that cannot be resumed is better than none: the disk may be full.
    template <class Action>
    void keep_journal(Action&& action) {
        try {
            action();
        } catch (const Error& error) {
            journal_.reset();
            report(error.what(), 0);
        }
    }

    void ask_guide() {
        if (options_.guide.empty())
            return;
        const GuideInput input{info_,
                               binaries_.assembler(),
                               form_,
                               cut_.problem,
                               inputs_,
                               options_.budget_s,
                               [this] { return go_on(); },
                               [this](const std::string& what, std::size_t done) {
                                   if (options_.progress)
                                       options_.progress("timing model: " + what, done, points_.size());
                               }};
        const Guidance guidance = model_times(input, points_);
        points_ = prune(std::move(points_), guidance);
    }

    /// Values off the grid only where the whole space is searched.
    SearchOptions search_options() {
        SearchOptions options;
        if (options_.candidates)
            return options;
        for (const templates::ParameterSpec& axis : form_.space(problem_))
            if (axis.range && axis.grid.size() > 1)
                options.continuous.push_back({axis.name, axis.range->low, axis.range->high});
        options.propose = [this](const Schedule& schedule) -> std::optional<std::size_t> {
            for (std::size_t i = 0; i < points_.size(); ++i)
                if (points_[i].schedule == schedule)
                    return i;
            const auto& banned = options_.banned;
            if (form_.reject(problem_, schedule) ||
                std::find(banned.begin(), banned.end(), schedule.canonical()) != banned.end())
                return std::nullopt;
            points_.push_back({schedule, std::nullopt, distance(schedule, points_.front().schedule), false});
            measured_.push_back(none);
            recalled_.push_back(recalled(points_.back()));
            return points_.size() - 1;
        };
        return options;
    }

    std::string versions() const {
        const runtime::Versions now = runtime::versions(*runtime_, device_);
        return nlohmann::json{
            {"zyfa", ZYFA_VERSION}, {"hip", now.hip}, {"driver", now.driver}, {"firmware", now.firmware}}
            .dump();
    }

    bool go_on(double next_s = 0) const {
        if (options_.cancelled && options_.cancelled())
            return false;
        return options_.budget_s <= 0 || watch_.seconds() + next_s < options_.budget_s;
    }

    /// "SCHEDULE; leader SCHEDULE 1.23 ms; 12 s left".
    void report(std::string what, std::size_t done) const {
        if (!options_.progress)
            return;
        if (best_ != none)
            what += "; leader " + outcome_.measurements[best_].schedule.canonical() + " " +
                    std::to_string(outcome_.measurements[best_].median_ms) + " ms";
        if (options_.budget_s > 0)
            what += "; " +
                    std::to_string(static_cast<int>(std::max(0.0, options_.budget_s - watch_.seconds()))) +
                    " s left";
        options_.progress(what, done, points_.size());
    }

    std::optional<double> evaluate(std::size_t point, double effort) {
        if (measured_[point] == none) {
            if (point != 0 && !recalled_[point] && !go_on(slowest_s_))
                return std::nullopt;
            report(points_[point].schedule.canonical(), outcome_.measurements.size());
            const Stopwatch candidate;
            measured_[point] = outcome_.measurements.size();
            if (recalled_[point])
                take_recalled(*recalled_[point]);
            else
                try_candidate(points_[point], effort);
            slowest_s_ = std::max(slowest_s_, candidate.seconds());
            if (lost_)
                throw Error(ErrorCode::device_error, hung_.empty() ? "" : hang_argument,
                            "the device does not answer after " + points_[point].schedule.canonical() + ": " +
                                outcome_.measurements.back().message);
        } else if (!model_ && outcome_.measurements[measured_[point]].status == CandidateStatus::measured) {
            if (!go_on())
                return std::nullopt;
            Measurement& again = outcome_.measurements[measured_[point]];
            for (Passed& passed : passed_)
                if (passed.measurement == measured_[point])
                    screen(passed, again, again.median_ms, effort);
        }
        const std::size_t index = measured_[point];
        const Measurement& measurement = outcome_.measurements[index];
        if (measurement.status != CandidateStatus::measured)
            return std::numeric_limits<double>::infinity();
        if (best_ == none || measurement.median_ms < outcome_.measurements[best_].median_ms)
            best_ = index;
        return measurement.median_ms;
    }

    Measurement blank(const SearchPoint& point) const {
        Measurement measurement;
        measurement.schedule = point.schedule;
        measurement.policy = model_ ? "model" : "race";
        measurement.simulated = runtime_->simulated();
        for (const ForeignCandidate& file : options_.files)
            if (file.schedule == point.schedule)
                measurement.provenance = file.provenance;
        measurement.subject = subject_;
        return measurement;
    }

    void leave_out(const SearchPoint& point, const Trace& trace) {
        Measurement measurement = blank(point);
        if (point.rejection) {
            measurement.status =
                point.pruned ? CandidateStatus::skipped : CandidateStatus::rejected_constraint;
            measurement.message = *point.rejection;
            sink_.measured(measurement);
        } else {
            measurement.status = CandidateStatus::skipped;
            const bool cancelled = options_.cancelled && options_.cancelled();
            const bool ended = trace.points > 0 && go_on(slowest_s_);
            measurement.message = cancelled ? "cancelled"
                                  : ended
                                      ? std::string("passed by in the ") + to_string(strategy_) + " search"
                                      : "the budget was spent";
            unfinished_ = unfinished_ || !ended;
        }
        outcome_.measurements.push_back(std::move(measurement));
    }

    void try_candidate(const SearchPoint& point, double effort) {
        Measurement measurement = blank(point);
        std::optional<Passed> passed;
        if (journal_ && journal_->lost(point.schedule) >= 2) {
            measurement.status = CandidateStatus::crashed;
            measurement.message = "two tunings ended while they ran it";
        } else if (Binary* binary = binaries_.get(point.schedule, measurement)) {
            // The default runs again in any case: the bits of the others are compared with its.
            const auto known = journal_ && !outcome_.measurements.empty()
                                   ? journal_->find(point.schedule, measurement.binary_digest)
                                   : std::nullopt;
            if (known) {
                measurement = *known;
                ++outcome_.resumed;
                if (measurement.status == CandidateStatus::measured)
                    passed = Passed{outcome_.measurements.size(), binary, std::nullopt};
            } else if (!ready_worker()) {
                measurement.status = CandidateStatus::skipped;
                measurement.message = "the budget was spent";
                unfinished_ = true;
            } else {
                if (journal_)
                    keep_journal([&] { journal_->begin(point.schedule); });
                passed = gate_and_time(point.schedule, *binary, measurement, effort);
                if (cut_short_) // nothing is known of it: it counts as lost, and is tried once more
                    unfinished_ = true;
                else if (journal_)
                    keep_journal([&] { journal_->end(measurement); });
            }
        }
        if (measurement.status != CandidateStatus::skipped)
            sink_.measured(measurement);
        outcome_.measurements.push_back(std::move(measurement));
        if (passed)
            passed_.push_back(std::move(*passed));
    }

    /// In the times of this tuning: those of an earlier one, by what the default takes now and took then.
    void take_recalled(Measurement measurement) {
        ++outcome_.recalled;
        Binary* binary = binaries_.identify(measurement.schedule, measurement);
        const bool passed = measurement.status == CandidateStatus::measured;
        if (passed && !model_) {
            const Measurement& first = outcome_.measurements.front();
            if (first.status == CandidateStatus::measured && default_then_ms_ > 0 &&
                measurement.screen_ms > 0)
                measurement.screen_ms *= first.screen_ms / default_then_ms_;
            measurement.median_ms = measurement.min_ms = measurement.max_ms = measurement.screen_ms;
            measurement.gain = measurement.gain_low = measurement.gain_high = 0;
            measurement.block_ms.clear();
        }
        sink_.measured(measurement);
        if (passed)
            passed_.push_back({outcome_.measurements.size(), binary, std::nullopt});
        outcome_.measurements.push_back(std::move(measurement));
    }

    std::optional<Passed> gate_and_time(const Schedule& schedule, Binary& binary, Measurement& measurement,
                                        double effort) {
        cut_short_ = false;
        if (!passes_in_worker(schedule, binary, measurement))
            return std::nullopt;
        Passed passed{outcome_.measurements.size(), &binary, bed_.bind(binary, schedule)};
        double ms = 0;
        {
            const StopwatchScope timed(outcome_.gate_ms);
            ms = bed_.gate(schedule, *passed.launch, measurement, wait_limit());
            ++outcome_.gated;
        }
        if (measurement.status == CandidateStatus::crashed)
            lost_ = !bed_.device_alive();
        if (measurement.status == CandidateStatus::timed_out)
            give_up(schedule, measurement);
        if (measurement.status != CandidateStatus::measured)
            return std::nullopt;
        // The gate's launches were the warm-up; the block's length comes from the second of them.
        try {
            screen(passed, measurement, ms, effort);
        } catch (const Error& error) {
            if (error.argument() != hang_argument)
                throw;
            measurement.status = CandidateStatus::timed_out;
            measurement.message = error.what();
            give_up(schedule, measurement);
            return std::nullopt;
        }
        ++outcome_.timed;
        if (!model_ && !bed_.still_right(schedule, measurement))
            return std::nullopt;
        measurement.message = cut_.note;
        if (!bed_.note().empty())
            measurement.message += (measurement.message.empty() ? "" : "; ") + bed_.note();
        return passed;
    }

    /// Seconds of wall clock that a wait for the candidate at hand may take; 0: no limit. The default
    /// schedule has all the time it needs: without it there is nothing to serve. What is merely slow must not
    /// be taken for a hang on a GPU, where a kernel cannot be ended: there the budget is exceeded by a second
    /// and more.
    double wait_limit() const {
        double limit = options_.candidate_limit_s;
        if (options_.budget_s > 0 && !outcome_.measurements.empty()) {
            const double more = runtime_->simulated() ? 0 : 1 + 2 * slowest_s_;
            const double left = std::max(0.05, options_.budget_s - watch_.seconds() + more);
            limit = limit > 0 ? std::min(limit, left) : left;
        }
        return limit;
    }

    /// The same in the final, of launches that were seen to end.
    double final_limit() const {
        return options_.candidate_limit_s > 0 || options_.budget_s > 0 ? std::max(10.0, 20 * slowest_s_) : 0;
    }

    /// A candidate is still on the device when its time is over.
    void give_up(const Schedule& schedule, Measurement& measurement) {
        cut_short_ = options_.candidate_limit_s <= 0;
        if (cut_short_)
            measurement.message += ", and the budget is spent";
        if (runtime::stop_kernels(*runtime_, device_)) {
            measurement.message += "; it was stopped";
            lost_ = !bed_.device_alive();
            return;
        }
        measurement.message += "; it hangs on the device, which this process cannot use any more";
        hung_ = schedule.canonical() + " hangs on device " + std::to_string(device_);
        lost_ = true;
    }

    /// Before a candidate is begun: a process that cannot be started says nothing about it. False where the
    /// budget ended meanwhile, with others measured.
    bool ready_worker() {
        if (options_.worker.empty())
            return true;
        const StopwatchScope timed(outcome_.gate_ms);
        if (!worker_)
            worker_.emplace(options_.worker, *runtime_, device_, form_.name(), cut_.problem, inputs_,
                            options_.gate_rows);
        try {
            worker_->make_ready(options_.budget_s > 0 ? std::max(0.05, options_.budget_s - watch_.seconds())
                                                      : 120);
            return true;
        } catch (const Error&) {
            if (outcome_.measurements.empty() || go_on())
                throw;
            return false;
        }
    }

    /// What a process of its own has not survived, or has found wrong, does not get here.
    bool passes_in_worker(const Schedule& schedule, const Binary& binary, Measurement& measurement) {
        if (options_.worker.empty())
            return true;
        const StopwatchScope timed(outcome_.gate_ms);
        const double own_limit = options_.candidate_limit_s > 0 ? options_.candidate_limit_s
                                 : slowest_gate_s_ > 0          ? std::max(5.0, 20 * slowest_gate_s_)
                                                                : 60.0;
        double limit = own_limit;
        if (options_.budget_s > 0)
            limit = std::min(limit, std::max(0.05, options_.budget_s - watch_.seconds()));
        const Stopwatch gate;
        const bool passed = worker_->passes(schedule, binary, limit, measurement);
        if (passed)
            slowest_gate_s_ = std::max(slowest_gate_s_, gate.seconds());
        else
            ++outcome_.gated;
        cut_short_ = measurement.status == CandidateStatus::timed_out && limit < own_limit;
        if (cut_short_)
            measurement.message += ", for the budget was spent";
        return passed;
    }

    /// One block; halving's last one is as long as the final's.
    void screen(Passed& passed, Measurement& measurement, double ms, double effort) {
        const StopwatchScope timed(outcome_.tune_ms);
        std::uint32_t launches = 1;
        if (!model_) {
            const double block_ms = strategy_ == Strategy::halving
                                        ? std::max(options_.race.screen_ms, options_.race.block_ms * effort)
                                        : options_.race.screen_ms;
            const bool long_final = runtime_->simulated() && protocol_ != Protocol::race;
            launches = long_final ? 1 : launches_for(block_ms, ms, options_.race.most_launches);
            ms = event_ms(
                runtime_, device_, bed_.stream(), launches, [&](void* stream) { launch_of(passed, stream); },
                wait_limit());
        }
        measurement.median_ms = measurement.min_ms = measurement.max_ms = measurement.screen_ms = ms;
        measurement.blocks = 1;
        measurement.launches = launches;
        measurement.tflops = ms > 0 ? flops() / ms * 1e-9 : 0;
        const ClockReading reading = telemetry_ ? telemetry_->read() : ClockReading{};
        measurement.clock_ghz = reading.clock_ghz;
        if (reading.clock_ghz <= 0 && runtime_->simulated()) // a GPU's own is not known without telemetry
            measurement.clock_ghz = static_cast<double>(info_.clock_khz) * 1e-6;
        measurement.power_w = reading.power_w;
        measurement.temperature_c = reading.temperature_c;
        measurement.throttle = reading.throttle;
    }

    /// A recalled candidate's binary is not built before it is needed.
    void require_built(Binary& binary) {
        Measurement failed;
        if (!binaries_.build(binary, failed))
            throw Error(ErrorCode::assemble_failed, "", binary.kernel.name + ": " + failed.message);
    }

    void launch_of(Passed& passed, void* stream) {
        require_built(*passed.binary);
        if (!passed.launch)
            passed.launch.emplace(bed_.bind(*passed.binary, of(passed).schedule));
        (*passed.launch)(stream);
    }

    /// Of what is timed: two products over the visible scores, for each launch of a pass.
    double flops() const {
        return 2 * bed_.launches() * scores(cut_.problem) *
               static_cast<double>(problem_.dim_qk + problem_.dim_v);
    }

    Measurement& of(const Passed& passed) { return outcome_.measurements[passed.measurement]; }

    void finish() {
        if (passed_.empty()) {
            const Measurement& first = outcome_.measurements.front();
            const bool build = first.status == CandidateStatus::assemble_failed;
            const bool late = first.status == CandidateStatus::timed_out;
            const bool device = late || first.status == CandidateStatus::crashed ||
                                first.status == CandidateStatus::load_failed;
            throw Error(build    ? ErrorCode::assemble_failed
                        : device ? ErrorCode::device_error
                                 : ErrorCode::internal,
                        late ? "budget" : "",
                        "no schedule of " + std::string(form_.name()) + " can be used for " +
                            to_string(problem_) + "; " + first.schedule.canonical() + " is " +
                            to_string(first.status) + ": " + first.message);
        }
        const Verdict verdict = choose();
        const Passed& winner = passed_[verdict.winner];
        require_built(*winner.binary);
        outcome_.schedule = of(winner).schedule;
        outcome_.kernel = winner.binary->kernel;
        outcome_.code_object = winner.binary->code;
        outcome_.evidence.winner = of(winner);
        outcome_.evidence.fallback = outcome_.measurements.front();
        outcome_.evidence.verdict = verdict.text;
        outcome_.evidence.data_profile = profile_name(inputs_);
        outcome_.evidence.problem_json = to_json(problem_);
        outcome_.evidence.unix_time = static_cast<std::uint64_t>(std::time(nullptr));
        outcome_.evidence.telemetry = telemetry_ ? telemetry_->source() : "none: " + no_telemetry_;
        nlohmann::json all = nlohmann::json::parse(versions());
        all["toolchain"] = outcome_.code_object.toolchain;
        outcome_.evidence.versions_json = all.dump();
        outcome_.assembled = binaries_.assembled();
        outcome_.instantiate_ms = binaries_.instantiate_ms();
        outcome_.assemble_ms = binaries_.assemble_ms();
        if (journal_ && !unfinished_)
            journal_->remove();
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
        if (protocol_ != Protocol::race)
            return choose_by_protocol(times);
        PassedTimer timer(
            runtime_, device_, bed_.stream(), final_limit(),
            [this](std::size_t candidate, void* stream) { launch_of(passed_[candidate], stream); });
        RaceLimits limits = options_.race;
        if (runtime_->simulated()) // every launch takes the same computed time, and many take long
            limits.most_launches = std::min(limits.most_launches, std::uint32_t{16});
        const std::vector<FinalistTimes> finals = race(timer, times, limits, options_.repeats,
                                                       [this, since = Stopwatch(), longest = 0.0]() mutable {
                                                           longest = std::max(longest, since.seconds());
                                                           since = Stopwatch();
                                                           return go_on(longest); // as long as one before it
                                                       });
        for (const FinalistTimes& final : finals)
            record(final);
        return choose_by_race(finals, options_.tie);
    }

    Verdict choose_by_protocol(const std::vector<double>& screened) {
        std::vector<LaunchDevice::Launch> launches;
        std::vector<Measurement*> measurements;
        for (Passed& passed : passed_) {
            launches.push_back([this, &passed](void* stream) { launch_of(passed, stream); });
            measurements.push_back(&of(passed));
        }
        LaunchDevice device(runtime_, device_, bed_.stream(), std::move(launches), telemetry_.get(), {});
        const FinalInput input{device,
                               protocol_,
                               options_.tie,
                               flops(),
                               finalists_of(screened, options_.race.finalists),
                               [this] { return go_on(); },
                               [this](const std::string& text) { report(text, points_.size()); }};
        const Verdict verdict = run_final(input, measurements, outcome_.evidence);
        sink_.measured(*measurements[0]);
        for (const std::size_t finalist : input.finalists)
            sink_.measured(*measurements[finalist]);
        return verdict;
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
            measurement.tflops = times.median > 0 ? flops() / times.median * 1e-9 : 0;
            measurement.block_ms.assign(blocks.begin(), blocks.end());
            sink_.measured(measurement);
        };
        if (final.candidate_ms.empty())
            return;
        if (final.ratio.pairs >= 2 && final.ratio.low > 0) {
            Measurement& measurement = of(passed_[final.candidate]);
            measurement.gain = 1 / final.ratio.median - 1;
            measurement.gain_low = 1 / final.ratio.high - 1;
            measurement.gain_high = 1 / final.ratio.low - 1;
        }
        store(passed_[final.candidate], final.candidate_ms, final.launches);
        store(passed_.front(), final.default_ms, final.default_launches);
    }

    const std::shared_ptr<runtime::Runtime> runtime_;
    int device_;
    const templates::Template& form_;
    const Problem& problem_;
    const Options& options_;
    MeasurementSink& sink_;
    Stopwatch watch_;
    Protocol protocol_;
    bool model_;
    Strategy strategy_;
    Representative cut_;
    TuningInputs inputs_;
    Binaries binaries_;
    LayerBeds bed_;
    runtime::DeviceInfo info_;
    std::string no_telemetry_; ///< why there is none
    std::unique_ptr<Telemetry> telemetry_;
    DeviceLock lock_;
    std::optional<Journal> journal_;
    std::string subject_;
    Known known_;
    std::vector<const Measurement*> recalled_; ///< of each point; null: it has to be measured
    double default_then_ms_ = 0;               ///< the default's time when those were taken
    bool lost_ = false, unfinished_ = false;
    bool cut_short_ = false; ///< the budget ended before the last candidate's own limit
    std::string hung_;
    std::optional<GateWorker> worker_;
    double slowest_gate_s_ = 0; ///< of the candidates that passed in the worker
    double slowest_s_ = 0;      ///< of the candidates so far: whether the next one still fits into the budget
    std::vector<SearchPoint> points_;
    std::vector<std::size_t> measured_; ///< of each point: index in Outcome::measurements
    std::size_t best_ = none;           ///< likewise
    std::vector<Passed> passed_;
    Outcome outcome_;
};

} // namespace

Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const templates::Template& form, const Problem& problem, const TuningInputs& inputs,
             const Options& options, MeasurementSink& sink) {
    const runtime::DeviceInfo info = info_of(*runtime, device);
    if (const std::string hung = why_hung(info.pci); !hung.empty())
        throw Error(ErrorCode::device_error, hang_argument,
                    hung + ": this process cannot tune on it any more");
    const runtime::DeviceGuard guard(*runtime, device);
    auto tuning = std::make_shared<Tuning>(runtime, device, assembler, form, problem, inputs, options, sink);
    try {
        return tuning->run();
    } catch (const Error& error) {
        tuning->note_hang(error);
        if (!tuning->hung().empty()) {
            tuning->let_go();
            keep_hung(info.pci, tuning->hung(), tuning);
        }
        throw;
    }
}

Outcome tune(const std::shared_ptr<runtime::Runtime>& runtime, int device, jit::Assembler& assembler,
             const Problem& problem, const TuningInputs& inputs, const Options& options,
             MeasurementSink& sink) {
    return tune(runtime, device, assembler, templates::template_for(problem), problem, inputs, options, sink);
}

} // namespace zyfa::tuner
