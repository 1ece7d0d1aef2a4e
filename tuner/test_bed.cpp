// SPDX-License-Identifier: Apache-2.0
// Running one candidate and judging what it did.
#include "tuner/test_bed.hpp"

#include <algorithm>

#include "tuner/hard_rows.hpp"
#include "tuner/inputs.hpp"
#include "tuner/stopwatch.hpp"
#include "tuner/timing.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

// Two fills that differ in every bit: an element or a guard byte that happens to be written with one of them
// is seen with the other. 0xff is a NaN in every format.
constexpr std::uint8_t first_sentinel = 0xff, second_sentinel = 0x00;

/// Inputs are compared whole up to this size; beyond it, downloading them for every candidate would cost more
/// than the launch.
constexpr std::size_t most_compared_bytes = std::size_t{64} << 20;

templates::DeviceShape shape_of(const runtime::Runtime& runtime, int device) {
    for (const runtime::DeviceInfo& info : runtime.devices())
        if (info.ordinal == device)
            return {info.compute_units, info.xcds, info.lds_bytes};
    throw Error(ErrorCode::no_device, "device", "no device has the ordinal " + std::to_string(device));
}

} // namespace

TestBed::TestBed(std::shared_ptr<runtime::Runtime> runtime, int device, const templates::Template& form,
                 const Problem& problem, const TuningInputs& inputs, std::uint32_t gate_rows)
    : runtime_(std::move(runtime)), device_(device), form_(form), problem_(problem),
      space_(form.space(problem)), q_(runtime_, device, layout_q(problem)),
      k_(runtime_, device, layout_k(problem)), v_(runtime_, device, layout_v(problem)),
      o_(runtime_, device, layout_o(problem)),
      reference_(problem, view(inputs), tuner::gate_rows(problem, view(inputs), gate_rows)),
      stream_(runtime_, device) {
    q_.upload(inputs.q);
    k_.upload(inputs.k);
    v_.upload(inputs.v);
    if (problem.lse)
        lse_.emplace(runtime_, device, layout_lse(problem));
}

BoundLaunch TestBed::bind(const Binary& binary, const Schedule& schedule) {
    return bind(binary, schedule, shape_of(*runtime_, device_));
}

BoundLaunch TestBed::bind(const Binary& binary, const Schedule& schedule,
                          const templates::DeviceShape& shape) {
    CallValues values;
    values.q = q_.data();
    values.k = k_.data();
    values.v = v_.data();
    values.o = o_.data();
    values.lse = lse_ ? lse_->data() : nullptr;
    return bind_to(binary, schedule, shape, values);
}

BoundLaunch TestBed::bind_copy(const Binary& binary, const Schedule& schedule, std::uint32_t copy) {
    const Copy& tensors = copies_.at(copy);
    CallValues values;
    values.q = tensors.q.data();
    values.k = tensors.k.data();
    values.v = tensors.v.data();
    values.o = tensors.o.data();
    values.lse = tensors.lse.data();
    return bind_to(binary, schedule, shape_of(*runtime_, device_), values);
}

void TestBed::add_copies(const TuningInputs& inputs, std::uint32_t copies) {
    for (std::uint32_t i = 0; i < copies; ++i) {
        Copy& copy = copies_.emplace_back();
        for (const auto& [to, from] :
             {std::pair{&copy.q, &inputs.q}, {&copy.k, &inputs.k}, {&copy.v, &inputs.v}}) {
            *to = runtime::DeviceBuffer(runtime_, device_, from->size());
            to->upload(*from);
        }
        copy.o = runtime::DeviceBuffer(runtime_, device_, o_.layout().extent_bytes());
        if (lse_)
            copy.lse = runtime::DeviceBuffer(runtime_, device_, lse_->layout().extent_bytes());
    }
}

std::uint64_t TestBed::tensor_bytes() const {
    std::uint64_t bytes = lse_ ? lse_->layout().extent_bytes() : 0;
    for (const GuardedTensor* tensor : {&q_, &k_, &v_, &o_})
        bytes += tensor->layout().extent_bytes();
    return bytes;
}

BoundLaunch TestBed::bind_to(const Binary& binary, const Schedule& schedule,
                             const templates::DeviceShape& shape, CallValues values) {
    values.score_scale = score_scale(problem_.softmax_scale, problem_.q_descale, problem_.k_descale);
    values.output_scale = problem_.v_descale;
    templates::LaunchPlan plan = form_.plan(problem_, without_file(schedule), shape);
    std::shared_ptr<const runtime::DeviceBuffer> workspace, counters;
    if (plan.workspace_bytes != 0) {
        // Launches follow one another on one stream, so they can share it.
        if (!workspace_ || workspace_->size() < plan.workspace_bytes)
            workspace_ = std::make_shared<runtime::DeviceBuffer>(runtime_, device_, plan.workspace_bytes);
        workspace = workspace_;
        values.workspace = workspace->data();
        // What a launch that failed has left in its counters is no other candidate's concern.
        runtime::DeviceBuffer zeros(runtime_, device_, plan.counter_bytes);
        zeros.fill(0);
        counters = std::make_shared<runtime::DeviceBuffer>(std::move(zeros));
        values.counters = counters->data();
    }
    return {*runtime_, binary.function, std::move(plan), values, std::move(workspace), std::move(counters)};
}

