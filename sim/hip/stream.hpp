// SPDX-License-Identifier: Apache-2.0
// Streams, their commands, and events. A device runs its streams' commands on one worker thread: in the order
// they were enqueued where the seed is 0, else in a drawn order among those that HIP's ordering rules allow.
//
// Time is simulated. Each stream has a virtual time; a command starts at the latest of: its stream's time,
// the times of what it comes after, the virtual time at which the host enqueued it, and the time at which the
// unit it needs (compute, copy) is free. The host's virtual time moves only when the host has waited for
// something.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <hip/hip_runtime_api.h>

#include "sim/hip/operation.hpp"

namespace zyfa::sim::hip {

struct Capture;
struct GraphNode;

/// The end of a command. Guarded by Scheduler's mutex.
struct Completion {
    bool done = false;
    double begin = 0, end = 0; ///< virtual seconds
    int device = 0;
};
using CompletionPtr = std::shared_ptr<Completion>;

struct Command {
    Operation operation;
    std::vector<CompletionPtr> after;
    CompletionPtr completion;
    double host_time = 0;     ///< virtual time of the host when it enqueued
    std::uint64_t serial = 0; ///< order of enqueueing in this process
};

class Stream {
  public:
    Stream(Device& owner, unsigned stream_flags, int stream_priority, std::uint64_t stream_id)
        : device(owner), flags(stream_flags), priority(stream_priority), id(stream_id) {}

    bool blocking() const { return !(flags & hipStreamNonBlocking); }

    Device& device;
    const unsigned flags;
    const int priority;
    const std::uint64_t id;
    std::vector<std::uint32_t> cu_mask;

    // Guarded by Scheduler's mutex.
    std::deque<Command> queue;
    CompletionPtr last; ///< of the newest command
    double time = 0;
    bool destroyed = false;

    // Guarded by Process::graph_mutex.
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> capture_tail; ///< what the next captured node comes after
};
using StreamPtr = std::shared_ptr<Stream>;

class Event {
  public:
    Event(int owner, unsigned event_flags) : device(owner), flags(event_flags) {}

    const int device;
    const unsigned flags;

    // Guarded by Scheduler's mutex.
    CompletionPtr record;
    bool at_begin = false; ///< stands for the begin of the command (start event of hipExtLaunchKernel)

    // Guarded by Process::graph_mutex.
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> captured;

    double time() const { return at_begin ? record->begin : record->end; }
};
using EventPtr = std::shared_ptr<Event>;

/// Handles. A stale handle is an error, not a crash.
StreamPtr resolve_stream(hipStream_t handle); ///< null and hipStreamLegacy: default stream of the device
EventPtr resolve_event(hipEvent_t handle);

/// For the `_spt` variants: the null stream is the thread's own.
inline hipStream_t per_thread(hipStream_t handle) {
    return handle ? handle : hipStreamPerThread;
}

/// What the call is about to do, for the rules of capture.
enum class Wait { no, yes };

/// Enqueues, or adds a node where the stream captures (`Wait::yes` is then an error). With Wait::yes returns
/// when the operation has ended and throws Failure if the device has faulted.
CompletionPtr submit(const StreamPtr& stream, Operation operation, Wait wait = Wait::no);

/// Enqueues without regard to capture. Throws Failure if the device has faulted.
CompletionPtr enqueue(const StreamPtr& stream, Operation operation, std::vector<CompletionPtr> after);

/// Waits; throws Failure with the fault's code if the device has faulted.
void synchronize(const StreamPtr& stream);
void synchronize(const CompletionPtr& completion, Device& device);
void synchronize(Device& device);
bool finished(const CompletionPtr& completion);

} // namespace zyfa::sim::hip
