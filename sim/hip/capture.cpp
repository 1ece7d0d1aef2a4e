// SPDX-License-Identifier: Apache-2.0
// Stream capture: what a capturing stream is asked to do becomes a node; what HIP forbids meanwhile is
// refused and makes the capture invalid (HIP: hipStreamBeginCapture, hipStreamCaptureMode).
#include <algorithm>
#include <unordered_set>

#include "sim/hip/graph.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

/// Captures in progress, in order of their begin.
std::vector<std::shared_ptr<Capture>>& captures() {
    static auto* list = new std::vector<std::shared_ptr<Capture>>;
    return *list;
}

void join(const std::shared_ptr<Capture>& capture, const StreamPtr& stream, std::vector<GraphNode*> tail) {
    stream->capture = capture;
    stream->capture_tail = std::move(tail);
    capture->streams.push_back(stream);
}

void add_unique(std::vector<GraphNode*>& nodes, const std::vector<GraphNode*>& more) {
    for (GraphNode* node : more)
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
            nodes.push_back(node);
}

/// A blocking stream of the device that captures, whatever the mode: the legacy stream would have to wait for
/// work that does not run.
std::shared_ptr<Capture> blocking_capture(Device& device) {
    std::lock_guard lock(Process::get().scheduler.mutex);
    for (const auto& stream : device.streams)
        if (stream->capture && stream->blocking())
            return stream->capture;
    return nullptr;
}

bool is_default(const StreamPtr& stream) {
    std::lock_guard lock(Process::get().scheduler.mutex);
    return stream == stream->device.streams.front();
}

/// Whether all work of the streams that joined has come back to the origin.
bool joined(const Capture& capture) {
    std::vector<const GraphNode*> pending;
    std::unordered_set<const GraphNode*> reached;
    for (const auto& weak : capture.streams)
        if (const auto stream = weak.lock(); stream && stream.get() == capture.origin)
            pending.assign(stream->capture_tail.begin(), stream->capture_tail.end());
    while (!pending.empty()) {
        const GraphNode* node = pending.back();
        pending.pop_back();
        if (reached.insert(node).second)
            pending.insert(pending.end(), node->after.begin(), node->after.end());
    }
    for (const auto& weak : capture.streams)
        if (const auto stream = weak.lock())
            for (const GraphNode* node : stream->capture_tail)
                if (!reached.contains(node))
                    return false;
    return true;
}

void leave(Capture& capture) {
    capture.ended = true;
    for (const auto& weak : capture.streams)
        if (const auto stream = weak.lock()) {
            stream->capture.reset();
            stream->capture_tail.clear();
        }
    std::erase_if(captures(), [&](const auto& entry) { return entry.get() == &capture; });
}

void begin(const StreamPtr& stream, hipStreamCaptureMode mode, GraphPtr graph, std::vector<GraphNode*> tail) {
    require(mode >= hipStreamCaptureModeGlobal && mode <= hipStreamCaptureModeRelaxed, hipErrorInvalidValue,
            "mode");
    require(!is_default(stream), hipErrorStreamCaptureUnsupported, "the default stream cannot capture");
    require(!stream->capture, hipErrorIllegalState, "the stream captures already");
    static std::uint64_t next_id = 1;
    auto capture = std::make_shared<Capture>();
    capture->own_graph = graph == nullptr;
    capture->graph = graph ? std::move(graph) : std::make_shared<Graph>();
    capture->id = next_id++;
    capture->mode = mode;
    capture->thread = &thread_state();
    capture->origin = stream.get();
    join(capture, stream, std::move(tail));
    captures().push_back(std::move(capture));
}

} // namespace

bool capturing(const StreamPtr& stream) {
    std::lock_guard lock(Process::get().graph_mutex);
    return stream->capture != nullptr;
}

void abandon_capture(const StreamPtr& stream) {
    std::lock_guard lock(Process::get().graph_mutex);
    if (!stream->capture)
        return;
    stream->capture->invalidated = true;
    if (stream->capture->origin == stream.get())
        leave(*std::shared_ptr<Capture>(stream->capture));
}

void forbid_in_capture() {
    Process& process = Process::get();
    std::lock_guard lock(process.graph_mutex);
    if (captures().empty())
        return;
    const ThreadState& thread = thread_state();
    if (thread.capture_mode == hipStreamCaptureModeRelaxed)
        return;
    bool forbidden = false;
    for (const auto& capture : captures()) {
        const bool mine = capture->thread == &thread;
        if ((mine && capture->mode != hipStreamCaptureModeRelaxed) ||
            (thread.capture_mode == hipStreamCaptureModeGlobal &&
             capture->mode == hipStreamCaptureModeGlobal)) {
            capture->invalidated = true;
            forbidden = true;
        }
    }
    require(!forbidden, hipErrorStreamCaptureUnsupported, "not permitted while a stream captures");
}

