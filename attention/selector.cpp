// SPDX-License-Identifier: Apache-2.0
// The four modes.
#include "attention/selector.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <utility>

#include "attention/freshness.hpp"
#include "attention/refusals.hpp"
#include "core/keys.hpp"
#include "runtime/versions.hpp"
#include "tuner/binaries.hpp"
#include "tuner/find_worker.hpp"
#include "tuner/search.hpp"
#include "tuner/stopwatch.hpp"
#include "zyfa/error.hpp"

namespace zyfa::call {

namespace {

/// Added at most to the budget when waiting for another process that tunes the same key.
constexpr double tune_grace_s = 5;

constexpr const char* off_reason = "mode off: the default schedule, the cache is not looked at";
constexpr const char* lost_binary_reason =
    "the stored winner's binary is damaged and has to be assembled again";
constexpr const char* stale_reason =
    "the stored winner is stale: it was measured with another version of the kernel generator";
constexpr const char* replay_reason = "; mode replay takes the default schedule";

std::string seconds(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text + " s";
}

/// What ContextOptions::tuner_worker says; one word where it is the program that comes with the library.
std::vector<std::string> worker_command(const std::string& asked, bool simulated) {
    if (asked == "none" || (asked.empty() && simulated))
        return {};
    if (asked.empty() || asked == "auto")
        return tuner::find_worker();
    return {asked, "tuning-worker"};
}

/// " (text)", or nothing.
std::string in_brackets(const std::string& text) {
    return text.empty() ? text : " (" + text + ")";
}

/// Hands out what is stored of the key's candidates, collects what the tuner measures for the publication,
/// and passes it on.
class Recorder : public tuner::MeasurementSink {
  public:
    Recorder(cache::Cache& cache, const Digest& key, tuner::MeasurementSink* next) : key_(key), next_(next) {
        for (cache::MeasurementRecord& record : cache.measurements(key))
            stored_[record.schedule] = std::move(record.measurement_json);
    }
    std::vector<Measurement> known() const {
        std::vector<Measurement> result;
        for (const auto& [schedule, json] : stored_) {
            try {
                result.push_back(measurement_from_json(json));
            } catch (const Error&) { // of a version that this one cannot read
            }
        }
        return result;
    }
    void measured(const Measurement& measurement) override {
        const std::string schedule = measurement.schedule.canonical();
        std::string json = to_json(measurement);
        if (const auto found = stored_.find(schedule); found == stored_.end() || found->second != json)
            records.push_back(
                {key_, schedule, std::move(json), static_cast<std::uint64_t>(std::time(nullptr))});
        if (next_)
            next_->measured(measurement);
    }
    std::vector<cache::MeasurementRecord> records;

  private:
    Digest key_;
    tuner::MeasurementSink* next_;
    std::map<std::string, std::string> stored_; ///< JSON by canonical schedule
};

} // namespace

/// One selection in the making.
struct Selector::Job {
    Job(const Problem& asked, const runtime::DeviceInfo& on, Mode in_mode, const PrepareRequest& with)
        : problem(asked), device(on), mode(in_mode), request(with), key(winner_key(asked, identity_of(on))),
          digest(key.digest()) {
        selection.form = &templates::template_for(asked);
        selection.explanation.key = key.canonical();
    }

    Explanation& explanation() { return selection.explanation; }

    const Problem& problem;
    const runtime::DeviceInfo& device;
    Mode mode;
    const PrepareRequest& request;
    WinnerKey key;
    Digest digest;

