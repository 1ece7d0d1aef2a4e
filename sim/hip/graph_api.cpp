// SPDX-License-Identifier: Apache-2.0
// Graphs as HIP calls: building by hand, parameters, instantiation, launch.
#include <algorithm>
#include <fstream>

#include "sim/hip/copy.hpp"
#include "sim/hip/fill.hpp"
#include "sim/hip/graph.hpp"
#include "sim/hip/launch.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/pool.hpp"
#include "sim/hip/process.hpp"

using namespace zyfa::sim::hip;
using zyfa::sim::Variable;

namespace {

std::unique_lock<std::mutex> lock_graphs() {
    return std::unique_lock(Process::get().graph_mutex);
}

hipGraphNode_t handle_of(GraphNode* node) {
    return reinterpret_cast<hipGraphNode_t>(node);
}

GraphPtr resolve_graph(hipGraph_t handle) {
    auto graph = handle ? Process::get().graphs.find(handle) : nullptr;
    require(graph != nullptr, hipErrorInvalidValue, "no such graph");
    return graph;
}

std::shared_ptr<GraphExec> resolve_exec(hipGraphExec_t handle) {
    auto exec = handle ? Process::get().graph_execs.find(handle) : nullptr;
    require(exec != nullptr, hipErrorInvalidValue, "no such executable graph");
    return exec;
}

/// The node of an executable graph that was copied from a node of its origin.
GraphNode& exec_node(hipGraphExec_t exec, hipGraphNode_t node) {
    GraphNode* twin = resolve_exec(exec)->graph->find(resolve_node(node).id);
    require(twin != nullptr, hipErrorInvalidValue, "the node is not of the executable graph's origin");
    return *twin;
}

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

// Parameters to operations and back

void set_kernel(GraphNode& node, const hipKernelNodeParams* p) {
    require(p && p->func, hipErrorInvalidValue, "null parameters or function");
    const LaunchShape shape{{p->gridDim.x, p->gridDim.y, p->gridDim.z},
                            {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                            p->sharedMemBytes,
                            false};
    node.operation = make_kernel(function_from_any(p->func), shape, p->kernelParams, p->extra);
    node.type = hipGraphNodeTypeKernel;
    node.kernel_handle = p->func;
}

void get_kernel(GraphNode& node, hipKernelNodeParams* p) {
    require(p != nullptr, hipErrorInvalidValue, "null result pointer");
    auto& kernel = std::get<KernelOperation>(node.operation);
    node.kernel_parameters.clear();
    for (const auto* argument : explicit_arguments(*kernel.function->kernel))
        node.kernel_parameters.push_back(kernel.kernarg.data() + argument->offset);
    *p = {};
    p->func = node.kernel_handle;
    p->gridDim = dim3(kernel.grid[0], kernel.grid[1], kernel.grid[2]);
    p->blockDim = dim3(kernel.block[0], kernel.block[1], kernel.block[2]);
    p->sharedMemBytes = kernel.dynamic_lds;
    p->kernelParams = node.kernel_parameters.data();
}

void set_copy(GraphNode& node, const CopyOperation& copy, hipMemcpyKind kind) {
    if (!empty(copy))
        check_copy(copy, kind);
    node.operation = copy;
    node.type = hipGraphNodeTypeMemcpy;
    node.copy_kind = kind;
}

void set_copy(GraphNode& node, const hipMemcpy3DParms* p) {
    require(p != nullptr, hipErrorInvalidValue, "null parameters");
    set_copy(node, box_copy(*p), p->kind);
}

void get_copy(const GraphNode& node, hipMemcpy3DParms* p) {
    require(p != nullptr, hipErrorInvalidValue, "null result pointer");
    const auto& copy = std::get<CopyOperation>(node.operation);
    const auto pitched = [&](std::uint64_t address, std::uint64_t pitch, std::uint64_t slice) {
        hipPitchedPtr result{};
        result.ptr = reinterpret_cast<void*>(address);
        result.pitch = pitch ? pitch : copy.width;
        result.xsize = copy.width;
        result.ysize = pitch && slice ? slice / pitch : copy.height;
        return result;
    };
    *p = {};
    p->srcPtr = pitched(copy.src, copy.src_pitch, copy.src_slice);
    p->dstPtr = pitched(copy.dst, copy.dst_pitch, copy.dst_slice);
    p->extent = {copy.width, copy.height, copy.depth};
    p->kind = node.copy_kind;
}

CopyOperation symbol_copy(void* dst, const void* src, const void* symbol, std::size_t bytes,
                          std::size_t offset) {
    const Variable variable = registered_variable(symbol);
    require(offset <= variable.size && bytes <= variable.size - offset, hipErrorInvalidValue,
            "beyond the symbol");
    auto* inside = reinterpret_cast<void*>(variable.address + offset);
    return linear_copy(dst == symbol ? inside : dst, src == symbol ? inside : src, bytes);
}

void set_fill(GraphNode& node, const hipMemsetParams* p) {
    require(p != nullptr, hipErrorInvalidValue, "null parameters");
    FillOperation fill;
    fill.dst = address_of(p->dst);
    fill.element = p->elementSize;
    fill.value = p->value;
    fill.width = p->width;
    fill.height = p->height;
    fill.pitch = p->height > 1 ? p->pitch : p->width * p->elementSize;
    check_fill(fill);
    node.operation = fill;
    node.type = hipGraphNodeTypeMemset;
}

void get_fill(const GraphNode& node, hipMemsetParams* p) {
    require(p != nullptr, hipErrorInvalidValue, "null result pointer");
    const auto& fill = std::get<FillOperation>(node.operation);
    p->dst = reinterpret_cast<void*>(fill.dst);
    p->elementSize = fill.element;
    p->value = fill.value;
    p->width = fill.width;
    p->height = fill.height;
    p->pitch = fill.pitch;
}

void set_host(GraphNode& node, const hipHostNodeParams* p) {
    require(p && p->fn, hipErrorInvalidValue, "null parameters or function");
    node.operation = HostOperation{[call = p->fn, user = p->userData] { call(user); }, p->fn, p->userData};
    node.type = hipGraphNodeTypeHost;
}

void get_host(const GraphNode& node, hipHostNodeParams* p) {
    require(p != nullptr, hipErrorInvalidValue, "null result pointer");
    const auto& host = std::get<HostOperation>(node.operation);
    p->fn = host.function;
    p->userData = host.user;
}

void set_child(GraphNode& node, hipGraph_t child) {
    node.operation = EmptyOperation{};
    node.type = hipGraphNodeTypeGraph;
    node.child = resolve_graph(child)->clone();
}

void set_record(GraphNode& node, hipEvent_t event) {
    node.operation = RecordOperation{resolve_event(event), true};
    node.type = hipGraphNodeTypeEventRecord;
}

void set_wait(GraphNode& node, hipEvent_t event) {
    node.operation = WaitOperation{resolve_event(event), true};
    node.type = hipGraphNodeTypeWaitEvent;
}

void set_allocation(GraphNode& node, hipMemAllocNodeParams* p) {
    require(p && p->bytesize, hipErrorInvalidValue, "null parameters or no bytes");
    require(p->poolProps.allocType == hipMemAllocationTypePinned &&
                p->poolProps.location.type == hipMemLocationTypeDevice,
            hipErrorInvalidValue, "allocation type or location");
    const auto memory =
        make_graph_memory(p->bytesize, Process::get().device(p->poolProps.location.id).ordinal);
    p->dptr = reinterpret_cast<void*>(memory->address);
    node.operation = AllocateOperation{memory};
    node.type = hipGraphNodeTypeMemAlloc;
}

void set_free(GraphNode& node, void* pointer) {
    require(locate(address_of(pointer), 1).on_device(), hipErrorInvalidValue, "not device memory");
    node.operation = FreeOperation{address_of(pointer), find_graph_memory(address_of(pointer))};
    node.type = hipGraphNodeTypeMemFree;
}

void set_any(GraphNode& node, hipGraphNodeParams* p) {
    require(p != nullptr, hipErrorInvalidValue, "null parameters");
    switch (p->type) {
    case hipGraphNodeTypeKernel:
        return set_kernel(node, &p->kernel);
    case hipGraphNodeTypeMemcpy:
        return set_copy(node, &p->memcpy.copyParams);
    case hipGraphNodeTypeMemset:
        return set_fill(node, &p->memset);
    case hipGraphNodeTypeHost:
        return set_host(node, &p->host);
    case hipGraphNodeTypeGraph:
        return set_child(node, p->graph.graph);
    case hipGraphNodeTypeWaitEvent:
        return set_wait(node, p->eventWait.event);
    case hipGraphNodeTypeEventRecord:
        return set_record(node, p->eventRecord.event);
    case hipGraphNodeTypeMemAlloc:
        return set_allocation(node, &p->alloc);
    case hipGraphNodeTypeMemFree:
        return set_free(node, p->free.dptr);
    case hipGraphNodeTypeEmpty:
        node.type = hipGraphNodeTypeEmpty;
        return;
    default:
        fail(hipErrorNotSupported, "node type");
    }
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

// Parameters of nodes

hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* p) {
    return change_node("hipGraphKernelNodeGetParams", hipGraphNodeTypeKernel, node,
                       [&](GraphNode& n) { get_kernel(n, p); });
}
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* p) {
    return change_node("hipGraphKernelNodeSetParams", hipGraphNodeTypeKernel, node,
                       [&](GraphNode& n) { set_kernel(n, p); });
}
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams* p) {
    return change_exec_node("hipGraphExecKernelNodeSetParams", hipGraphNodeTypeKernel, exec, node,
                            [&](GraphNode& n) { set_kernel(n, p); });
}
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* p) {
    return change_node("hipGraphMemcpyNodeGetParams", hipGraphNodeTypeMemcpy, node,
                       [&](GraphNode& n) { get_copy(n, p); });
}
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* p) {
    return change_node("hipGraphMemcpyNodeSetParams", hipGraphNodeTypeMemcpy, node,
                       [&](GraphNode& n) { set_copy(n, p); });
}
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* dst, const void* src, size_t bytes,
                                         hipMemcpyKind kind) {
    return change_node("hipGraphMemcpyNodeSetParams1D", hipGraphNodeTypeMemcpy, node,
                       [&](GraphNode& n) { set_copy(n, linear_copy(dst, src, bytes), kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipMemcpy3DParms* p) {
    return change_exec_node("hipGraphExecMemcpyNodeSetParams", hipGraphNodeTypeMemcpy, exec, node,
                            [&](GraphNode& n) { set_copy(n, p); });
}
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* dst,
                                             const void* src, size_t bytes, hipMemcpyKind kind) {
    return change_exec_node("hipGraphExecMemcpyNodeSetParams1D", hipGraphNodeTypeMemcpy, exec, node,
                            [&](GraphNode& n) { set_copy(n, linear_copy(dst, src, bytes), kind); });
}
hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void* dst, const void* symbol,
                                                 size_t bytes, size_t offset, hipMemcpyKind kind) {
    return change_node(
        "hipGraphMemcpyNodeSetParamsFromSymbol", hipGraphNodeTypeMemcpy, node,
        [&](GraphNode& n) { set_copy(n, symbol_copy(dst, symbol, symbol, bytes, offset), kind); });
}
hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void* symbol, const void* src,
                                               size_t bytes, size_t offset, hipMemcpyKind kind) {
    return change_node(
        "hipGraphMemcpyNodeSetParamsToSymbol", hipGraphNodeTypeMemcpy, node, [&](GraphNode& n) {
            set_copy(n, symbol_copy(const_cast<void*>(symbol), src, symbol, bytes, offset), kind);
        });
}
hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t exec, hipGraphNode_t node, void* dst,
                                                     const void* symbol, size_t bytes, size_t offset,
                                                     hipMemcpyKind kind) {
    return change_exec_node(
        "hipGraphExecMemcpyNodeSetParamsFromSymbol", hipGraphNodeTypeMemcpy, exec, node,
        [&](GraphNode& n) { set_copy(n, symbol_copy(dst, symbol, symbol, bytes, offset), kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t exec, hipGraphNode_t node,
                                                   const void* symbol, const void* src, size_t bytes,
                                                   size_t offset, hipMemcpyKind kind) {
    return change_exec_node(
        "hipGraphExecMemcpyNodeSetParamsToSymbol", hipGraphNodeTypeMemcpy, exec, node, [&](GraphNode& n) {
            set_copy(n, symbol_copy(const_cast<void*>(symbol), src, symbol, bytes, offset), kind);
        });
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* p) {
    return change_node("hipGraphMemsetNodeGetParams", hipGraphNodeTypeMemset, node,
                       [&](GraphNode& n) { get_fill(n, p); });
}
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* p) {
    return change_node("hipGraphMemsetNodeSetParams", hipGraphNodeTypeMemset, node,
                       [&](GraphNode& n) { set_fill(n, p); });
}
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipMemsetParams* p) {
    return change_exec_node("hipGraphExecMemsetNodeSetParams", hipGraphNodeTypeMemset, exec, node,
                            [&](GraphNode& n) { set_fill(n, p); });
}
hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node, const HIP_MEMCPY3D* p) {
    return change_node("hipDrvGraphMemcpyNodeSetParams", hipGraphNodeTypeMemcpy, node, [&](GraphNode& n) {
        require(p != nullptr, hipErrorInvalidValue, "null parameters");
        set_copy(n, driver_copy(*p), hipMemcpyDefault);
    });
}
hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const HIP_MEMCPY3D* p,
                                              hipCtx_t) {
    return change_exec_node("hipDrvGraphExecMemcpyNodeSetParams", hipGraphNodeTypeMemcpy, exec, node,
                            [&](GraphNode& n) {
                                require(p != nullptr, hipErrorInvalidValue, "null parameters");
                                set_copy(n, driver_copy(*p), hipMemcpyDefault);
                            });
}
hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t node, hipMemAllocNodeParams* p) {
    return change_node("hipGraphMemAllocNodeGetParams", hipGraphNodeTypeMemAlloc, node, [&](GraphNode& n) {
        require(p != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto& memory = *std::get<AllocateOperation>(n.operation).memory;
        *p = {};
        p->poolProps.allocType = hipMemAllocationTypePinned;
        p->poolProps.location = {hipMemLocationTypeDevice, memory.device};
        p->bytesize = memory.size;
        p->dptr = reinterpret_cast<void*>(memory.address);
    });
}
hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t node, void* result) {
    return change_node("hipGraphMemFreeNodeGetParams", hipGraphNodeTypeMemFree, node, [&](GraphNode& n) {
        require(result != nullptr, hipErrorInvalidValue, "null result pointer");
        *static_cast<void**>(result) = reinterpret_cast<void*>(std::get<FreeOperation>(n.operation).address);
    });
}
hipError_t hipGraphKernelNodeCopyAttributes(hipGraphNode_t source, hipGraphNode_t target) {
    return api("hipGraphKernelNodeCopyAttributes", [&] {
        const auto lock = lock_graphs();
        const auto* from = std::get_if<KernelOperation>(&resolve_node(source).operation);
        auto* to = std::get_if<KernelOperation>(&resolve_node(target).operation);
        require(from && to, hipErrorInvalidValue, "not kernel nodes");
        to->cooperative = from->cooperative;
    });
}
hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                              const hipMemsetParams* p, hipCtx_t) {
    return hipGraphExecMemsetNodeSetParams(exec, node, p);
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* p) {
    return change_node("hipGraphHostNodeGetParams", hipGraphNodeTypeHost, node,
                       [&](GraphNode& n) { get_host(n, p); });
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* p) {
    return change_node("hipGraphHostNodeSetParams", hipGraphNodeTypeHost, node,
                       [&](GraphNode& n) { set_host(n, p); });
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                         const hipHostNodeParams* p) {
    return change_exec_node("hipGraphExecHostNodeSetParams", hipGraphNodeTypeHost, exec, node,
                            [&](GraphNode& n) { set_host(n, p); });
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
    return change_node("hipGraphChildGraphNodeGetGraph", hipGraphNodeTypeGraph, node, [&](GraphNode& n) {
        require(graph != nullptr, hipErrorInvalidValue, "null result pointer");
        if (!Process::get().graphs.find(n.child.get()))
            Process::get().graphs.insert(n.child);
        *graph = reinterpret_cast<hipGraph_t>(n.child.get());
    });
}
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child) {
    return change_exec_node("hipGraphExecChildGraphNodeSetParams", hipGraphNodeTypeGraph, exec, node,
                            [&](GraphNode& n) { set_child(n, child); });
}

