// SPDX-License-Identifier: Apache-2.0
// Streams and events as HIP calls.
#include <algorithm>

#include "sim/hip/graph.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/process.hpp"

using namespace zyfa::sim::hip;

namespace {

hipError_t create_stream(const char* function, hipStream_t* handle, unsigned flags, int priority,
                         const uint32_t* mask = nullptr, uint32_t mask_size = 0) {
    return api(function, [&] {
        require(handle != nullptr, hipErrorInvalidValue, "null result pointer");
        require(flags == hipStreamDefault || flags == hipStreamNonBlocking, hipErrorInvalidValue, "flags");
        const StreamPtr stream =
            Process::get().current_device().create_stream(flags, std::clamp(priority, -1, 1));
        stream->cu_mask.assign(mask, mask + mask_size);
        *handle = static_cast<hipStream_t>(Process::get().streams.insert(stream));
    });
}

hipError_t synchronize_stream(const char* function, hipStream_t handle) {
    return api(function, [&] {
        const StreamPtr stream = resolve_stream(handle);
        if (capturing(stream)) {
            Operation nothing = EmptyOperation{};
            capture(stream, nothing, Wait::yes); // refuses and invalidates
        }
        synchronize(stream);
    });
}

hipError_t query_stream(const char* function, hipStream_t handle) {
    return api(function, [&] {
        const StreamPtr stream = resolve_stream(handle);
        if (capturing(stream)) {
            Operation nothing = EmptyOperation{};
            capture(stream, nothing, Wait::yes);
        }
        CompletionPtr last;
        {
            std::lock_guard lock(Process::get().scheduler.mutex);
            last = stream->last;
        }
        stream->device.check();
        return finished(last) ? hipSuccess : hipErrorNotReady;
    });
}

hipError_t wait_event(const char* function, hipStream_t handle, hipEvent_t event_handle, unsigned flags) {
    return api(function, [&] {
        require(flags == hipEventWaitDefault || flags == hipEventWaitExternal, hipErrorInvalidValue, "flags");
        const EventPtr event = resolve_event(event_handle);
        submit(resolve_stream(handle), WaitOperation{event, flags == hipEventWaitExternal});
    });
}

hipError_t record_event(const char* function, hipEvent_t event_handle, hipStream_t handle, unsigned flags) {
    return api(function, [&] {
        require(flags == hipEventRecordDefault || flags == hipEventRecordExternal, hipErrorInvalidValue,
                "flags");
        const EventPtr event = resolve_event(event_handle);
        const StreamPtr stream = resolve_stream(handle);
        require(event->device == stream->device.ordinal, hipErrorInvalidHandle,
                "event and stream of two devices");
        submit(stream, RecordOperation{event, flags == hipEventRecordExternal});
    });
}

hipError_t stream_flags(const char* function, hipStream_t handle, unsigned int* flags) {
    return api(function, [&] {
        require(flags != nullptr, hipErrorInvalidValue, "null result pointer");
        *flags = resolve_stream(handle)->flags;
    });
}

hipError_t stream_priority(const char* function, hipStream_t handle, int* priority) {
    return api(function, [&] {
        require(priority != nullptr, hipErrorInvalidValue, "null result pointer");
        *priority = resolve_stream(handle)->priority;
    });
}

hipError_t add_callback(const char* function, hipStream_t handle, hipStreamCallback_t callback, void* user,
                        unsigned flags) {
    return api(function, [&] {
        require(callback && flags == 0, hipErrorInvalidValue, "null callback or flags");
        const StreamPtr stream = resolve_stream(handle);
        submit(stream, HostOperation{[=, &device = stream->device] {
                   hipError_t status = hipSuccess;
                   {
                       std::lock_guard lock(Process::get().scheduler.mutex);
                       if (device.fault)
                           status = device.fault->code;
                   }
                   callback(handle, status, user);
               }});
    });
}

hipError_t launch_host(const char* function, hipStream_t handle, hipHostFn_t call, void* user) {
    return api(function, [&] {
        require(call != nullptr, hipErrorInvalidValue, "null function");
        submit(resolve_stream(handle), HostOperation{[=] { call(user); }, call, user});
    });
}

Operation wait_value(void* pointer, uint64_t value, unsigned flags, uint64_t mask, unsigned bytes) {
    require(pointer && flags <= hipStreamWaitValueNor, hipErrorInvalidValue, "null pointer or flags");
    require(address_of(pointer) % bytes == 0 && !locate(address_of(pointer), bytes).pageable(),
            hipErrorInvalidValue, "pointer is misaligned or not known to the device");
    return WaitValueOperation{address_of(pointer), value, mask, bytes, flags};
}

Operation write_value(void* pointer, uint64_t value, unsigned bytes) {
    require(pointer != nullptr, hipErrorInvalidValue, "null pointer");
    require(address_of(pointer) % bytes == 0 && !locate(address_of(pointer), bytes).pageable(),
            hipErrorInvalidValue, "pointer is misaligned or not known to the device");
    return WriteValueOperation{address_of(pointer), value, bytes};
}

} // namespace

