// SPDX-License-Identifier: Apache-2.0
// Graphs as HIP calls: creating, adding nodes and edges, looking at them.
#include <algorithm>
#include <fstream>

#include "sim/hip/copy.hpp"
#include "sim/hip/graph_access.hpp"
#include "sim/hip/graph_parameters.hpp"
#include "sim/hip/module.hpp"

using namespace zyfa::sim::hip;

namespace {

/// Adds a node that `make` fills in, after the given ones.
template <class Make>
hipError_t add_node(const char* function, hipGraphNode_t* result, hipGraph_t graph_handle,
                    const hipGraphNode_t* dependencies, std::size_t count, Make&& make) {
    return api(function, [&] {
        require(result != nullptr, hipErrorInvalidValue, "null result pointer");
        require(count == 0 || dependencies, hipErrorInvalidValue, "null list of dependencies");
        const auto lock = lock_graphs();
        const GraphPtr graph = resolve_graph(graph_handle);
        std::vector<GraphNode*> after;
        for (std::size_t i = 0; i < count; ++i) {
            GraphNode& before = resolve_node(dependencies[i]);
            require(before.graph == graph.get(), hipErrorInvalidValue, "a dependency of another graph");
            require(std::find(after.begin(), after.end(), &before) == after.end(), hipErrorInvalidValue,
                    "a dependency given twice");
            after.push_back(&before);
        }
        GraphNode made;
        make(made);
        GraphNode& node = graph->add(made.type, std::move(made.operation), std::move(after));
        node.child = std::move(made.child);
        node.kernel_handle = made.kernel_handle;
        node.copy_kind = made.copy_kind;
        *result = handle_of(&node);
    });
}

/// Answers a list the way HIP does: the number where there is no list, else as many as there is room for.
void answer_list(const std::vector<GraphNode*>& nodes, hipGraphNode_t* list, std::size_t* count) {
    require(count != nullptr, hipErrorInvalidValue, "null count");
    if (!list) {
        *count = nodes.size();
        return;
    }
    for (std::size_t i = 0; i < *count; ++i)
        list[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
    *count = std::min(*count, nodes.size());
}

std::vector<GraphNode*> all_nodes(const Graph& graph) {
    std::vector<GraphNode*> nodes;
    for (const auto& node : graph.nodes)
        nodes.push_back(node.get());
    return nodes;
}

void change_dependencies(hipGraph_t handle, const hipGraphNode_t* from, const hipGraphNode_t* to,
                         std::size_t count, bool add) {
    const auto lock = lock_graphs();
    const GraphPtr graph = resolve_graph(handle);
    require(count == 0 || (from && to), hipErrorInvalidValue, "null list");
    for (std::size_t i = 0; i < count; ++i) {
        GraphNode &before = resolve_node(from[i]), &node = resolve_node(to[i]);
        require(before.graph == graph.get() && node.graph == graph.get() && &before != &node,
                hipErrorInvalidValue, "nodes of another graph, or one node");
        const bool there = std::find(node.after.begin(), node.after.end(), &before) != node.after.end();
        require(there != add, hipErrorInvalidValue, add ? "the edge exists" : "no such edge");
        if (add)
            node.after.push_back(&before);
        else
            std::erase(node.after, &before);
    }
}

} // namespace

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) {
    return api("hipGraphCreate", [&] {
        require(graph && flags == 0, hipErrorInvalidValue, "null result pointer or flags");
        *graph = static_cast<hipGraph_t>(Process::get().graphs.insert(std::make_shared<Graph>()));
    });
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
    return api("hipGraphDestroy", [&] {
        GraphPtr removed; // let go after the lock
        const auto lock = lock_graphs();
        resolve_graph(graph);
        removed = Process::get().graphs.remove(graph);
    });
}
hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
    return api("hipGraphClone", [&] {
        require(clone != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        *clone = static_cast<hipGraph_t>(Process::get().graphs.insert(resolve_graph(graph)->clone()));
    });
}
hipError_t hipGraphNodeFindInClone(hipGraphNode_t* result, hipGraphNode_t original, hipGraph_t clone) {
    return api("hipGraphNodeFindInClone", [&] {
        require(result != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        GraphNode* twin = resolve_graph(clone)->find(resolve_node(original).id);
        require(twin != nullptr, hipErrorInvalidValue, "the graph is no copy of the node's");
        *result = handle_of(twin);
    });
}
hipError_t hipGraphDestroyNode(hipGraphNode_t handle) {
    return api("hipGraphDestroyNode", [&] {
        const auto lock = lock_graphs();
        GraphNode& node = resolve_node(handle);
        node.graph->remove(node);
    });
}
hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                   size_t count) {
    return api("hipGraphAddDependencies", [&] { change_dependencies(graph, from, to, count, true); });
}
hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                      size_t count) {
    return api("hipGraphRemoveDependencies", [&] { change_dependencies(graph, from, to, count, false); });
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                 size_t count, const hipKernelNodeParams* p) {
    return add_node("hipGraphAddKernelNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_kernel(made, p); });
}
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                 size_t count, const hipMemcpy3DParms* p) {
    return add_node("hipGraphAddMemcpyNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_copy(made, p); });
}
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                   size_t count, void* dst, const void* src, size_t bytes,
                                   hipMemcpyKind kind) {
    return add_node("hipGraphAddMemcpyNode1D", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_copy(made, linear_copy(dst, src, bytes), kind); });
}
hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t* node, hipGraph_t graph,
                                           const hipGraphNode_t* dependencies, size_t count, void* dst,
                                           const void* symbol, size_t bytes, size_t offset,
                                           hipMemcpyKind kind) {
    return add_node(
        "hipGraphAddMemcpyNodeFromSymbol", node, graph, dependencies, count,
        [&](GraphNode& made) { set_copy(made, symbol_copy(dst, symbol, symbol, bytes, offset), kind); });
}
hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t* node, hipGraph_t graph,
                                         const hipGraphNode_t* dependencies, size_t count, const void* symbol,
                                         const void* src, size_t bytes, size_t offset, hipMemcpyKind kind) {
    return add_node("hipGraphAddMemcpyNodeToSymbol", node, graph, dependencies, count, [&](GraphNode& made) {
        set_copy(made, symbol_copy(const_cast<void*>(symbol), src, symbol, bytes, offset), kind);
    });
}
hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                 size_t count, const hipMemsetParams* p) {
    return add_node("hipGraphAddMemsetNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_fill(made, p); });
}
hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                    const hipGraphNode_t* dependencies, size_t count,
                                    const hipMemsetParams* p, hipCtx_t) {
    return add_node("hipDrvGraphAddMemsetNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_fill(made, p); });
}
hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                               size_t count, const hipHostNodeParams* p) {
    return add_node("hipGraphAddHostNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_host(made, p); });
}
hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                size_t count) {
    return add_node("hipGraphAddEmptyNode", node, graph, dependencies, count, [](GraphNode&) {});
}
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* dependencies, size_t count, hipGraph_t child) {
    return add_node("hipGraphAddChildGraphNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_child(made, child); });
}
hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph,
                                      const hipGraphNode_t* dependencies, size_t count, hipEvent_t event) {
    return add_node("hipGraphAddEventRecordNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_record(made, event); });
}
hipError_t hipGraphAddEventWaitNode(hipGraphNode_t* node, hipGraph_t graph,
                                    const hipGraphNode_t* dependencies, size_t count, hipEvent_t event) {
    return add_node("hipGraphAddEventWaitNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_wait(made, event); });
}
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                   size_t count, hipMemAllocNodeParams* p) {
    return add_node("hipGraphAddMemAllocNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_allocation(made, p); });
}
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                  size_t count, void* pointer) {
    return add_node("hipGraphAddMemFreeNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_free(made, pointer); });
}
hipError_t hipDrvGraphAddMemFreeNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* dependencies, size_t count,
                                     hipDeviceptr_t pointer) {
    return add_node("hipDrvGraphAddMemFreeNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_free(made, pointer); });
}
hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph,
                                    const hipGraphNode_t* dependencies, size_t count, const HIP_MEMCPY3D* p,
                                    hipCtx_t) {
    return add_node("hipDrvGraphAddMemcpyNode", node, graph, dependencies, count, [&](GraphNode& made) {
        require(p != nullptr, hipErrorInvalidValue, "null parameters");
        set_copy(made, driver_copy(*p), hipMemcpyDefault);
    });
}
hipError_t hipGraphAddNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                           size_t count, hipGraphNodeParams* p) {
    return add_node("hipGraphAddNode", node, graph, dependencies, count,
                    [&](GraphNode& made) { set_any(made, p); });
}