namespace {
template <class EventOperation>
void get_event(const GraphNode& node, hipEvent_t* event) {
    require(event != nullptr, hipErrorInvalidValue, "null result pointer");
    *event = reinterpret_cast<hipEvent_t>(std::get<EventOperation>(node.operation).event.get());
}
} // namespace

hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
    return change_node("hipGraphEventRecordNodeGetEvent", hipGraphNodeTypeEventRecord, node,
                       [&](GraphNode& n) { get_event<RecordOperation>(n, event); });
}
hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
    return change_node("hipGraphEventRecordNodeSetEvent", hipGraphNodeTypeEventRecord, node,
                       [&](GraphNode& n) { set_record(n, event); });
}
hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
    return change_exec_node("hipGraphExecEventRecordNodeSetEvent", hipGraphNodeTypeEventRecord, exec, node,
                            [&](GraphNode& n) { set_record(n, event); });
}
hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
    return change_node("hipGraphEventWaitNodeGetEvent", hipGraphNodeTypeWaitEvent, node,
                       [&](GraphNode& n) { get_event<WaitOperation>(n, event); });
}
hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
    return change_node("hipGraphEventWaitNodeSetEvent", hipGraphNodeTypeWaitEvent, node,
                       [&](GraphNode& n) { set_wait(n, event); });
}
hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
    return change_exec_node("hipGraphExecEventWaitNodeSetEvent", hipGraphNodeTypeWaitEvent, exec, node,
                            [&](GraphNode& n) { set_wait(n, event); });
}