    Selection selection;
    templates::Kernel kernel; ///< of selection.schedule, with the digest of its binary
    Digest binary;
    bool counted_stale = false;
    std::optional<Schedule> former;           ///< of a stale winner: where a search starts
    bool ruled = false;                       ///< `rulings` are looked up
    std::vector<cache::RulingRecord> rulings; ///< on the key
};

cache::BinaryRecord Selector::record_of(const Job& job, const jit::CodeObject& code) {
    cache::BinaryRecord record;
    record.key = job.binary;
    record.key_text = tuner::binary_key(job.kernel).canonical();
    record.kernel_name = job.kernel.name;
    record.target = job.kernel.target;
    record.toolchain = code.toolchain;
    record.code_object = code.elf;
    return record;
}

Selector::Slot& Selector::slot(const Job& job, bool unsuited) {
    const std::lock_guard lock(maps_lock_);
    auto& slot = slots_[{job.digest, job.mode, job.device.ordinal, unsuited}];
    if (!slot)
        slot = std::make_unique<Slot>();
    return *slot;
}

std::timed_mutex& Selector::tuning_lock(int device) {
    const std::lock_guard lock(maps_lock_);
    auto& mutex = tuning_[device];
    if (!mutex)
        mutex = std::make_unique<std::timed_mutex>();
    return *mutex;
}

/// The winner of a bucket was chosen for one of its problems; another one may refuse its schedule.
bool Selector::suits(const Job& job, const Selection& selection) {
    return !selection.form->reject(job.problem, selection.schedule);
}

void Selector::require_not_refused(const Job& job) const {
    const std::string form(job.selection.form->name());
    if (const auto refusal = refusal_of(user_cache_dir(options_), job.key.device, form))
        throw Error(ErrorCode::unsupported, "device",
                    "template " + form + " is refused on this device: its self-test found that '" +
                        refusal->facts.front() +
                        "' does not hold there; `zyfa doctor --selftest` says more and tries again");
}

std::shared_ptr<const Selection> Selector::selected(const Problem& problem, const runtime::DeviceInfo& device,
                                                    Mode mode) {
    const PrepareRequest none;
    const Job job(problem, device, mode, none);
    auto known = slot(job).selection();
    return !known || suits(job, *known) ? known : slot(job, true).selection();
}

std::shared_ptr<const Selection> Selector::select(const Problem& problem, const runtime::DeviceInfo& device,
                                                  Mode mode, const PrepareRequest& request) {
    Job job(problem, device, mode, request);
    require_not_refused(job);
    const bool retune = request.retune && mode == Mode::tune;
    auto made = in_slot(job, slot(job), retune, [&] { make(job); });
    if (suits(job, *made))
        return made;
    Job other(problem, device, mode, request);
    return in_slot(other, slot(other, true), false, [&] {
        use_default(other, "the key's winner, " + made->explanation.schedule +
                               ", does not suit the problem; the default schedule");
    });
}

/// One thread makes a slot's selection; others wait for it.
template <class Make>
std::shared_ptr<const Selection> Selector::in_slot(Job& job, Slot& its, bool anew, Make make_it) {
    if (auto known = its.selection(); known && !anew)
        return known;
    std::unique_lock working(its.working, std::try_to_lock);
    if (!working) {
        ++counters_.waited;
        working.lock();
    }
    if (auto known = its.selection(); known && !anew)
        return known;
    std::unique_lock maps(maps_lock_);
    const std::uint64_t begun = forgotten_;
    maps.unlock();
    make_it();
    if (auto known = its.selection(); known && options_.stable) // stored for others; here it stays
        return known;
    job.explanation().resident = true;
    auto made = std::make_shared<const Selection>(std::move(job.selection));
    maps.lock();
    if (forgotten_ == begun)
        its.keep(made);
    return made;
}

void Selector::make(Job& job) {
    switch (job.mode) {
    case Mode::off:
        return use_default(job, off_reason);
    case Mode::tune:
        return tune_or_wait(job);
    case Mode::replay:
    case Mode::must_hit:
        break;
    }
    if (use_winner(job))
        return;
    ++counters_.misses;
    if (job.mode == Mode::must_hit)
        throw Error(ErrorCode::cache_miss, "",
                    "mode must_hit, and " + job.explanation().reason + ": " + job.explanation().key);
    use_default(job, job.explanation().reason + replay_reason);
}

/// Fills in schedule, kernel and binary digest.
void Selector::describe(Job& job, const Schedule& schedule) const {
    Explanation& explanation = job.explanation();
    {
        const tuner::StopwatchScope timed(explanation.stages.instantiate);
        job.kernel = job.selection.form->instantiate(job.key.problem_class, schedule);
    }
    job.selection.schedule = schedule;
    job.binary = tuner::binary_key(job.kernel).digest();
    explanation.kernel = job.kernel.name;
    explanation.schedule = schedule.canonical();
    explanation.binary_digest = job.binary.hex();
}

/// The stored winner, if it is one that this build can use; describes it. Else nullopt, with the reason in
/// the explanation.
std::optional<Selector::Winner> Selector::find_winner(Job& job) {
    Explanation& explanation = job.explanation();
    const auto refuse = [&explanation](const std::string& reason) -> std::optional<Winner> {
        explanation.reason = reason;
        return std::nullopt;
    };
    Winner known;
    const cache::RulingRecord* const pin = look_up_rulings(job);
    bool measured = true;
    if (auto stored = pin ? Profiles::own(services_.cache(), explanation.key)
                          : profiles_.find(services_.cache(), explanation.key, explanation.banned)) {
        known = {std::move(stored->record), std::move(stored->binary), std::move(stored->layer)};
    } else if (pin) { // nothing is stored of it, or what is there is another schedule's
        known.record.schedule = pin->schedule;
        measured = false;
    } else {
        return refuse(std::string("no cache layer has the key") +
                      (job.rulings.empty() ? "" : ", or its winner is banned"));
    }
    try {
        const Schedule schedule = Schedule::parse(known.record.schedule);
        if (schedule.template_name != job.selection.form->name())
            return refuse("the stored winner belongs to template " + schedule.template_name);
        if (const auto why = job.selection.form->reject(job.problem, schedule))
            return refuse("the stored winner does not suit the problem (" + *why + ")");
        describe(job, schedule);
    } catch (const Error& error) {
        return refuse(std::string("the stored winner cannot be read (") + error.what() + ")");
    }
    explanation.evidence_json = known.record.evidence_json;
    explanation.layer = known.layer;
    if (!measured) {
        known.record.binary = job.binary;
        known.binary = services_.cache().find_binary(job.binary);
    }
    if (job.binary != known.record.binary) {
        known.stale = true;
        job.former = job.selection.schedule;
        explanation.cache = CacheResult::miss;
        explanation.reason = stale_reason;
    } else if (known.binary) {
        explanation.cache = CacheResult::hit;
        explanation.toolchain = known.binary->toolchain;
        explanation.reason = "winner of cache layer " + known.layer;
        if (measured)
            explanation.reason +=
                ", by policy " + known.record.policy + " on data profile " + known.record.data_profile;
        const std::string changes = changed_versions(
            known.record.versions_json, runtime::versions(*services_.runtime(), job.device.ordinal));
        if (!changes.empty()) {
            known.old = true;
            explanation.reason += ", whose evidence is old (" + changes + ")";
        }
    } else {
        explanation.cache = CacheResult::miss;
        explanation.reason = measured ? lost_binary_reason : "its binary has to be assembled";
    }
    if (pin)
        explanation.reason =
            "pinned by hand" + in_brackets(pin->reason) + "; " +
            (known.binary && !measured ? "nothing measured of it is stored" : explanation.reason);
    return known;
}

/// Loads the stored winner. Where its binary is damaged, the same one is assembled again and the winner
/// stands (its evidence is that of this very text): a miss, but no tuning. Where it is stale, mode replay
/// assembles its schedule anew: it won against the default once, and the generator changed for all of them.
bool Selector::use_winner(Job& job) {
    std::optional<Winner> known = find_winner(job);
    if (!known)
        return false;
    if (known->stale) {
        if (!job.counted_stale)
            ++counters_.stale;
        job.counted_stale = true;
        if (job.mode == Mode::must_hit || (job.mode == Mode::tune && !job.explanation().pinned))
            return false;
        ++counters_.misses;
        job.explanation().reason += std::string("; assembled anew from its schedule");
        if (!loaded_already(job))
            assemble(job, Look::yes, Store::yes);
        return true;
    }
    if (known->binary && (loaded_already(job) || load_module(job, known->binary->toolchain,
                                                             std::move(known->binary->code_object), true))) {
        ++counters_.hits;
        counters_.old += known->old;
        return true;
    }
    job.explanation().cache = CacheResult::miss;
    if (known->binary)
        job.explanation().reason = lost_binary_reason;
    if (job.mode == Mode::must_hit)
        return false;
    ++counters_.misses;
    assemble(job, Look::no, Store::yes);
    return true;
}

/// The schedule that runs where no winner does: the default one, or where that is banned, the one nearest to
/// it that is not. Says so in `reason`.
Schedule Selector::fallback(Job& job, std::string& reason) {
    const templates::Template& form = *job.selection.form;
    Schedule schedule = form.default_schedule(job.problem);
    if (job.mode == Mode::off)
        return schedule;
    look_up_rulings(job);
    if (!is_banned(job, schedule))
        return schedule;
    for (tuner::SearchPoint& point : tuner::search_points(form, job.problem, std::nullopt))
        if (!point.rejection && !is_banned(job, point.schedule)) {
            reason += "; the default schedule is banned, this one is the next to it";
            return std::move(point.schedule);
        }
    throw Error(ErrorCode::unsupported, "problem",
                "every schedule of " + std::string(form.name()) + " is banned for " + job.explanation().key +
                    "; accepted: a problem with one that is not (`zyfa cache unban`)");
}

/// What the user layer holds on the key; returns the pin among it, or null.
const cache::RulingRecord* Selector::look_up_rulings(Job& job) {
    if (std::exchange(job.ruled, true) == false)
        job.rulings = services_.cache().rulings(job.digest);
    const cache::RulingRecord* pin = nullptr;
    Explanation& explanation = job.explanation();
    explanation.banned.clear();
    for (const cache::RulingRecord& ruling : job.rulings) {
        if (ruling.kind == cache::RulingRecord::Kind::pin)
            pin = &ruling;
        else
            explanation.banned.push_back(ruling.schedule);
    }
    explanation.pinned = pin != nullptr;
    return pin;
}

bool Selector::is_banned(const Job& job, const Schedule& schedule) {
    const std::string text = schedule.canonical();
    return std::any_of(job.rulings.begin(), job.rulings.end(), [&](const cache::RulingRecord& ruling) {
        return ruling.kind == cache::RulingRecord::Kind::ban && ruling.schedule == text;
    });
}

void Selector::use_default(Job& job, std::string reason, Store store) {
    describe(job, fallback(job, reason));
    Explanation& explanation = job.explanation();
    explanation.cache = job.mode == Mode::off ? CacheResult::off : CacheResult::miss;
    explanation.reason = reason;
    if (loaded_already(job))
        return;
    if (job.mode == Mode::off)
        store = Store::no;
    assemble(job, store == Store::yes ? Look::yes : Look::no, store);
}

/// Assembles and loads the binary. Where it may be looked for, it is loaded from the cache instead, and
/// assembled once among all processes that want it; whoever has waited for another one long enough assembles
/// for itself and stores nothing.
void Selector::assemble(Job& job, Look look, Store store) {
    const auto load_stored = [&] {
        auto record = services_.cache().find_binary(job.binary);
        return record && load_module(job, record->toolchain, std::move(record->code_object), true);
    };
    std::optional<cache::Cache::KeyLock> lock;
    if (look == Look::yes) {
        if (load_stored())
            return;
        lock.emplace(services_.cache().lock(job.binary, options_.wait_s));
        if (lock->waited()) {
            ++counters_.waited;
            if (load_stored())
                return;
        }
        if (!lock->held()) {
            store = Store::no;
            ++counters_.unpublished;
            job.explanation().reason += "; another process works on its binary for longer than " +
                                        seconds(options_.wait_s) + ": assembled here, not stored";
        }
    }
    jit::CodeObject code;
    {
        const tuner::StopwatchScope timed(job.explanation().stages.assemble);
        code = services_.assembler().assemble(job.kernel.assembly, job.kernel.target, job.kernel.name);
        ++counters_.assembled;
    }
    if (store == Store::yes) {
        try {
            services_.cache().publish_binary(record_of(job, code));
        } catch (const Error& error) {
            job.explanation().reason += std::string("; the binary could not be stored: ") + error.what();
        }
    }
    load_module(job, code.toolchain, std::move(code.elf), false);
}

bool Selector::loaded_already(Job& job) {
    const std::lock_guard lock(maps_lock_);
    const auto known = loaded_.find({job.binary, job.device.ordinal});
    if (known == loaded_.end())
        return false;
    job.selection.binary = known->second.lock();
    if (job.selection.binary)
        job.explanation().toolchain = job.selection.binary->toolchain;
    return job.selection.binary != nullptr;
}

/// False where a binary out of the cache is refused by the device run time (counted as damaged); one that was
/// just assembled is not expected to be, and the error is thrown.
bool Selector::load_module(Job& job, const std::string& toolchain, std::vector<std::byte> elf,
                           bool from_cache) {
    const tuner::StopwatchScope timed(job.explanation().stages.load);
    try {
        const runtime::DeviceGuard guard(*services_.runtime(), job.device.ordinal);
        job.selection.binary = std::make_shared<const LoadedBinary>(
            services_.runtime(), job.device.ordinal, std::move(elf), job.kernel.name, toolchain);
    } catch (const Error&) {
        if (!from_cache)
            throw;
        ++counters_.damaged;
        return false;
    }
    job.explanation().toolchain = toolchain;
    const std::lock_guard lock(maps_lock_);
    loaded_[{job.binary, job.device.ordinal}] = job.selection.binary;
    return true;
}

void Selector::tune_or_wait(Job& job) {
    if (!options_.winners_layer.empty())
        throw Error(ErrorCode::invalid_argument, "mode",
                    "mode is tune while winners count from " + options_.winners_layer +
                        " alone, which is not written to; accepted: off, replay, must_hit");
    if (!job.request.retune && use_winner(job))
        return;
    const bool asked_for = job.request.retune || job.request.tuning; // by somebody who sits and waits for it
    const double budget = job.request.tuning ? job.request.tuning->budget_s : options_.tune_budget_s;
    // Another process may be tuning this key: its result is as good, but it is waited for no longer than a
    // tuning of one's own would take. A dead process holds no lock.
    const double wait_s = std::max(budget, options_.tune_budget_s) + std::min(tune_grace_s, options_.wait_s);
    const auto lock = services_.cache().lock(job.digest, wait_s);
    if (lock.waited()) {
        ++counters_.waited;
        if (!job.request.retune && use_winner(job))
            return;
    }
    ++counters_.misses;
    if (!lock.held() && !asked_for) {
        ++counters_.unpublished;
        return use_default(job,
                           "another process tunes the key for longer than " + seconds(wait_s) +
                               ": the default schedule from memory, not stored",
                           Store::no);
    }
    use_tuned(job);
}

void Selector::use_tuned(Job& job) {
    tuner::Options tuning = job.request.tuning.value_or(tuner::Options{});
    if (!job.request.tuning)
        tuning.budget_s = options_.tune_budget_s;
    const bool own_worker = tuning.worker.empty();
    if (own_worker)
        tuning.worker = worker_command(options_.tuner_worker, services_.runtime()->simulated());
    const bool found_worker = own_worker && tuning.worker.size() == 1;
    if (tuning.memory_bytes == 0)
        tuning.memory_bytes = options_.tune_memory_bytes;
    if (!tuning.hint)
        tuning.hint = job.former;
    const std::string folder = user_cache_dir(options_);
    if (tuning.journal.empty() && folder != ":memory:")
        tuning.journal = folder + "/tuning/" + job.digest.hex() + ".journal";
    look_up_rulings(job);
    for (const cache::RulingRecord& ruling : job.rulings)
        if (ruling.kind == cache::RulingRecord::Kind::ban)
            tuning.banned.push_back(ruling.schedule);
    Recorder recorder(services_.cache(), job.digest, job.request.sink);
    if (tuning.known.empty())
        tuning.known = recorder.known();
    tuner::Outcome outcome;
    try {
        std::unique_lock alone(tuning_lock(job.device.ordinal), std::defer_lock);
        const double wait_s = std::max(tuning.budget_s, options_.tune_budget_s) + options_.wait_s;
        if (job.request.tuning || job.request.retune)
            alone.lock();
        else if (!alone.try_lock_for(std::chrono::duration<double>(wait_s)))
            throw Error(ErrorCode::device_error, "lock",
                        "another thread tunes on the device for longer than " + seconds(wait_s));
        const auto tune = [&] {
            return tuner::tune(services_.runtime(), job.device.ordinal, services_.assembler(),
                               *job.selection.form, job.problem, job.request.inputs, tuning, recorder);
        };
        const tuner::Stopwatch watch;
        try {
            outcome = tune();
        } catch (const Error& error) {
            // Nobody has asked for it, and it cannot be started: the tuning bounds what it waits for by
            // itself.
            if (error.argument() != "worker" || !found_worker)
                throw;
            tuning.worker.clear();
            if (tuning.budget_s > 0)
                tuning.budget_s = std::max(0.05, tuning.budget_s - watch.seconds());
            outcome = tune();
        }
    } catch (const Error& error) {
        // A call does not fail because somebody else tunes on its device, because its budget is too short for
        // a gate, for want of a worker process, or because a candidate hangs; who asked for a tuning is told.
        const bool of_tuning = error.argument() == "lock" || error.argument() == "budget" ||
                               error.argument() == "worker" || error.argument() == "hang" ||
                               error.argument() == "memory_bytes";
        if (!of_tuning || job.request.tuning || job.request.retune)
            throw;
        ++counters_.unpublished;
        return use_default(job, std::string(error.what()) + "; the default schedule from memory, not stored",
                           Store::no);
    }
    if (job.request.interrupted && job.request.interrupted())
        throw Error(ErrorCode::device_error, "interrupted", "the tuning was interrupted");
    if (job.request.verdicts_only && outcome.evidence.verdict.starts_with("withheld"))
        throw Error(ErrorCode::device_error, "withheld", "the verdict was " + outcome.evidence.verdict);
    counters_.assembled += outcome.assembled;
    counters_.gated += outcome.gated;
    counters_.timed += outcome.timed;

    Explanation& explanation = job.explanation();
    job.selection.schedule = outcome.schedule;
    job.kernel = std::move(outcome.kernel);
    job.binary = tuner::binary_key(job.kernel).digest();
    explanation.kernel = job.kernel.name;
    explanation.schedule = outcome.schedule.canonical();
    explanation.binary_digest = job.binary.hex();
    explanation.toolchain = outcome.code_object.toolchain;
    explanation.evidence_json = outcome.evidence.to_json();
    explanation.cache = CacheResult::miss;
    const auto measured = std::count_if(
        outcome.measurements.begin(), outcome.measurements.end(),
        [](const Measurement& measurement) { return measurement.status == CandidateStatus::measured; });
    explanation.reason = "tuned: " + outcome.evidence.verdict + "; " + std::to_string(measured) + " of " +
                         std::to_string(outcome.measurements.size()) + " schedules measured";
    if (outcome.recalled > 0)
        explanation.reason += ", " + std::to_string(outcome.recalled) + " of them in earlier tunings";
    explanation.stages.instantiate += outcome.instantiate_ms;
    explanation.stages.assemble += outcome.assemble_ms;
    explanation.stages.gate += outcome.gate_ms;
    explanation.stages.tune += outcome.tune_ms;
    try {
        cache::WinnerRecord winner;
        winner.key = job.digest;
        winner.key_text = explanation.key;
        winner.schedule = explanation.schedule;
        winner.binary = job.binary;
        winner.evidence_json = explanation.evidence_json;
        winner.data_profile = outcome.evidence.data_profile;
        winner.policy = outcome.evidence.winner.policy;
        winner.versions_json = outcome.evidence.versions_json;
        winner.unix_time = outcome.evidence.unix_time;
        const Profiles::Published published =
            profiles_.publish(services_.cache(), winner, record_of(job, outcome.code_object),
                              recorder.records, [](const cache::WinnerRecord& known) {
                                  const Freshness freshness = Freshener().ask(known, std::nullopt).freshness;
                                  return freshness == Freshness::valid || freshness == Freshness::old;
                              });
        if (published == Profiles::Published::beside) {
            // The key has a winner of a profile that comes first, or of better evidence.
            const std::string stored =
                explanation.reason + "; stored for data profile " + winner.data_profile;
            if (use_winner(job)) {
                explanation.reason = stored + "; the key's: " + explanation.reason;
                return;
            }
        }
        if (published == Profiles::Published::ruled_out) {
            // Ruled out, before the tuning or while it ran: what was measured is stored, and the ruling
            // holds.
            const std::string won = explanation.reason + "; " + explanation.schedule + " did best";
            job.ruled = false;
            if (use_winner(job))
                explanation.reason = won + ", but " + explanation.reason;
            else
                use_default(job, won + ", but is banned");
            return;
        }
    } catch (const Error& error) {
        explanation.reason += std::string("; the winner could not be stored: ") + error.what();
    }
    if (!loaded_already(job))
        load_module(job, outcome.code_object.toolchain, std::move(outcome.code_object.elf), false);
}

std::shared_ptr<const Selection> Selector::propose(const Problem& problem, const runtime::DeviceInfo& device,
                                                   Mode mode, Proposal& proposal) {
    auto selection = select(problem, device, mode, {});
    const PrepareRequest none;
    const Job job(problem, device, mode, none);
    proposal.unsuited = slot(job).selection() != selection;
    proposal.schedule = selection->explanation.schedule;
    proposal.binary = selection->explanation.binary_digest;
    proposal.kernel = selection->explanation.kernel;
    proposal.toolchain = selection->binary->toolchain;
    proposal.evidence_json = selection->explanation.evidence_json;
    proposal.reason = selection->explanation.reason;
    proposal.code_object = selection->binary->module.elf();
    return selection;
}

std::shared_ptr<const Selection> Selector::try_proposal(const Problem& problem,
                                                        const runtime::DeviceInfo& device, Mode mode,
                                                        const Proposal& proposal) {
    const PrepareRequest none;
    Job job(problem, device, mode, none);
    require_not_refused(job);
    const Schedule schedule = Schedule::parse(proposal.schedule);
    if (schedule.template_name != job.selection.form->name())
        throw Error(ErrorCode::unsupported, "schedule",
                    "the problem is served by template " + std::string(job.selection.form->name()) +
                        " here, rank 0 runs " + proposal.schedule);
    if (const auto why = job.selection.form->reject(problem, schedule))
        throw Error(ErrorCode::unsupported, "schedule", proposal.schedule + " is refused here: " + *why);
    look_up_rulings(job);
    if (is_banned(job, schedule))
        throw Error(ErrorCode::unsupported, "schedule", proposal.schedule + " is banned here");
    describe(job, schedule);
    if (job.binary.hex() != proposal.binary)
        throw Error(ErrorCode::unsupported, "schedule",
                    "this version of zyfa makes another binary of " + proposal.schedule +
                        " than rank 0's: the launch arguments may differ too");
    Explanation& explanation = job.explanation();
    explanation.cache = CacheResult::miss;
    explanation.reason = "as rank 0, whose selection is: " + proposal.reason;
    explanation.evidence_json = proposal.evidence_json;
    if (!loaded_already(job))
        load_module(job, proposal.toolchain, proposal.code_object, false);
    explanation.resident = true;
    return std::make_shared<const Selection>(std::move(job.selection));
}

void Selector::take(const Problem& problem, const runtime::DeviceInfo& device, Mode mode, bool unsuited,
                    std::shared_ptr<const Selection> selection) {
    const PrepareRequest none;
    const Job job(problem, device, mode, none);
    Slot& its = slot(job, unsuited);
    const std::lock_guard working(its.working);
    its.keep(std::move(selection));
}

void Selector::forget() {
    const std::lock_guard lock(maps_lock_);
    ++forgotten_;
    for (auto& [key, slot] : slots_)
        slot->keep(nullptr);
}

Explanation Selector::explain(const Problem& problem, const runtime::DeviceInfo& device, Mode mode) {
    const PrepareRequest none;
    Job job(problem, device, mode, none);
    require_not_refused(job);
    if (const auto known = slot(job).selection())
        return known->explanation;
    if (mode != Mode::off)
        if (const auto known = find_winner(job); known && (!known->stale || mode == Mode::replay))
            return job.explanation();
    std::string miss = job.explanation().reason;
    describe(job, fallback(job, miss));
    Explanation& explanation = job.explanation();
    explanation.cache = mode == Mode::off ? CacheResult::off : CacheResult::miss;
    switch (mode) {
    case Mode::off:
        explanation.reason = off_reason;
        break;
    case Mode::replay:
        explanation.reason = miss + replay_reason;
        break;
    case Mode::tune:
        explanation.reason = miss + "; mode tune would tune, starting from the default schedule";
        break;
    case Mode::must_hit:
        explanation.reason = miss + "; mode must_hit would refuse";
        break;
    }
    return explanation;
}

} // namespace zyfa::call
