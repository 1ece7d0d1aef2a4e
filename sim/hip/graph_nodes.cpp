// SPDX-License-Identifier: Apache-2.0
// Parameters of graph nodes as HIP calls, in a graph and in an executable copy.
#include "sim/hip/copy.hpp"
#include "sim/hip/graph_access.hpp"
#include "sim/hip/graph_parameters.hpp"
#include "sim/hip/pool.hpp"

using namespace zyfa::sim::hip;

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