hipError_t hipGraphNodeSetParams(hipGraphNode_t node, hipGraphNodeParams* p) {
    return api("hipGraphNodeSetParams", [&] {
        const auto lock = lock_graphs();
        GraphNode& target = resolve_node(node);
        require(p && p->type == target.type, hipErrorInvalidValue, "a node of another type");
        set_any(target, p);
    });
}
hipError_t hipGraphExecNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams* p) {
    return api("hipGraphExecNodeSetParams", [&] {
        const auto lock = lock_graphs();
        GraphNode& target = exec_node(exec, node);
        require(p && p->type == target.type, hipErrorInvalidValue, "a node of another type");
        set_any(target, p);
    });
}
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned int enabled) {
    return api("hipGraphNodeSetEnabled", [&] {
        const auto lock = lock_graphs();
        GraphNode& target = exec_node(exec, node);
        require(target.type == hipGraphNodeTypeKernel || target.type == hipGraphNodeTypeMemset ||
                    target.type == hipGraphNodeTypeMemcpy,
                hipErrorInvalidValue, "only kernel, memset and memcpy nodes can be disabled");
        target.enabled = enabled != 0;
    });
}
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t exec, hipGraphNode_t node, unsigned int* enabled) {
    return api("hipGraphNodeGetEnabled", [&] {
        require(enabled != nullptr, hipErrorInvalidValue, "null result pointer");
        const auto lock = lock_graphs();
        *enabled = exec_node(exec, node).enabled;
    });
}

// Executable graphs

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

// Launch attributes of nodes have no effect here.
hipError_t hipGraphKernelNodeSetAttribute(hipGraphNode_t node, hipKernelNodeAttrID attribute,
                                          const hipKernelNodeAttrValue* value) {
    return change_node("hipGraphKernelNodeSetAttribute", hipGraphNodeTypeKernel, node, [&](GraphNode& n) {
        require(value != nullptr, hipErrorInvalidValue, "null value");
        if (attribute == hipKernelNodeAttributeCooperative)
            std::get<KernelOperation>(n.operation).cooperative = value->cooperative != 0;
    });
}
hipError_t hipGraphKernelNodeGetAttribute(hipGraphNode_t node, hipKernelNodeAttrID attribute,
                                          hipKernelNodeAttrValue* value) {
    return change_node("hipGraphKernelNodeGetAttribute", hipGraphNodeTypeKernel, node, [&](GraphNode& n) {
        require(value != nullptr, hipErrorInvalidValue, "null result pointer");
        *value = {};
        if (attribute == hipKernelNodeAttributeCooperative)
            value->cooperative = std::get<KernelOperation>(n.operation).cooperative;
    });
}
