// SPDX-License-Identifier: Apache-2.0
// The way of a call: table, else validation, selection and installation; then the launch.
#include "attention/context_impl.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "attention/log.hpp"
#include "core/keys.hpp"
#include "core/measurement.hpp"
#include "core/validate.hpp"
#include "templates/template.hpp"
#include "tuner/bound_launch.hpp"
#include "zyfa/error.hpp"

namespace zyfa {
inline namespace v0 {

using call::CallKey;
using call::PrepareRequest;
using call::Resident;
using call::Selection;

namespace {

/// What this thread looked up last; good as long as the table's version is the same.
struct LastCall {
    std::uint64_t version = 0;
    const Resident* resident = nullptr;
    CallKey key{};
};
constinit thread_local LastCall last_call;

bool aligned(const void* pointer, std::uintptr_t to) {
    return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}

bool apart(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return x + a_bytes <= y || y + b_bytes <= x;
}

/// What may differ between two calls of the same key and could still be wrong. False is not a verdict:
/// validate() decides, and has the words for it.
bool plainly_valid(const AttentionArgs& args, const Resident& resident) {
    const void *q = args.q.data, *k = args.k.data, *v = args.v.data, *o = args.o.data;
    if (!aligned(q, 16) || !aligned(k, 16) || !aligned(v, 16) || !aligned(o, 16))
        return false;
    const auto& bytes = resident.extents;
    if (!apart(o, bytes[3], q, bytes[0]) || !apart(o, bytes[3], k, bytes[1]) ||
        !apart(o, bytes[3], v, bytes[2]))
        return false;
    if (args.lse && (!aligned(args.lse, alignof(float)) || !apart(args.lse, bytes[4], q, bytes[0]) ||
                     !apart(args.lse, bytes[4], k, bytes[1]) || !apart(args.lse, bytes[4], v, bytes[2]) ||
                     !apart(args.lse, bytes[4], o, bytes[3])))
        return false;
    const auto scale = [](const std::optional<float>& value, bool allowed) {
        return !value || (allowed && *value > 0.0f && *value <= std::numeric_limits<float>::max());
    };
    return scale(args.softmax_scale, true) && scale(args.q_descale, resident.fp8) &&
           scale(args.k_descale, resident.fp8) && scale(args.v_descale, resident.fp8);
}

/// The device that a call runs on is that of its tensors, and of its stream where it names one.
[[noreturn]] void refuse_stream(int stream_device, int tensor_device) {
    throw Error(ErrorCode::invalid_argument, "stream",
                "stream is on device " + std::to_string(stream_device) + ", q, k, v and o are on device " +
                    std::to_string(tensor_device) + "; accepted: a stream of the tensors' device");
}

/// Asked once per shape: that pointers are what the views say.
void check_pointer(const runtime::Runtime& runtime, const char* name, const void* pointer,
                   std::uint64_t bytes, int device) {
    const std::string argument = std::string(name) == "lse" ? "lse" : std::string(name) + ".data";
    const runtime::PointerInfo info = runtime::pointer_info(runtime, pointer);
    if (info.device < 0)
        throw Error(ErrorCode::invalid_argument, argument,
                    argument + " is not memory that the device run time knows; accepted: device memory");
    if (info.device != device)
        throw Error(ErrorCode::invalid_argument, argument,
                    argument + " is on device " + std::to_string(info.device) + ", " + name + ".device is " +
                        std::to_string(device));
    if (info.bytes_to_end < bytes)
        throw Error(ErrorCode::invalid_argument, argument,
                    std::string(name) + " reaches " + std::to_string(bytes) +
                        " bytes from its base by its sizes and strides; its allocation ends after " +
                        std::to_string(info.bytes_to_end));
}

std::array<std::uint64_t, 5> extents_of(const Problem& p) {
    const std::uint32_t input = p.dtype == DType::bf16 ? 2 : 1;
    return {extent_bytes(p.q, p.batch, p.heads_q, p.seq_q, p.dim_qk, input),
            extent_bytes(p.k, p.batch, p.heads_kv, p.seq_kv, p.dim_qk, input),
            extent_bytes(p.v, p.batch, p.heads_kv, p.seq_kv, p.dim_v, input),
            extent_bytes(p.o, p.batch, p.heads_q, p.seq_q, p.dim_v, 2),
            p.lse
                ? extent_bytes({p.lse_batch_stride, p.lse_head_stride, 0}, p.batch, p.heads_q, 1, p.seq_q, 4)
                : 0};
}

void check_pointers(const runtime::Runtime& runtime, const AttentionArgs& args, const Problem& problem) {
    const auto bytes = extents_of(problem);
    const int device = args.q.device;
    check_pointer(runtime, "q", args.q.data, bytes[0], device);
    check_pointer(runtime, "k", args.k.data, bytes[1], device);
    check_pointer(runtime, "v", args.v.data, bytes[2], device);
    check_pointer(runtime, "o", args.o.data, bytes[3], device);
    if (args.lse)
        check_pointer(runtime, "lse", args.lse, bytes[4], device);
}

std::string summary(const Problem& problem, const Explanation& e) {
    return to_string(problem) + ": " + e.schedule + ", cache " + to_string(e.cache) + ", " + e.reason;
}

} // namespace

Context::Impl::Impl(ContextOptions options)
    : options_(std::move(options)), services_(options_), selector_(options_, services_, counters_),
      quantize_kernels_(options_, services_, counters_) {
    if (options_.background_tuning)
        background_ = std::make_unique<call::BackgroundTuner>(
            options_.background_idle_s,
            [this](const call::BackgroundJob& job, const std::function<bool()>& interrupted) {
                return tune_in_background(job, interrupted);
            },
            [this](const std::string& line) { call::log_line(options_, line); });
}

Context::Impl::~Impl() = default;

Problem Context::Impl::basis_of(Problem problem) const {
    if (options_.batch_invariant)
        problem.batch = 1;
    return problem;
}

void Context::Impl::attention(const AttentionArgs& args) {
    if (background_) [[unlikely]]
        background_->called();
    const CallKey key = call::call_key(args, args.mode.value_or(options_.mode));
    LastCall& last = last_call;
    const std::uint64_t version = table_.version();
    const Resident* resident = nullptr;
    if (last.version == version && last.key == key) [[likely]] {
        resident = last.resident;
    } else {
        resident = table_.find(key);
        if (!resident) [[unlikely]]
            resident = make_resident(args, key);
        last = {version, resident, key};
    }
    if (!plainly_valid(args, *resident))
        validate(args);
    launch(args, *resident);
}

/// A launch whose keys are split, with memory of its own in the stream's order.
template <class Start>
void Context::Impl::launch_parts(const Resident& resident, void* stream, tuner::CallValues& values,
                                 Start start) {
    const runtime::Runtime& runtime = *runtime_.load(std::memory_order_acquire);
    void* const counters = part_counters_.of(runtime, resident.device, stream, resident.counter_bytes);
    const std::size_t own = counters ? 0 : resident.counter_bytes;
    const runtime::OrderedBuffer memory(runtime, resident.workspace_bytes + own, stream);
    values.workspace = memory.data();
    values.counters = counters;
    if (own != 0) {
        values.counters = static_cast<std::byte*>(memory.data()) + resident.workspace_bytes;
        runtime::fill_ordered(runtime, values.counters, 0, own, stream);
    }
    try {
        start();
    } catch (...) {
        part_counters_.forget(runtime, resident.device, stream);
        throw;
    }
}

void Context::Impl::launch(const AttentionArgs& args, const Resident& resident) {
    const runtime::Runtime& runtime = *runtime_.load(std::memory_order_acquire);
    alignas(16) std::array<std::byte, call::max_kernarg_bytes> kernarg;
    std::memcpy(kernarg.data(), resident.kernarg.data(), resident.kernarg_bytes);
    tuner::CallValues values;
    values.q = args.q.data;
    values.k = args.k.data;
    values.v = args.v.data;
    values.o = args.o.data;
    values.lse = args.lse;
    values.score_scale = tuner::score_scale(args.softmax_scale.value_or(resident.softmax_scale),
                                            args.q_descale.value_or(1.0f), args.k_descale.value_or(1.0f));
    values.output_scale = args.v_descale.value_or(1.0f);
    const auto start = [&] {
        tuner::patch(kernarg, {resident.patches.data(), resident.patch_count}, values);
        runtime::launch(runtime, resident.function, resident.grid, resident.block, resident.dynamic_lds,
                        args.stream, {kernarg.data(), resident.kernarg_bytes});
    };
    const auto go = [&] {
        if (resident.workspace_bytes == 0) [[likely]]
            return start();
        launch_parts(resident, args.stream, values, start);
    };
    if (!several_devices_) [[likely]]
        return go();
    if (args.stream) {
        const int of_stream = runtime::stream_device(runtime, args.stream, resident.device);
        if (of_stream != resident.device)
            refuse_stream(of_stream, resident.device);
    }
    const runtime::DeviceGuard guard(runtime,
                                     resident.device); // the null stream is that of the current device
    go();
}

const Resident* Context::Impl::make_resident(const AttentionArgs& args, const CallKey& key) {
    const Problem problem = validate(args);
    const Mode mode = key.mode;
    const runtime::Runtime& runtime = *services_.runtime();
    const runtime::DeviceInfo& device = services_.device(args.q.device, "q.device");
    const runtime::DeviceGuard guard(runtime, device.ordinal);
    const int of_stream = runtime::stream_device(runtime, args.stream, device.ordinal);
    if (of_stream != device.ordinal)
        refuse_stream(of_stream, device.ordinal);
    check_pointers(runtime, args, problem);

    const std::uint64_t generation = table_.generation();
    const CallKey canonical = call::call_key(problem, device.ordinal, mode);
    const Resident* resident = table_.find(canonical);
    if (!resident) {
        std::shared_ptr<const Selection> selection;
        if (runtime::is_capturing(runtime, args.stream)) {
            selection = selector_.selected(basis_of(problem), device, mode);
            if (!selection)
                throw Error(ErrorCode::not_resident, "stream",
                            "stream is capturing and the shape is not resident (" + to_string(problem) +
                                ", mode " + to_string(mode) +
                                "): call zyfa::prepare with this problem before the capture begins");
        } else {
            selection = selector_.select(basis_of(problem), device, mode, {});
            if (mode == Mode::tune)
                offer_to_background(basis_of(problem), device.ordinal, *selection);
        }
        resident = install(problem, std::move(selection), device);
        table_.insert(canonical, resident, generation);
    }
    table_.insert(key, resident, generation);
    return resident;
}

/// Makes the kernel of `selection` resident; the table does not lead to it yet. Host work only: legal while a
/// stream captures.
const Resident* Context::Impl::install(const Problem& problem, std::shared_ptr<const Selection> selection,
                                       const runtime::DeviceInfo& device) {
    const templates::LaunchPlan plan =
        selection->form->plan(problem, selection->schedule, call::shape_of(device));
    auto resident = std::make_unique<Resident>();
    if (plan.kernarg.size() > resident->kernarg.size() || plan.patches.size() > resident->patches.size())
        throw Error(ErrorCode::internal, "",
                    "the launch plan of " + plan.kernel + " has " + std::to_string(plan.kernarg.size()) +
                        " bytes of kernel arguments and " + std::to_string(plan.patches.size()) +
                        " patches; room is for " + std::to_string(resident->kernarg.size()) + " and " +
                        std::to_string(resident->patches.size()));
    resident->function = selection->binary->function;
    resident->grid = plan.grid;
    resident->block = plan.block;
    resident->dynamic_lds = plan.dynamic_lds;
    resident->workspace_bytes = plan.workspace_bytes;
    resident->counter_bytes = plan.counter_bytes;
    resident->kernarg_bytes = static_cast<std::uint32_t>(plan.kernarg.size());
    resident->patch_count = static_cast<std::uint32_t>(plan.patches.size());
    std::copy(plan.kernarg.begin(), plan.kernarg.end(), resident->kernarg.begin());
    std::copy(plan.patches.begin(), plan.patches.end(), resident->patches.begin());
    resident->softmax_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.dim_qk)));
    resident->fp8 = problem.dtype == DType::e4m3;
    resident->device = device.ordinal;
    resident->extents = extents_of(problem);
    resident->selection = std::move(selection);

    const std::lock_guard lock(residents_lock_);
    if (!runtime_.load(std::memory_order_relaxed)) {
        several_devices_ = services_.several_devices();
        runtime_.store(services_.runtime().get(), std::memory_order_release);
    }
    residents_.push_back(std::move(resident));
    const Resident* installed = residents_.back().get();
    call::log_line(options_, summary(problem, installed->selection->explanation));
    return installed;
}

