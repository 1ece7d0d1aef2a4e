// SPDX-License-Identifier: Apache-2.0
// Executable graphs as HIP calls: instantiating, updating, launching.
#include "sim/hip/graph_access.hpp"
#include "sim/hip/module.hpp"

using namespace zyfa::sim::hip;

namespace {

hipError_t instantiate(const char* function, hipGraphExec_t* result, hipGraph_t handle,
                       unsigned long long flags) {
    return api(function, [&] {
        require(result != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        auto exec = std::make_shared<GraphExec>();
        exec->graph = resolve_graph(handle)->clone();
        exec->order = exec->graph->ordered();
        exec->flags = flags;
        for (const GraphNode* node : exec->order)
            if (node->child)
                node->child->ordered(); // a cycle inside is found now, not at launch
        *result = static_cast<hipGraphExec_t>(Process::get().graph_execs.insert(exec));
    });
}

void run(const std::vector<GraphNode*>& order, const StreamPtr& stream) {
    for (const GraphNode* node : order) {
        if (!node->enabled)
            continue;
        if (node->child)
            run(node->child->ordered(), stream);
        else if (const auto* kernel = std::get_if<KernelOperation>(&node->operation)) {
            require(kernel->function->device == stream->device.ordinal, hipErrorInvalidHandle,
                    "a kernel node's function was loaded on another device than the stream's");
            enqueue(stream, node->operation, {});
        } else
            enqueue(stream, node->operation, {});
    }
}

hipError_t launch_graph(const char* function, hipGraphExec_t handle, hipStream_t stream_handle) {
    return api(function, [&] {
        const auto exec = resolve_exec(handle);
        const StreamPtr stream = resolve_stream(stream_handle);
        Operation marker = EmptyOperation{};
        if (capture(stream, marker, Wait::no)) {
            const auto lock = lock_graphs();
            GraphNode& node = *stream->capture_tail.front(); // the marker becomes the child graph
            node.type = hipGraphNodeTypeGraph;
            node.child = exec->graph->clone();
            return;
        }
        const auto lock = lock_graphs();
        run(exec->order, stream);
    });
}

} // namespace

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* error, char* log,
                               size_t log_size) {
    if (error)
        *error = nullptr;
    if (log && log_size)
        log[0] = 0;
    return instantiate("hipGraphInstantiate", exec, graph, 0);
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags) {
    return instantiate("hipGraphInstantiateWithFlags", exec, graph, flags);
}
hipError_t hipGraphInstantiateWithParams(hipGraphExec_t* exec, hipGraph_t graph,
                                         hipGraphInstantiateParams* p) {
    if (!p)
        return api("hipGraphInstantiateWithParams", [] { fail(hipErrorInvalidValue, "null parameters"); });
    const hipError_t status = instantiate("hipGraphInstantiateWithParams", exec, graph, p->flags);
    p->errNode_out = nullptr;
    p->result_out = status == hipSuccess ? hipGraphInstantiateSuccess : hipGraphInstantiateError;
    return status;
}
hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
    return api("hipGraphExecDestroy", [&] {
        std::shared_ptr<GraphExec> removed; // let go after the lock
        const auto lock = lock_graphs();
        resolve_exec(exec);
        removed = Process::get().graph_execs.remove(exec);
    });
}
hipError_t hipGraphExecGetFlags(hipGraphExec_t exec, unsigned long long* flags) {
    return api("hipGraphExecGetFlags", [&] {
        require(flags != nullptr, hipErrorInvalidValue, "null result pointer");
        *flags = resolve_exec(exec)->flags;
    });
}
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
    return launch_graph("hipGraphLaunch", exec, stream);
}
ZYFA_HIP_API hipError_t hipGraphLaunch_spt(hipGraphExec_t exec, hipStream_t stream) {
    return launch_graph("hipGraphLaunch_spt", exec, per_thread(stream));
}
hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
    return api("hipGraphUpload", [&] {
        resolve_exec(exec);
        resolve_stream(stream);
    });
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec_handle, hipGraph_t graph_handle, hipGraphNode_t* error,
                              hipGraphExecUpdateResult* result) {
    return api("hipGraphExecUpdate", [&] {
        require(error && result, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        const auto exec = resolve_exec(exec_handle);
        const GraphPtr graph = resolve_graph(graph_handle);
        *error = nullptr;
        const auto refuse = [&](hipGraphExecUpdateResult why, GraphNode* node) {
            *result = why;
            *error = handle_of(node);
            fail(hipErrorGraphExecUpdateFailure, "the graph differs in more than parameters");
        };
        if (graph->nodes.size() != exec->graph->nodes.size())
            refuse(hipGraphExecUpdateErrorTopologyChanged, nullptr);
        const auto position = [](const Graph& owner, const GraphNode* node) {
            std::size_t i = 0;
            while (owner.nodes[i].get() != node)
                ++i;
            return i;
        };
        for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
            GraphNode &fresh = *graph->nodes[i], &old = *exec->graph->nodes[i];
            if (fresh.type != old.type)
                refuse(hipGraphExecUpdateErrorNodeTypeChanged, &fresh);
            bool same = fresh.after.size() == old.after.size();
            for (std::size_t k = 0; same && k < fresh.after.size(); ++k)
                same = position(*graph, fresh.after[k]) == position(*exec->graph, old.after[k]);
            if (!same)
                refuse(hipGraphExecUpdateErrorTopologyChanged, &fresh);
        }
        exec->graph = graph->clone();
        exec->order = exec->graph->ordered();
        *result = hipGraphExecUpdateSuccess;
    });
}