hipError_t hipStreamCreate(hipStream_t* stream) {
    return create_stream("hipStreamCreate", stream, hipStreamDefault, 0);
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
    return create_stream("hipStreamCreateWithFlags", stream, flags, 0);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority) {
    return create_stream("hipStreamCreateWithPriority", stream, flags, priority);
}
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t size, const uint32_t* mask) {
    if (!mask || size == 0)
        return api("hipExtStreamCreateWithCUMask", [] { fail(hipErrorInvalidValue, "no mask"); });
    return create_stream("hipExtStreamCreateWithCUMask", stream, hipStreamDefault, 0, mask, size);
}
hipError_t hipExtStreamGetCUMask(hipStream_t handle, uint32_t size, uint32_t* mask) {
    return api("hipExtStreamGetCUMask", [&] {
        const StreamPtr stream = resolve_stream(handle);
        const std::uint32_t units = stream->device.options().compute_units, words = (units + 31) / 32;
        require(mask && size >= words, hipErrorInvalidValue, "no room for the mask");
        for (std::uint32_t i = 0; i < size; ++i) {
            const std::uint32_t left = i * 32 >= units ? 0 : units - i * 32;
            mask[i] = !stream->cu_mask.empty() ? (i < stream->cu_mask.size() ? stream->cu_mask[i] : 0)
                      : left >= 32             ? ~0u
                                               : (1u << left) - 1;
        }
    });
}

