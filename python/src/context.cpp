// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <cstddef>
#include <memory>

#include "values.hpp"
#include "zyfa/memory.hpp"

namespace zyfa::python {
namespace {

/// A copy of host memory on a device.
class DeviceCopy {
  public:
    DeviceCopy(Context& context, void* host, std::size_t bytes, int device)
        : context_(context), host_(host), bytes_(bytes), device_(device),
          offset_(reinterpret_cast<std::uintptr_t>(host) % 16),
          base_(static_cast<std::byte*>(device_allocate(context, bytes + offset_, device))) {}
    ~DeviceCopy() {
        try {
            device_release(context_, base_);
        } catch (const Error&) { // the call that failed before has said why
        }
    }
    DeviceCopy(const DeviceCopy&) = delete;
    DeviceCopy& operator=(const DeviceCopy&) = delete;

    void* data() const { return base_ + offset_; }
    void upload() { copy_to_device(context_, data(), host_, bytes_, device_); }
    void download() { copy_to_host(context_, host_, data(), bytes_, device_); }

  private:
    Context& context_;
    void* host_;
    std::size_t bytes_;
    int device_;
    std::size_t offset_;
    std::byte* base_;
};

/// Whether the view's elements fill their memory without gaps, so that nothing of others lies between them.
bool dense(const TensorView& view) {
    std::int64_t elements = 1;
    for (const std::int64_t size : view.sizes)
        elements *= size;
    return reach(view) == static_cast<std::size_t>(elements) * element_bytes(view.dtype);
}

} // namespace

Context& context_for(bool simulated) {
    Context& global = Context::global();
    const bool global_is_simulated = global.options().device == "sim";
    if (global_is_simulated == simulated)
        return global;
    if (!simulated)
        throw Error(
            ErrorCode::invalid_argument, "ZYFA_DEVICE",
            "ZYFA_DEVICE is \"sim\", but the tensors are on a GPU; accepted: CPU tensors, which then run "
            "on the simulator, or ZYFA_DEVICE unset");
    // Never destroyed, as the process-wide one.
    static Context* const own = [] {
        ContextOptions options = ContextOptions::from_environment();
        options.device = "sim";
        options.hip_library.clear(); // names that of the GPU
        return new Context(options);
    }();
    return *own;
}

void attention_on_host(Context& context, AttentionArgs args) {
    const int device = 0;
    DeviceCopy q(context, args.q.data, reach(args.q), device);
    DeviceCopy k(context, args.k.data, reach(args.k), device);
    DeviceCopy v(context, args.v.data, reach(args.v), device);
    DeviceCopy o(context, args.o.data, reach(args.o), device);
    const std::size_t lse_bytes =
        args.lse
            ? static_cast<std::size_t>(args.q.sizes[0] * args.q.sizes[1] * args.q.sizes[2]) * sizeof(float)
            : 0;
    std::unique_ptr<DeviceCopy> lse;
    q.upload();
    k.upload();
    v.upload();
    if (!dense(args.o))
        o.upload();
    args.q.data = q.data();
    args.k.data = k.data();
    args.v.data = v.data();
    args.o.data = o.data();
    if (args.lse) {
        lse = std::make_unique<DeviceCopy>(context, args.lse, lse_bytes, device);
        args.lse = static_cast<float*>(lse->data());
    }
    context.attention(args);
    synchronize(context, device);
    o.download();
    if (lse)
        lse->download();
}

QuantizeReport quantize_on_host(Context& context, QuantizeArgs args) {
    const int device = 0;
    DeviceCopy x(context, args.x.data, reach(args.x), device);
    DeviceCopy codes(context, args.codes.data, reach(args.codes), device);
    std::unique_ptr<DeviceCopy> mean;
    x.upload();
    if (!dense(args.codes))
        codes.upload();
    args.x.data = x.data();
    args.codes.data = codes.data();
    if (args.mean) {
        const auto elements = static_cast<std::size_t>(args.x.sizes[0] * args.x.sizes[1] * args.x.sizes[3]);
        mean = std::make_unique<DeviceCopy>(context, args.mean, elements * sizeof(float), device);
        mean->upload();
        args.mean = static_cast<float*>(mean->data());
    }
    const QuantizeReport report = quantize(context, args);
    codes.download();
    if (mean)
        mean->download();
    return report;
}

void add_mean_score_on_host(Context& context, MeanScoreArgs args) {
    const int device = 0;
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    DeviceCopy q(context, args.q.data, reach(args.q), device);
    DeviceCopy mean(context, const_cast<float*>(args.mean),
                    floats(args.q.sizes[0] * args.heads_kv * args.q.sizes[3]), device);
    DeviceCopy lse(context, args.lse, floats(args.q.sizes[0] * args.q.sizes[1] * args.q.sizes[2]), device);
    q.upload();
    mean.upload();
    lse.upload();
    args.q.data = q.data();
    args.mean = static_cast<const float*>(mean.data());
    args.lse = static_cast<float*>(lse.data());
    add_mean_score(context, args);
    synchronize(context, device);
    lse.download();
}

} // namespace zyfa::python