TestBed::Launched TestBed::launch_over(std::uint8_t sentinel, BoundLaunch& launch, double limit_s) {
    o_.fill(sentinel);
    if (lse_)
        lse_->fill(sentinel);
    runtime::synchronize(*runtime_, device_); // fills run on the default stream
    const double ms = event_ms(runtime_, device_, stream_, 1, [&](void* stream) { launch(stream); }, limit_s);
    stream_.synchronize();
    o_bytes_ = o_.download();
    lse_bytes_ = lse_ ? lse_->download() : std::span<const std::byte>{};
    Launched result{OutputBits(o_.layout(), o_bytes_, lse_ ? &lse_->layout() : nullptr, lse_bytes_),
                    std::nullopt, ms};
    if (auto fault = o_.check_guards(sentinel))
        result.fault = "around O, " + *fault;
    else if (lse_ && (fault = lse_->check_guards(sentinel)))
        result.fault = "around LSE, " + *fault;
    else if (sentinel == first_sentinel) { // zero may be a right result, all ones is not
        result.fault = unwritten(o_.layout(), o_bytes_, sentinel, "O");
        if (!result.fault && lse_)
            result.fault = unwritten(lse_->layout(), lse_bytes_, sentinel, "LSE");
    }
    return result;
}

std::optional<std::string> TestBed::inputs_damaged() {
    for (auto& [tensor, name] : {std::pair{&q_, "Q"}, std::pair{&k_, "K"}, std::pair{&v_, "V"}}) {
        if (tensor->layout().extent_bytes() > most_compared_bytes)
            continue;
        tensor->download();
        if (!tensor->unchanged())
            return std::string(name) + " or the memory around it was written";
    }
    return std::nullopt;
}

double TestBed::gate(const Schedule& schedule, BoundLaunch& launch, Measurement& measurement,
                     double limit_s) {
    const Stopwatch watch;
    try {
        const Launched first = launch_over(first_sentinel, launch, limit_s);
        const double left_s = limit_s > 0 ? std::max(0.001, limit_s - watch.seconds()) : 0;
        const Launched second = launch_over(second_sentinel, launch, left_s);
        judge(schedule, first, second, measurement);
        return second.ms;
    } catch (const Error& error) {
        measurement.status =
            error.argument() == hang_argument ? CandidateStatus::timed_out : CandidateStatus::crashed;
        measurement.message = error.what();
        return 0;
    }
}

void TestBed::judge(const Schedule& schedule, const Launched& first, const Launched& second,
                    Measurement& measurement) {
    check_rows(reference_, gate_limits(problem_), o_bytes_, lse_bytes_, measurement);
    const auto fail = [&](CandidateStatus status, const std::string& message) {
        measurement.status = status;
        measurement.message = message;
    };
    // What was not written, or was written elsewhere, says more than the wrong numbers that follow from it.
    for (const auto& fault : {first.fault, second.fault, inputs_damaged()})
        if (fault)
            return fail(CandidateStatus::wrong, *fault);
    if (measurement.status != CandidateStatus::measured)
        return;
    if (const auto where = first.bits.difference(second.bits))
        return fail(CandidateStatus::unstable, "two launches gave different bits: " + *where);
    measurement.output_bits = second.bits.digest().hex();
    const std::string name = bit_class(space_, schedule);
    if (const auto earlier = earlier_bits_.find(name);
        earlier != earlier_bits_.end() && earlier->second != measurement.output_bits)
        return fail(CandidateStatus::wrong,
                    "a parameter that must not change the result does: the output is another than that of " +
                        name + " in an earlier tuning");
    const auto [known, fresh] = class_bits_.try_emplace(name, second.bits);
    if (fresh)
        return;
    if (const auto where = known->second.difference(second.bits))
        fail(CandidateStatus::wrong, "a parameter that must not change the result does: " + *where +
                                         " differs from the first schedule of " + known->first);
}

bool TestBed::still_right(const Schedule& schedule, Measurement& measurement) {
    stream_.synchronize();
    o_bytes_ = o_.download();
    lse_bytes_ = lse_ ? lse_->download() : std::span<const std::byte>{};
    const OutputBits bits(o_.layout(), o_bytes_, lse_ ? &lse_->layout() : nullptr, lse_bytes_);
    const auto where = class_bits_.at(bit_class(space_, schedule)).difference(bits);
    if (!where)
        return true;
    measurement.status = CandidateStatus::unstable;
    measurement.message = "a timed launch gave other bits than the gate's: " + *where;
    return false;
}

void TestBed::remember(const Schedule& schedule, const std::string& output_bits) {
    if (!output_bits.empty())
        earlier_bits_.try_emplace(bit_class(space_, schedule), output_bits);
}

bool TestBed::device_alive() {
    // A device fault is sticky in HIP. The simulator can take it back; a GPU cannot without losing every
    // allocation of the process.
    runtime::clear_fault(*runtime_, device_);
    try {
        o_.fill(first_sentinel);
        runtime::synchronize(*runtime_, device_);
        return true;
    } catch (const Error&) {
        return false;
    }
}

} // namespace zyfa::tuner