bool capture(const StreamPtr& stream, Operation& operation, Wait wait) {
    Process& process = Process::get();
    std::lock_guard lock(process.graph_mutex);
    auto* record = std::get_if<RecordOperation>(&operation);
    auto* waiting = std::get_if<WaitOperation>(&operation);
    if (captures().empty()) {
        if (record)
            record->event->capture.reset();
        return false;
    }
    const auto current = stream->capture;
    if (!current) {
        if (is_default(stream))
            if (const auto other = blocking_capture(stream->device)) {
                other->invalidated = true;
                fail(hipErrorStreamCaptureImplicit, "the legacy stream would depend on a capturing stream");
            }
        if (waiting && waiting->event->capture && !waiting->event->capture->ended) {
            require(!waiting->event->capture->invalidated, hipErrorStreamCaptureInvalidated);
            join(waiting->event->capture, stream, waiting->event->captured);
            return true;
        }
        if (record)
            record->event->capture.reset();
        return false;
    }
    require(!current->invalidated, hipErrorStreamCaptureInvalidated,
            "an earlier call made the capture invalid");
    if (wait == Wait::yes) {
        current->invalidated = true;
        fail(hipErrorStreamCaptureUnsupported, "a capturing stream cannot be waited for");
    }
    if (record && !record->external) {
        record->event->capture = current;
        record->event->captured = stream->capture_tail;
        return true;
    }
    if (waiting && !waiting->external) {
        const auto& event = *waiting->event;
        if (event.capture != current) {
            current->invalidated = true;
            if (event.capture && !event.capture->ended) {
                event.capture->invalidated = true;
                fail(hipErrorStreamCaptureMerge, "the event belongs to another capture");
            }
            fail(hipErrorStreamCaptureIsolation, "the event was recorded outside the capture");
        }
        add_unique(stream->capture_tail, event.captured);
        return true;
    }
    const hipGraphNodeType type = node_type(operation);
    GraphNode& node = current->graph->add(type, std::move(operation), stream->capture_tail);
    if (auto* kernel = std::get_if<KernelOperation>(&node.operation))
        node.kernel_handle = const_cast<Function*>(kernel->function.get());
    stream->capture_tail = {&node};
    return true;
}

} // namespace zyfa::sim::hip

using namespace zyfa::sim::hip;