void Context::Impl::refuse_capture(int ordinal) {
    if (runtime::is_capturing(*services_.runtime(), nullptr))
        throw Error(ErrorCode::invalid_argument, "",
                    "prepare() while the default stream of device " + std::to_string(ordinal) +
                        " captures; accepted: before the capture begins or after it ends");
}

Explanation Context::Impl::prepare(const Problem& asked, int ordinal, const PrepareRequest& request) {
    const Problem problem = validate(call::arguments_of(asked, ordinal));
    const Mode mode = request.mode.value_or(options_.mode);
    const runtime::DeviceInfo& device = services_.device(ordinal);
    const runtime::DeviceGuard guard(*services_.runtime(), ordinal);
    refuse_capture(ordinal);
    std::uint64_t generation = table_.generation();
    std::shared_ptr<const Selection> selection = selector_.select(basis_of(problem), device, mode, request);
    if (mode == Mode::tune && !request.retune)
        offer_to_background(basis_of(problem), ordinal, *selection);
    if (request.retune && !options_.stable) {
        table_.clear(); // kernels that were selected before are looked up anew
        ++generation;   // that was the one
    }
    Explanation explanation = selection->explanation;
    const CallKey key = call::call_key(problem, ordinal, mode);
    if (!table_.find(key))
        table_.insert(key, install(problem, std::move(selection), device), generation);
    return explanation;
}

