// SPDX-License-Identifier: Apache-2.0
#include "zyfa/memory.hpp"

#include "capi/context.hpp"
#include "capi/status.hpp"

using namespace zyfa;

zyfa_status zyfa_device_allocate(zyfa_context* context, size_t bytes, int device, void** pointer) {
    return capi::guarded([&] {
        void*& out = capi::required(pointer, "pointer");
        out = device_allocate(capi::context_of(context), bytes, device);
    });
}

zyfa_status zyfa_device_release(zyfa_context* context, void* pointer) {
    return capi::guarded([&] { device_release(capi::context_of(context), pointer); });
}

zyfa_status zyfa_copy_to_device(zyfa_context* context, void* to, const void* from, size_t bytes, int device) {
    return capi::guarded([&] { copy_to_device(capi::context_of(context), to, from, bytes, device); });
}

zyfa_status zyfa_copy_to_host(zyfa_context* context, void* to, const void* from, size_t bytes, int device) {
    return capi::guarded([&] { copy_to_host(capi::context_of(context), to, from, bytes, device); });
}

zyfa_status zyfa_synchronize(zyfa_context* context, int device) {
    return capi::guarded([&] { synchronize(capi::context_of(context), device); });
}