hipError_t hipStreamDestroy(hipStream_t handle) {
    return api("hipStreamDestroy", [&] {
        require(handle && handle != hipStreamLegacy && handle != hipStreamPerThread, hipErrorInvalidHandle,
                "the default streams are not destroyed");
        const StreamPtr stream = resolve_stream(handle);
        abandon_capture(stream);
        Process::get().streams.remove(handle);
        stream->device.destroy_stream(stream);
    });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
    return synchronize_stream("hipStreamSynchronize", stream);
}
ZYFA_HIP_API hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
    return synchronize_stream("hipStreamSynchronize_spt", per_thread(stream));
}
hipError_t hipStreamQuery(hipStream_t stream) {
    return query_stream("hipStreamQuery", stream);
}
ZYFA_HIP_API hipError_t hipStreamQuery_spt(hipStream_t stream) {
    return query_stream("hipStreamQuery_spt", per_thread(stream));
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags) {
    return wait_event("hipStreamWaitEvent", stream, event, flags);
}
ZYFA_HIP_API hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned int flags) {
    return wait_event("hipStreamWaitEvent_spt", per_thread(stream), event, flags);
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
    return stream_flags("hipStreamGetFlags", stream, flags);
}
ZYFA_HIP_API hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned int* flags) {
    return stream_flags("hipStreamGetFlags_spt", per_thread(stream), flags);
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
    return stream_priority("hipStreamGetPriority", stream, priority);
}
ZYFA_HIP_API hipError_t hipStreamGetPriority_spt(hipStream_t stream, int* priority) {
    return stream_priority("hipStreamGetPriority_spt", per_thread(stream), priority);
}
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
    return api("hipStreamGetDevice", [&] {
        require(device != nullptr, hipErrorInvalidValue, "null result pointer");
        *device = resolve_stream(stream)->device.ordinal;
    });
}
int hipGetStreamDeviceId(hipStream_t stream) {
    int device = -1;
    (void)api("hipGetStreamDeviceId", [&] { device = resolve_stream(stream)->device.ordinal; });
    return device;
}
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
    return api("hipStreamGetId", [&] {
        require(id != nullptr, hipErrorInvalidValue, "null result pointer");
        *id = resolve_stream(stream)->id;
    });
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user,
                                unsigned int flags) {
    return add_callback("hipStreamAddCallback", stream, callback, user, flags);
}
ZYFA_HIP_API hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback, void* user,
                                                 unsigned int flags) {
    return add_callback("hipStreamAddCallback_spt", per_thread(stream), callback, user, flags);
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t call, void* user) {
    return launch_host("hipLaunchHostFunc", stream, call, user);
}
ZYFA_HIP_API hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t call, void* user) {
    return launch_host("hipLaunchHostFunc_spt", per_thread(stream), call, user);
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned int flags,
                                uint32_t mask) {
    return api("hipStreamWaitValue32",
               [&] { submit(resolve_stream(stream), wait_value(pointer, value, flags, mask, 4)); });
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned int flags,
                                uint64_t mask) {
    return api("hipStreamWaitValue64",
               [&] { submit(resolve_stream(stream), wait_value(pointer, value, flags, mask, 8)); });
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned int) {
    return api("hipStreamWriteValue32",
               [&] { submit(resolve_stream(stream), write_value(pointer, value, 4)); });
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned int) {
    return api("hipStreamWriteValue64",
               [&] { submit(resolve_stream(stream), write_value(pointer, value, 8)); });
}

hipError_t hipStreamBatchMemOp(hipStream_t handle, unsigned int count, hipStreamBatchMemOpParams* operations,
                               unsigned int flags) {
    return api("hipStreamBatchMemOp", [&] {
        require(count && count <= 256 && operations && flags == 0, hipErrorInvalidValue, "arguments");
        const StreamPtr stream = resolve_stream(handle);
        std::vector<Operation> checked;
        for (unsigned i = 0; i < count; ++i) {
            const auto& wait = operations[i].waitValue;
            const auto& write = operations[i].writeValue;
            switch (operations[i].operation) {
            case hipStreamMemOpWaitValue32:
                checked.push_back(wait_value(wait.address, wait.value, wait.flags, ~0u, 4));
                break;
            case hipStreamMemOpWaitValue64:
                checked.push_back(wait_value(wait.address, wait.value64, wait.flags, ~0ull, 8));
                break;
            case hipStreamMemOpWriteValue32:
                checked.push_back(write_value(write.address, write.value, 4));
                break;
            case hipStreamMemOpWriteValue64:
                checked.push_back(write_value(write.address, write.value64, 8));
                break;
            default:
                fail(hipErrorInvalidValue, "operation");
            }
        }
        for (auto& operation : checked)
            submit(stream, std::move(operation));
    });
}

