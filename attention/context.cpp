// SPDX-License-Identifier: Apache-2.0
// The public face of a context, and the process-wide one.
#include "zyfa/context.hpp"

#include "attention/context_impl.hpp"

namespace zyfa {
inline namespace v0 {

Context::Context(ContextOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Context::~Context() = default;

Context& Context::global() {
    // Never destroyed: at the end of a process, the HIP library may be torn down before static objects are.
    static Context* const context = new Context();
    return *context;
}

void Context::attention(const AttentionArgs& args) {
    impl_->attention(args);
}

Explanation Context::prepare(const Problem& problem, int device) {
    return impl_->prepare(problem, device, {});
}

Explanation Context::explain(const Problem& problem, int device) {
    return impl_->explain(problem, device, std::nullopt);
}

Counters Context::counters() const {
    return impl_->counters();
}
std::vector<LayerSummary> Context::layers() {
    return impl_->layers();
}
std::vector<DeviceSummary> Context::devices() {
    return impl_->devices();
}
const ContextOptions& Context::options() const noexcept {
    return impl_->options();
}

void attention(const AttentionArgs& args) {
    Context::global().attention(args);
}

Explanation prepare(const Problem& problem, int device) {
    return Context::global().prepare(problem, device);
}
Explanation explain(const Problem& problem, int device) {
    return Context::global().explain(problem, device);
}

} // namespace v0
} // namespace zyfa
