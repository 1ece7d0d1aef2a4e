// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/graph_parameters.hpp"

#include "sim/hip/copy.hpp"
#include "sim/hip/fill.hpp"
#include "sim/hip/graph_access.hpp"
#include "sim/hip/launch.hpp"
#include "sim/hip/pointers.hpp"
#include "sim/hip/pool.hpp"

namespace zyfa::sim::hip {

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

} // namespace zyfa::sim::hip
