// SPDX-License-Identifier: Apache-2.0
// Enqueueing and waiting: HIP's ordering rules between streams become dependencies of commands.
#include "sim/hip/stream.hpp"

#include <algorithm>

#include "sim/hip/graph.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

/// The legacy default stream waits for, and is waited for by, every blocking stream of its device.
void add_legacy_order(const StreamPtr& stream, std::vector<CompletionPtr>& after) {
    const auto& streams = stream->device.streams;
    if (stream == streams.front()) {
        for (const auto& other : streams)
            if (other != stream && other->blocking() && other->last)
                after.push_back(other->last);
    } else if (stream->blocking() && streams.front()->last) {
        after.push_back(streams.front()->last);
    }
}

} // namespace

StreamPtr resolve_stream(hipStream_t handle) {
    Process& process = Process::get();
    if (!handle || handle == hipStreamLegacy)
        return process.current_device().default_stream();
    if (handle == hipStreamPerThread) {
        ThreadState& state = thread_state();
        StreamPtr& stream = state.streams[state.device];
        if (!stream)
            stream = process.current_device().create_stream(hipStreamDefault, 0);
        return stream;
    }
    StreamPtr stream = process.streams.find(handle);
    require(stream != nullptr, hipErrorContextIsDestroyed, "no such stream");
    return stream;
}

EventPtr resolve_event(hipEvent_t handle) {
    require(handle != nullptr, hipErrorInvalidHandle, "null event");
    EventPtr event = Process::get().events.find(handle);
    require(event != nullptr, hipErrorInvalidHandle, "no such event");
    return event;
}

CompletionPtr enqueue(const StreamPtr& stream, Operation operation, std::vector<CompletionPtr> after) {
    Device& device = stream->device;
    Scheduler& scheduler = Process::get().scheduler;
    CompletionPtr completion;
    {
        std::lock_guard lock(scheduler.mutex);
        if (device.fault)
            fail(device.fault->code, "the device has faulted");
        completion = std::make_shared<Completion>();
        completion->device = device.ordinal;
        if (auto* record = std::get_if<RecordOperation>(&operation)) {
            record->event->record = completion;
            record->event->at_begin = false;
            if ((record->event->flags & hipEventDisableTiming) == 0)
                device.watched = true;
        }
        if (auto* wait = std::get_if<WaitOperation>(&operation))
            if (wait->event->record)
                after.push_back(wait->event->record);
        add_legacy_order(stream, after);
        stream->queue.push_back(
            {std::move(operation), std::move(after), completion, scheduler.host_time, ++scheduler.serial});
        stream->last = completion;
        scheduler.start(device);
    }
    scheduler.changed.notify_all();
    return completion;
}

CompletionPtr submit(const StreamPtr& stream, Operation operation, Wait wait) {
    if (capture(stream, operation, wait))
        return nullptr;
    CompletionPtr completion = enqueue(stream, std::move(operation), {});
    if (wait == Wait::yes)
        synchronize(completion, stream->device);
    return completion;
}

void synchronize(const CompletionPtr& completion, Device& device) {
    Scheduler& scheduler = Process::get().scheduler;
    std::unique_lock lock(scheduler.mutex);
    if (completion)
        scheduler.wait(lock, completion);
    if (device.fault)
        fail(device.fault->code, "the device has faulted");
}

void synchronize(const StreamPtr& stream) {
    CompletionPtr last;
    bool legacy = false;
    {
        std::lock_guard lock(Process::get().scheduler.mutex);
        last = stream->last;
        legacy = stream == stream->device.streams.front();
    }
    // Waiting for the legacy stream is waiting for what its next command would wait for.
    if (legacy)
        last = enqueue(stream, EmptyOperation{}, {});
    synchronize(last, stream->device);
}

void synchronize(Device& device) {
    Scheduler& scheduler = Process::get().scheduler;
    std::unique_lock lock(scheduler.mutex);
    std::vector<CompletionPtr> pending;
    for (const auto& stream : device.streams)
        if (stream->last)
            pending.push_back(stream->last);
    for (const auto& completion : pending)
        scheduler.wait(lock, completion);
    if (device.fault)
        fail(device.fault->code, "the device has faulted");
}

bool finished(const CompletionPtr& completion) {
    Scheduler& scheduler = Process::get().scheduler;
    std::lock_guard lock(scheduler.mutex);
    if (!completion)
        return true;
    if (completion->done)
        scheduler.host_time = std::max(scheduler.host_time, completion->end);
    return completion->done;
}

} // namespace zyfa::sim::hip
