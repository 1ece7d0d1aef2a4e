// SPDX-License-Identifier: Apache-2.0
// The launches of a quantization: mean and largest magnitude where they are asked for, then the codes.
#include "zyfa/quantize.hpp"

#include <optional>
#include <span>
#include <string>

#include "attention/context_impl.hpp"
#include "attention/quantize_arguments.hpp"
#include "core/validate.hpp"
#include "zyfa/error.hpp"

namespace zyfa {
inline namespace v0 {

using call::QuantizeBinary;
using call::QuantizePlan;

static_assert(sizeof(QuantizeReport) == sizeof(templates::quantize::Report) &&
              offsetof(QuantizeReport, clamped) == offsetof(templates::quantize::Report, clamped) &&
              offsetof(QuantizeReport, largest) == offsetof(templates::quantize::Report, largest_bits));

namespace {

/// Device, stream and kernels of one call; the device is current while it lives.
class Launcher {
  public:
    Launcher(Context& context, int device, const char* argument, void* stream)
        : context_(context), runtime_(*context.impl().services().runtime()),
          info_(context.impl().services().device(device, argument)), guard_(runtime_, info_.ordinal),
          stream_(stream) {
        const int of_stream = runtime::stream_device(runtime_, stream, info_.ordinal);
        if (of_stream != info_.ordinal)
            throw Error(ErrorCode::invalid_argument, "stream",
                        "stream is on device " + std::to_string(of_stream) + ", the tensors are on device " +
                            std::to_string(info_.ordinal) + "; accepted: a stream of the tensors' device");
    }

    const runtime::Runtime& runtime() const { return runtime_; }
    const runtime::DeviceInfo& info() const { return info_; }
    bool capturing() const { return runtime::is_capturing(runtime_, stream_); }

    const QuantizeBinary& kernels(const templates::quantize::Kind& kind) {
        call::QuantizeKernels& all = context_.impl().quantize_kernels();
        if (const QuantizeBinary* known = all.find(kind, info_.ordinal))
            return *known;
        if (capturing())
            throw Error(ErrorCode::not_resident, "stream",
                        "stream is capturing and " + templates::quantize::kernel_name(kind) +
                            " is not resident: call zyfa::prepare_quantize before the capture begins");
        return all.get(kind, info_.ordinal);
    }

    void operator()(void* function, const std::array<std::uint32_t, 3>& grid,
                    templates::quantize::Kernarg& kernarg) {
        runtime::launch(runtime_, function, grid, {templates::quantize::workgroup_size, 1, 1}, 0, stream_,
                        std::as_writable_bytes(std::span(&kernarg, 1)));
    }

  private:
    Context& context_;
    const runtime::Runtime& runtime_;
    const runtime::DeviceInfo& info_;
    runtime::DeviceGuard guard_;
    void* stream_;
};

std::uint64_t reach(const TensorView& view) {
    const ValidTensor valid = validate_tensor("x", view);
    return valid.bytes;
}

void check_memory(const Launcher& launcher, const QuantizeArgs& args) {
    const int device = args.x.device;
    call::check_reach(launcher.runtime(), "x.data", args.x.data, reach(args.x), device);
    call::check_reach(launcher.runtime(), "codes.data", args.codes.data, reach(args.codes), device);
    if (args.mean)
        call::check_reach(launcher.runtime(), "mean", args.mean,
                          static_cast<std::uint64_t>(args.x.sizes[0] * args.x.sizes[1] * args.x.sizes[3]) *
                              sizeof(float),
                          device);
}

/// Enqueues everything; `report` is device memory.
void enqueue(Launcher& launcher, QuantizePlan& plan, void* report, void* stream) {
    const QuantizeBinary& kernels = launcher.kernels(plan.kind);
    plan.kernarg.report = reinterpret_cast<std::uintptr_t>(report);
    runtime::fill_ordered(launcher.runtime(), report, 0, sizeof(QuantizeReport), stream);
    if (plan.measure_mean) {
        const runtime::OrderedBuffer sums(launcher.runtime(), plan.sums_bytes, stream);
        templates::quantize::Kernarg kernarg = plan.kernarg;
        kernarg.sums = reinterpret_cast<std::uintptr_t>(sums.data());
        kernarg.step = plan.sum_grid[0] * templates::quantize::workgroup_rows;
        launcher(kernels.sum, plan.sum_grid, kernarg);
        launcher(kernels.mean, plan.mean_grid, kernarg);
    }
    if (plan.per_call)
        launcher(kernels.largest, plan.grid, plan.kernarg);
    launcher(kernels.cast, plan.grid, plan.kernarg);
}

} // namespace

QuantizeReport quantize(Context& context, const QuantizeArgs& args) {
    Launcher launcher(context, args.x.device, "x.device", args.stream);
    QuantizePlan plan = call::plan_quantize(args, launcher.info().compute_units);
    check_memory(launcher, args);
    if (launcher.capturing())
        throw Error(ErrorCode::invalid_argument, "stream",
                    "stream is capturing, and quantize() waits for it; accepted: quantize_async()");
    const runtime::OrderedBuffer report(launcher.runtime(), sizeof(QuantizeReport), args.stream);
    enqueue(launcher, plan, report.data(), args.stream);
    QuantizeReport out;
    runtime::fetch_ordered(launcher.runtime(), &out, report.data(), sizeof out, args.stream);
    return out;
}

QuantizeReport quantize(const QuantizeArgs& args) {
    return quantize(Context::global(), args);
}

void quantize_async(Context& context, const QuantizeArgs& args, QuantizeReport* report) {
    Launcher launcher(context, args.x.device, "x.device", args.stream);
    QuantizePlan plan = call::plan_quantize(args, launcher.info().compute_units);
    check_memory(launcher, args);
    if (report) {
        if (reinterpret_cast<std::uintptr_t>(report) % alignof(QuantizeReport) != 0)
            throw Error(ErrorCode::invalid_argument, "report",
                        "report is not a multiple of 4 bytes; accepted: aligned device memory");
        call::check_reach(launcher.runtime(), "report", report, sizeof *report, args.x.device);
        return enqueue(launcher, plan, report, args.stream);
    }
    if (plan.per_call)
        throw Error(ErrorCode::invalid_argument, "report",
                    "report is null without a static scale: nothing would say the descale; accepted: device "
                    "memory, or a descale");
    const runtime::OrderedBuffer unread(launcher.runtime(), sizeof(QuantizeReport), args.stream);
    enqueue(launcher, plan, unread.data(), args.stream);
}

void prepare_quantize(Context& context, std::int64_t dim, bool rotate, bool smooth, int device) {
    if (!templates::quantize::has_dim(dim))
        throw Error(ErrorCode::unsupported, "dim",
                    "dim is " + std::to_string(dim) + "; accepted: 64, 96, 128, 192, 256");
    Launcher launcher(context, device, "device", nullptr);
    launcher.kernels({dim, rotate, smooth});
}

void add_mean_score(Context& context, const MeanScoreArgs& args) {
    Launcher launcher(context, args.q.device, "q.device", args.stream);
    QuantizePlan plan = call::plan_mean_score(args, launcher.info().compute_units);
    const auto [batch, heads, rows, dim] = args.q.sizes;
    const auto floats = [](std::int64_t count) { return static_cast<std::uint64_t>(count) * sizeof(float); };
    call::check_reach(launcher.runtime(), "q.data", args.q.data, reach(args.q), args.q.device);
    call::check_reach(launcher.runtime(), "mean", args.mean, floats(batch * args.heads_kv * dim),
                      args.q.device);
    call::check_reach(launcher.runtime(), "lse", args.lse,
                      static_cast<std::uint64_t>((batch - 1) * plan.kernarg.lse_batch +
                                                 (heads - 1) * plan.kernarg.lse_head) +
                          floats(rows),
                      args.q.device);
    launcher(launcher.kernels(plan.kind).lse, plan.grid, plan.kernarg);
}

} // namespace v0
} // namespace zyfa