// Attributes of streams have no effect here; what was set is not kept, so reading back gives the defaults.
hipError_t hipStreamSetAttribute(hipStream_t stream, hipStreamAttrID, const hipStreamAttrValue* value) {
    return api("hipStreamSetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null value");
        resolve_stream(stream);
    });
}
hipError_t hipStreamGetAttribute(hipStream_t handle, hipStreamAttrID attribute, hipStreamAttrValue* value) {
    return api("hipStreamGetAttribute", [&] {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        const StreamPtr stream = resolve_stream(handle);
        *value = {};
        if (attribute == hipStreamAttributePriority)
            value->priority = stream->priority;
        else if (attribute == hipStreamAttributeSynchronizationPolicy)
            value->syncPolicy = hipSyncPolicyAuto;
    });
}
hipError_t hipStreamCopyAttributes(hipStream_t target, hipStream_t source) {
    return api("hipStreamCopyAttributes", [&] {
        resolve_stream(target);
        resolve_stream(source);
    });
}

// Events

namespace {
hipError_t create_event(const char* function, hipEvent_t* handle, unsigned flags) {
    return api(function, [&] {
        require(handle != nullptr, hipErrorInvalidValue, "null result pointer");
        constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventDisableSystemFence |
                                   hipEventReleaseToDevice | hipEventReleaseToSystem;
        require(!(flags & hipEventInterprocess), hipErrorNotSupported, "events of other processes");
        require((flags & ~known) == 0, hipErrorInvalidValue, "flags");
        require(!(flags & hipEventReleaseToDevice) || !(flags & hipEventReleaseToSystem),
                hipErrorInvalidValue, "two scopes of release");
        *handle = static_cast<hipEvent_t>(Process::get().events.insert(
            std::make_shared<Event>(Process::get().current_device().ordinal, flags)));
    });
}

void refuse_captured(const EventPtr& event) {
    std::lock_guard lock(Process::get().graph_mutex);
    require(!event->capture || event->capture->ended, hipErrorCapturedEvent,
            "the event was last recorded in a capturing stream");
}
} // namespace

hipError_t hipEventCreate(hipEvent_t* event) {
    return create_event("hipEventCreate", event, hipEventDefault);
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
    return create_event("hipEventCreateWithFlags", event, flags);
}
hipError_t hipEventDestroy(hipEvent_t event) {
    return api("hipEventDestroy", [&] {
        resolve_event(event);
        Process::get().events.remove(event);
    });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return record_event("hipEventRecord", event, stream, hipEventRecordDefault);
}
ZYFA_HIP_API hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
    return record_event("hipEventRecord_spt", event, per_thread(stream), hipEventRecordDefault);
}
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned int flags) {
    return record_event("hipEventRecordWithFlags", event, stream, flags);
}
hipError_t hipEventSynchronize(hipEvent_t handle) {
    return api("hipEventSynchronize", [&] {
        const EventPtr event = resolve_event(handle);
        refuse_captured(event);
        CompletionPtr record;
        {
            std::lock_guard lock(Process::get().scheduler.mutex);
            record = event->record;
        }
        synchronize(record, Process::get().device(event->device));
    });
}
hipError_t hipEventQuery(hipEvent_t handle) {
    return api("hipEventQuery", [&] {
        const EventPtr event = resolve_event(handle);
        refuse_captured(event);
        CompletionPtr record;
        {
            std::lock_guard lock(Process::get().scheduler.mutex);
            record = event->record;
        }
        Process::get().device(event->device).check();
        return finished(record) ? hipSuccess : hipErrorNotReady;
    });
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start_handle, hipEvent_t stop_handle) {
    return api("hipEventElapsedTime", [&] {
        require(milliseconds != nullptr, hipErrorInvalidValue, "null result pointer");
        const EventPtr start = resolve_event(start_handle), stop = resolve_event(stop_handle);
        require(!((start->flags | stop->flags) & hipEventDisableTiming), hipErrorInvalidHandle,
                "an event without timing");
        require(start->device == stop->device, hipErrorInvalidHandle, "events of two devices");
        std::lock_guard lock(Process::get().scheduler.mutex);
        require(start->record && stop->record, hipErrorInvalidHandle, "an event was not recorded");
        if (!start->record->done || !stop->record->done)
            return hipErrorNotReady;
        *milliseconds = static_cast<float>((stop->time() - start->time()) * 1e3);
        return hipSuccess;
    });
}
