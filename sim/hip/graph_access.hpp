// SPDX-License-Identifier: Apache-2.0
// From handles to graphs and nodes, under the graphs' lock.
#pragma once

#include <memory>
#include <mutex>

#include "sim/hip/api.hpp"
#include "sim/hip/graph.hpp"
#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {

inline std::unique_lock<std::mutex> lock_graphs() {
    return std::unique_lock(Process::get().graph_mutex);
}

inline hipGraphNode_t handle_of(GraphNode* node) {
    return reinterpret_cast<hipGraphNode_t>(node);
}

inline GraphPtr resolve_graph(hipGraph_t handle) {
    auto graph = handle ? Process::get().graphs.find(handle) : nullptr;
    require(graph != nullptr, hipErrorInvalidValue, "no such graph");
    return graph;
}

inline std::shared_ptr<GraphExec> resolve_exec(hipGraphExec_t handle) {
    auto exec = handle ? Process::get().graph_execs.find(handle) : nullptr;
    require(exec != nullptr, hipErrorInvalidValue, "no such executable graph");
    return exec;
}

/// The node of an executable graph that was copied from a node of its origin.
inline GraphNode& exec_node(hipGraphExec_t exec, hipGraphNode_t node) {
    GraphNode* twin = resolve_exec(exec)->graph->find(resolve_node(node).id);
    require(twin != nullptr, hipErrorInvalidValue, "the node is not of the executable graph's origin");
    return *twin;
}

/// Changes a node that must be of the given type.
template <class Change>
hipError_t change_node(const char* function, hipGraphNodeType type, hipGraphNode_t handle, Change&& change) {
    return api(function, [&] {
        const auto lock = lock_graphs();
        GraphNode& node = resolve_node(handle);
        require(node.type == type, hipErrorInvalidValue, "a node of another type");
        change(node);
    });
}

template <class Change>
hipError_t change_exec_node(const char* function, hipGraphNodeType type, hipGraphExec_t exec,
                            hipGraphNode_t handle, Change&& change) {
    return api(function, [&] {
        const auto lock = lock_graphs();
        GraphNode& node = exec_node(exec, handle);
        require(node.type == type, hipErrorInvalidValue, "a node of another type");
        change(node);
    });
}

} // namespace zyfa::sim::hip