namespace {

hipError_t begin_capture(const char* function, hipStream_t handle, hipStreamCaptureMode mode) {
    return api(function, [&] {
        const StreamPtr stream = resolve_stream(handle);
        std::lock_guard lock(Process::get().graph_mutex);
        begin(stream, mode, nullptr, {});
    });
}

hipError_t end_capture(const char* function, hipStream_t handle, hipGraph_t* graph) {
    return api(function, [&] {
        require(graph != nullptr, hipErrorInvalidValue, "null result pointer");
        *graph = nullptr;
        const StreamPtr stream = resolve_stream(handle);
        std::lock_guard lock(Process::get().graph_mutex);
        const std::shared_ptr<Capture> current = stream->capture;
        require(current != nullptr, hipErrorIllegalState, "the stream does not capture");
        require(current->origin == stream.get(), hipErrorStreamCaptureUnmatched,
                "the capture began in another stream");
        require(current->mode == hipStreamCaptureModeRelaxed || current->thread == &thread_state(),
                hipErrorStreamCaptureWrongThread, "another thread began the capture");
        const bool complete = joined(*current);
        leave(*current);
        require(!current->invalidated, hipErrorStreamCaptureInvalidated,
                "an earlier call made the capture invalid");
        require(complete, hipErrorStreamCaptureUnjoined, "a forked stream was not joined");
        if (current->own_graph)
            Process::get().graphs.insert(current->graph);
        *graph = reinterpret_cast<hipGraph_t>(current->graph.get());
    });
}

hipStreamCaptureStatus status_of(const Stream& stream) {
    return !stream.capture               ? hipStreamCaptureStatusNone
           : stream.capture->invalidated ? hipStreamCaptureStatusInvalidated
                                         : hipStreamCaptureStatusActive;
}

hipError_t capture_info(const char* function, hipStream_t handle, hipStreamCaptureStatus* status,
                        unsigned long long* id, hipGraph_t* graph, const hipGraphNode_t** dependencies,
                        size_t* count) {
    return api(function, [&] {
        require(status != nullptr, hipErrorInvalidValue, "null result pointer");
        const StreamPtr stream = resolve_stream(handle);
        std::lock_guard lock(Process::get().graph_mutex);
        *status = status_of(*stream);
        if (*status != hipStreamCaptureStatusActive)
            return;
        if (id)
            *id = stream->capture->id;
        if (graph) {
            *graph = reinterpret_cast<hipGraph_t>(stream->capture->graph.get());
            if (!Process::get().graphs.find(*graph)) // nodes may be added by hand meanwhile
                Process::get().graphs.insert(stream->capture->graph);
        }
        if (dependencies)
            *dependencies = reinterpret_cast<const hipGraphNode_t*>(stream->capture_tail.data());
        if (count)
            *count = stream->capture_tail.size();
    });
}

hipError_t is_capturing(const char* function, hipStream_t handle, hipStreamCaptureStatus* status) {
    return api(function, [&] {
        require(status != nullptr, hipErrorInvalidValue, "null result pointer");
        const StreamPtr stream = resolve_stream(handle);
        std::lock_guard lock(Process::get().graph_mutex);
        require(!is_default(stream) || !blocking_capture(stream->device), hipErrorStreamCaptureImplicit,
                "the legacy stream would depend on a capturing stream");
        *status = status_of(*stream);
    });
}

std::vector<GraphNode*> resolve_nodes(const hipGraphNode_t* handles, std::size_t count) {
    require(count == 0 || handles, hipErrorInvalidValue, "null list of nodes");
    std::vector<GraphNode*> nodes;
    for (std::size_t i = 0; i < count; ++i)
        nodes.push_back(&resolve_node(handles[i]));
    return nodes;
}

} // namespace

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
    return begin_capture("hipStreamBeginCapture", stream, mode);
}
ZYFA_HIP_API hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode) {
    return begin_capture("hipStreamBeginCapture_spt", per_thread(stream), mode);
}
hipError_t hipStreamBeginCaptureToGraph(hipStream_t handle, hipGraph_t graph,
                                        const hipGraphNode_t* dependencies, const hipGraphEdgeData*,
                                        size_t count, hipStreamCaptureMode mode) {
    return api("hipStreamBeginCaptureToGraph", [&] {
        const StreamPtr stream = resolve_stream(handle);
        const GraphPtr target = Process::get().graphs.find(graph);
        require(target != nullptr, hipErrorInvalidValue, "no such graph");
        std::lock_guard lock(Process::get().graph_mutex);
        begin(stream, mode, target, resolve_nodes(dependencies, count));
    });
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
    return end_capture("hipStreamEndCapture", stream, graph);
}
ZYFA_HIP_API hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph) {
    return end_capture("hipStreamEndCapture_spt", per_thread(stream), graph);
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
    return is_capturing("hipStreamIsCapturing", stream, status);
}
ZYFA_HIP_API hipError_t hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus* status) {
    return is_capturing("hipStreamIsCapturing_spt", per_thread(stream), status);
}
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id) {
    return capture_info("hipStreamGetCaptureInfo", stream, status, id, nullptr, nullptr, nullptr);
}
ZYFA_HIP_API hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream, hipStreamCaptureStatus* status,
                                                    unsigned long long* id) {
    return capture_info("hipStreamGetCaptureInfo_spt", per_thread(stream), status, id, nullptr, nullptr,
                        nullptr);
}
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                      unsigned long long* id, hipGraph_t* graph,
                                      const hipGraphNode_t** dependencies, size_t* count) {
    return capture_info("hipStreamGetCaptureInfo_v2", stream, status, id, graph, dependencies, count);
}
ZYFA_HIP_API hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream, hipStreamCaptureStatus* status,
                                                       unsigned long long* id, hipGraph_t* graph,
                                                       const hipGraphNode_t** dependencies, size_t* count) {
    return capture_info("hipStreamGetCaptureInfo_v2_spt", per_thread(stream), status, id, graph, dependencies,
                        count);
}
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t* dependencies, size_t count,
                                              unsigned int flags) {
    return api("hipStreamUpdateCaptureDependencies", [&] {
        require(flags <= hipStreamSetCaptureDependencies, hipErrorInvalidValue, "flags");
        const StreamPtr stream = resolve_stream(handle);
        std::lock_guard lock(Process::get().graph_mutex);
        require(stream->capture != nullptr, hipErrorIllegalState, "the stream does not capture");
        const auto nodes = resolve_nodes(dependencies, count);
        for (const GraphNode* node : nodes)
            require(node->graph == stream->capture->graph.get(), hipErrorInvalidValue,
                    "a node of another graph");
        if (flags == hipStreamSetCaptureDependencies)
            stream->capture_tail.clear();
        add_unique(stream->capture_tail, nodes);
    });
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
    return api("hipThreadExchangeStreamCaptureMode", [&] {
        require(mode && *mode >= hipStreamCaptureModeGlobal && *mode <= hipStreamCaptureModeRelaxed,
                hipErrorInvalidValue, "mode");
        std::swap(*mode, thread_state().capture_mode);
    });
}