std::shared_ptr<const Selection> Context::Impl::propose(const Problem& asked, int ordinal,
                                                        call::Proposal& proposal) {
    prepare(asked, ordinal, {});
    const Problem problem = validate(call::arguments_of(asked, ordinal));
    proposal.problem = to_string(problem);
    return selector_.propose(basis_of(problem), services_.device(ordinal), options_.mode, proposal);
}

std::shared_ptr<const Selection> Context::Impl::try_proposal(const Problem& asked, int ordinal,
                                                             const call::Proposal& proposal) {
    const Problem problem = validate(call::arguments_of(asked, ordinal));
    if (to_string(problem) != proposal.problem)
        throw Error(ErrorCode::invalid_argument, "problem",
                    "problem is " + to_string(problem) + "; rank 0 asks for " + proposal.problem);
    const runtime::DeviceInfo& device = services_.device(ordinal);
    const runtime::DeviceGuard guard(*services_.runtime(), ordinal);
    refuse_capture(ordinal);
    return selector_.try_proposal(basis_of(problem), device, options_.mode, proposal);
}

Explanation Context::Impl::take_proposal(const Problem& asked, int ordinal, const call::Proposal& proposal,
                                         std::shared_ptr<const Selection> selection) {
    const Problem problem = validate(call::arguments_of(asked, ordinal));
    const runtime::DeviceInfo& device = services_.device(ordinal);
    selector_.take(basis_of(problem), device, options_.mode, proposal.unsuited, selection);
    table_.clear(); // kernels that were selected before are looked up anew
    Explanation explanation = selection->explanation;
    table_.insert(call::call_key(problem, ordinal, options_.mode),
                  install(problem, std::move(selection), device));
    return explanation;
}