// Queries

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
    return api("hipGraphGetNodes", [&] {
        const auto lock = lock_graphs();
        answer_list(all_nodes(*resolve_graph(graph)), nodes, count);
    });
}
hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
    return api("hipGraphGetRootNodes", [&] {
        const auto lock = lock_graphs();
        auto roots = all_nodes(*resolve_graph(graph));
        std::erase_if(roots, [](const GraphNode* node) { return !node->after.empty(); });
        answer_list(roots, nodes, count);
    });
}
hipError_t hipGraphGetEdges(hipGraph_t handle, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
    return api("hipGraphGetEdges", [&] {
        require(count && !from == !to, hipErrorInvalidValue, "null count, or one list of two");
        const auto lock = lock_graphs();
        const GraphPtr graph = resolve_graph(handle);
        std::vector<GraphNode*> sources, targets;
        for (const auto& node : graph->nodes)
            for (GraphNode* before : node->after) {
                sources.push_back(before);
                targets.push_back(node.get());
            }
        std::size_t room = *count;
        answer_list(sources, from, &room);
        answer_list(targets, to, count);
    });
}
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
    return api("hipGraphNodeGetType", [&] {
        require(type != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        *type = resolve_node(node).type;
    });
}
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* list, size_t* count) {
    return api("hipGraphNodeGetDependencies", [&] {
        const auto lock = lock_graphs();
        answer_list(resolve_node(node).after, list, count);
    });
}
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t handle, hipGraphNode_t* list, size_t* count) {
    return api("hipGraphNodeGetDependentNodes", [&] {
        const auto lock = lock_graphs();
        GraphNode& node = resolve_node(handle);
        auto dependents = all_nodes(*node.graph);
        std::erase_if(dependents, [&](const GraphNode* other) {
            return std::find(other->after.begin(), other->after.end(), &node) == other->after.end();
        });
        answer_list(dependents, list, count);
    });
}

hipError_t hipGraphDebugDotPrint(hipGraph_t handle, const char* path, unsigned int) {
    return api("hipGraphDebugDotPrint", [&] {
        require(path != nullptr, hipErrorInvalidValue, "null path");
        const auto lock = lock_graphs();
        const GraphPtr graph = resolve_graph(handle);
        std::ofstream out(path);
        static const char* const names[] = {"kernel", "memcpy", "memset", "host",
                                            "graph",  "empty",  "wait",   "record"};
        out << "digraph graph_" << graph.get() << " {\n";
        for (const auto& node : graph->nodes) {
            out << "  n" << node->id << " [label=\"" << node->id << ' '
                << (node->type < std::size(names) ? names[node->type] : "node");
            if (const auto* kernel = std::get_if<KernelOperation>(&node->operation))
                out << "\\n" << kernel->function->kernel->name;
            out << "\"];\n";
            for (const GraphNode* before : node->after)
                out << "  n" << before->id << " -> n" << node->id << ";\n";
        }
        out << "}\n";
        require(out.good(), hipErrorOperatingSystem, path);
    });
}
