// SPDX-License-Identifier: Apache-2.0
// Device memory through the context's HIP library.
#include "zyfa/memory.hpp"

#include "attention/context_impl.hpp"
#include "runtime/hip_api.hpp"

namespace zyfa {
inline namespace v0 {

namespace {

const runtime::Runtime& runtime_of(Context& context) {
    return *context.impl().services().runtime();
}

std::string bytes_text(std::size_t bytes) {
    return std::to_string(bytes) + " bytes";
}

void copy(Context& context, void* to, const void* from, std::size_t bytes, int device, hipMemcpyKind kind) {
    if (bytes == 0)
        return;
    if (!to || !from)
        throw Error(ErrorCode::invalid_argument, to ? "from" : "to",
                    std::string(to ? "from" : "to") + " is null; accepted: memory of " + bytes_text(bytes));
    context.impl().services().device(device);
    const runtime::Runtime& runtime = runtime_of(context);
    const runtime::DeviceGuard guard(runtime, device);
    runtime::check(runtime.hip(), runtime.hip().hipMemcpy(to, from, bytes, kind), "hipMemcpy",
                   bytes_text(bytes));
}

} // namespace

void* device_allocate(Context& context, std::size_t bytes, int device) {
    context.impl().services().device(device);
    if (bytes == 0)
        return nullptr;
    const runtime::Runtime& runtime = runtime_of(context);
    const runtime::DeviceGuard guard(runtime, device);
    void* pointer = nullptr;
    runtime::check(runtime.hip(), runtime.hip().hipMalloc(&pointer, bytes), "hipMalloc", bytes_text(bytes));
    return pointer;
}

void device_release(Context& context, void* pointer) {
    if (!pointer)
        return;
    const runtime::HipApi& hip = runtime_of(context).hip();
    runtime::check(hip, hip.hipFree(pointer), "hipFree");
}

void copy_to_device(Context& context, void* to, const void* from, std::size_t bytes, int device) {
    copy(context, to, from, bytes, device, hipMemcpyHostToDevice);
}

void copy_to_host(Context& context, void* to, const void* from, std::size_t bytes, int device) {
    copy(context, to, from, bytes, device, hipMemcpyDeviceToHost);
}

void synchronize(Context& context, int device) {
    context.impl().services().device(device);
    runtime::synchronize(runtime_of(context), device);
}

std::string hip_library(Context& context) {
    return runtime_of(context).report().library;
}

} // namespace v0
} // namespace zyfa
