// SPDX-License-Identifier: Apache-2.0
// HIP's parameter structures of graph nodes to operations, and back. set_... checks and throws Failure, and
// leaves the node as it was if it does.
#pragma once

#include "sim/hip/graph.hpp"

namespace zyfa::sim::hip {

void set_kernel(GraphNode& node, const hipKernelNodeParams* p);
void get_kernel(GraphNode& node, hipKernelNodeParams* p);
void set_copy(GraphNode& node, const CopyOperation& copy, hipMemcpyKind kind);
void set_copy(GraphNode& node, const hipMemcpy3DParms* p);
void get_copy(const GraphNode& node, hipMemcpy3DParms* p);
CopyOperation symbol_copy(void* dst, const void* src, const void* symbol, std::size_t bytes,
                          std::size_t offset);
void set_fill(GraphNode& node, const hipMemsetParams* p);
void get_fill(const GraphNode& node, hipMemsetParams* p);
void set_host(GraphNode& node, const hipHostNodeParams* p);
void get_host(const GraphNode& node, hipHostNodeParams* p);
void set_child(GraphNode& node, hipGraph_t child);
void set_record(GraphNode& node, hipEvent_t event);
void set_wait(GraphNode& node, hipEvent_t event);
void set_allocation(GraphNode& node, hipMemAllocNodeParams* p);
void set_free(GraphNode& node, void* pointer);
void set_any(GraphNode& node, hipGraphNodeParams* p);

} // namespace zyfa::sim::hip