Explanation Context::Impl::explain(const Problem& asked, int ordinal, std::optional<Mode> mode) {
    const Problem problem = validate(call::arguments_of(asked, ordinal));
    return selector_.explain(basis_of(problem), services_.device(ordinal), mode.value_or(options_.mode));
}

void Context::Impl::offer_to_background(const Problem& problem, int device, const Selection& selection) {
    const Explanation& known = selection.explanation;
    if (!background_ || known.pinned || known.evidence_json.empty())
        return;
    if (policy_rank(Evidence::from_json(known.evidence_json).winner.policy) < policy_rank("sustained"))
        background_->offer({problem, device, known.key});
}

/// The fastest few of what the race has measured against the default. A new winner is selected when the
/// tuning is over, and the table is emptied then: a call finds the one or the other.
call::BackgroundTuner::Done Context::Impl::tune_in_background(const call::BackgroundJob& job,
                                                              const std::function<bool()>& interrupted) {
    runtime::stand_apart_from_captures(*services_.runtime());
    const WinnerKey key = winner_key(basis_of(job.problem), call::identity_of(services_.device(job.device)));
    std::vector<Measurement> passed;
    for (const cache::MeasurementRecord& record : services_.cache().measurements(key.digest())) {
        Measurement measurement = measurement_from_json(record.measurement_json);
        if (measurement.status == CandidateStatus::measured && measurement.provenance.empty())
            passed.push_back(std::move(measurement));
    }
    std::sort(passed.begin(), passed.end(),
              [](const Measurement& a, const Measurement& b) { return a.median_ms < b.median_ms; });
    PrepareRequest request;
    request.mode = Mode::tune;
    request.retune = request.verdicts_only = true;
    request.interrupted = interrupted;
    tuner::Options& tuning = request.tuning.emplace();
    tuning.policy = "sustained";
    tuning.budget_s = 0;
    tuning.cancelled = interrupted;
    if (passed.size() > 1) // else the race has not come beyond the default, and all are screened
        tuning.candidates.emplace();
    for (std::size_t i = 0; tuning.candidates && i < passed.size() && i <= tuning.race.finalists; ++i)
        tuning.candidates->push_back(passed[i].schedule);
    try {
        const Explanation found = prepare(job.problem, job.device, request);
        ++counters_.retuned;
        call::log_line(options_, to_string(job.problem) + ": background tuning: " + found.reason);
    } catch (const Error& error) {
        if (interrupted())
            return call::BackgroundTuner::Done::interrupted;
        throw;
    }
    return call::BackgroundTuner::Done::finished;
}

void Context::Impl::forget() {
    selector_.forget();
    table_.clear();
}

Counters Context::Impl::counters() {
    Counters counters = counters_.read();
    const cache::Counters of_cache = services_.cache_counters();
    counters.damaged += of_cache.damaged;
    counters.timed_out += of_cache.timed_out;
    counters.unpublished += of_cache.unpublished;
    counters.pruned += of_cache.pruned;
    return counters;
}

std::vector<LayerSummary> Context::Impl::layers() {
    std::vector<LayerSummary> summaries;
    for (const cache::Statistics& layer : services_.cache().statistics())
        summaries.push_back({layer.layer, layer.path, layer.writable, layer.winners, layer.binaries,
                             layer.measurements, layer.quarantined, layer.bytes, layer.hits, layer.note});
    return summaries;
}

std::vector<DeviceSummary> Context::Impl::devices() {
    std::vector<DeviceSummary> summaries;
    for (const runtime::DeviceInfo& info : services_.runtime()->devices())
        summaries.push_back({info.ordinal, info.name, info.target, static_cast<int>(info.compute_units),
                             static_cast<int>(info.xcds), info.simulated});
    return summaries;
}

} // namespace v0
} // namespace zyfa
