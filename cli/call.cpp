// SPDX-License-Identifier: Apache-2.0
#include "cli/call.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "attention/context_impl.hpp"
#include "runtime/runtime.hpp"
#include "tuner/guarded_tensor.hpp"
#include "tuner/tuner.hpp"
#include "zyfa/attention.hpp"

namespace zyfa::cli {

namespace {

constexpr std::uint8_t sentinel = 0xff; ///< every BF16 and FP32 value of these bytes is a NaN
constexpr std::uint32_t gpu_repeats = 20;

TensorView view(const tuner::GuardedTensor& tensor, DType dtype, int device) {
    const Strides& strides = tensor.layout().strides;
    return {.data = tensor.data(),
            .dtype = dtype,
            .device = device,
            .sizes = tensor.layout().sizes,
            .strides = {strides.batch, strides.head, strides.seq, 1}};
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

} // namespace

Mode mode_named(const std::string& name) {
    for (const Mode mode : {Mode::off, Mode::replay, Mode::tune, Mode::must_hit}) {
        if (name == to_string(mode)) {
            return mode;
        }
    }
    throw Error(ErrorCode::invalid_argument, "--mode",
                "'" + name + "'; accepted are off, replay, tune, must_hit");
}

CallResult run_call(const CommonOptions& common, const Inputs& inputs, const CallRequest& request) {
    ContextOptions options = context_options(common);
    options.mode = request.mode;
    options.tune_budget_s = request.budget_s;
    Context context(options);
    const int device = device_ordinal(common);

    CallResult result;
    result.problem = inputs.problem;
    const Problem& problem = result.problem;
    const std::shared_ptr<runtime::Runtime>& runtime = context.impl().services().runtime();
    for (const DeviceSummary& summary : context.devices()) {
        if (summary.ordinal == device) {
            result.device = summary;
        }
    }

    call::PrepareRequest preparation;
    preparation.inputs = {.q = inputs.q, .k = inputs.k, .v = inputs.v, .profile = inputs.profile};
    preparation.tuning.emplace();
    preparation.tuning->budget_s = request.budget_s;
    preparation.tuning->progress = request.progress;
    result.explanation = context.impl().prepare(problem, device, preparation);

    tuner::GuardedTensor q(runtime, device, tuner::layout_q(problem));
    tuner::GuardedTensor k(runtime, device, tuner::layout_k(problem));
    tuner::GuardedTensor v(runtime, device, tuner::layout_v(problem));
    tuner::GuardedTensor o(runtime, device, tuner::layout_o(problem));
    tuner::GuardedTensor lse(runtime, device, tuner::layout_lse(problem));
    q.upload(inputs.q);
    k.upload(inputs.k);
    v.upload(inputs.v);
    o.fill(sentinel);
    lse.fill(sentinel);

    const runtime::Stream stream(runtime, device);
    AttentionArgs args;
    args.q = view(q, problem.dtype, device);
    args.k = view(k, problem.dtype, device);
    args.v = view(v, problem.dtype, device);
    args.o = view(o, DType::bf16, device);
    args.lse = problem.lse ? static_cast<float*>(lse.data()) : nullptr;
    args.lse_batch_stride = problem.lse ? problem.lse_batch_stride : 0;
    args.lse_head_stride = problem.lse ? problem.lse_head_stride : 0;
    args.mask = problem.mask;
    args.softmax_scale = problem.softmax_scale;
    if (problem.dtype == DType::e4m3) { // BF16 has none
        args.q_descale = problem.q_descale;
        args.k_descale = problem.k_descale;
        args.v_descale = problem.v_descale;
    }
    args.probability = problem.probability;
    args.nan_exact = problem.nan_exact;
    args.stream = stream.handle();

    std::vector<double> kernel_ms;
    const std::uint32_t launches = request.repeat != 0       ? request.repeat
                                   : result.device.simulated ? 1
                                                             : gpu_repeats + 1; // + 1 to warm up
    for (std::uint32_t i = 0; i < launches; ++i) {
        runtime::Event start(runtime, device), stop(runtime, device);
        const auto begin = std::chrono::steady_clock::now();
        start.record(args.stream);
        context.attention(args);
        stop.record(args.stream);
        stream.synchronize();
        if (i == 0) {
            result.launch_ms =
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        }
        kernel_ms.push_back(runtime::Event::elapsed_ms(start, stop));
    }
    if (request.repeat == 0 && kernel_ms.size() > 1) {
        kernel_ms.erase(kernel_ms.begin());
    }
    result.kernel_ms = median(std::move(kernel_ms));
    result.counters = context.counters();

    const std::span<const std::byte> o_bytes = o.download();
    result.o.assign(o_bytes.begin(), o_bytes.end());
    const auto look = [&](const char* name, const std::optional<std::string>& damage) {
        if (damage) {
            result.guard_damage +=
                (result.guard_damage.empty() ? "" : "; ") + std::string(name) + ": " + *damage;
        }
    };
    look("o", o.check_guards(sentinel));
    const std::span<const std::byte> lse_bytes = lse.download();
    if (problem.lse) {
        result.lse.assign(lse_bytes.begin(), lse_bytes.end());
        look("lse", lse.check_guards(sentinel));
    }
    for (const auto& [name, tensor] :
         {std::pair<const char*, tuner::GuardedTensor*>{"q", &q}, {"k", &k}, {"v", &v}}) {
        tensor->download();
        look(name, tensor->unchanged() ? std::nullopt : std::optional<std::string>("an input was written"));
    }
    return result;
}

} // namespace zyfa::cli
