// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes with what they come after, built by capture or by hand, and their executable copies. All of
// it is guarded by Process::graph_mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <hip/hip_runtime_api.h>

#include "sim/hip/operation.hpp"
#include "sim/hip/stream.hpp"

namespace zyfa::sim::hip {

struct Graph;

struct GraphNode {
    Graph* graph = nullptr;
    std::uint64_t id = 0; ///< unique in the process; a clone keeps it
    hipGraphNodeType type = hipGraphNodeTypeEmpty;
    Operation operation;
    std::shared_ptr<Graph> child; ///< hipGraphNodeTypeGraph
    std::vector<GraphNode*> after;
    bool enabled = true;
    // What the ...NodeGetParams calls answer beyond the operation.
    void* kernel_handle = nullptr;        ///< host stub or hipFunction_t, as given
    std::vector<void*> kernel_parameters; ///< pointers into the operation's kernarg
    hipMemcpyKind copy_kind = hipMemcpyDefault;
};

struct Graph {
    ~Graph();
    std::vector<std::unique_ptr<GraphNode>> nodes;         ///< in order of creation
    std::vector<std::shared_ptr<const void>> user_objects; ///< hipGraphRetainUserObject; shared by clones

    GraphNode& add(hipGraphNodeType type, Operation operation, std::vector<GraphNode*> after);
    void remove(GraphNode& node);
    std::shared_ptr<Graph> clone() const;
    GraphNode* find(std::uint64_t id) const;
    /// Nodes, each after all that it comes after; ties in order of creation. Throws Failure on a cycle.
    std::vector<GraphNode*> ordered() const;
};
using GraphPtr = std::shared_ptr<Graph>;

/// What hipGraphInstantiate makes: a copy, and the order in which it runs. Branches run one after the other,
/// which is one of the orders that the graph allows.
struct GraphExec {
    GraphPtr graph;
    std::vector<GraphNode*> order;
    unsigned long long flags = 0;
};

/// A node handle of a live graph. Throws Failure{hipErrorInvalidValue}.
GraphNode& resolve_node(hipGraphNode_t handle);

hipGraphNodeType node_type(const Operation& operation);

/// A capture in progress.
struct Capture {
    GraphPtr graph;
    bool own_graph = true; ///< false: hipStreamBeginCaptureToGraph
    std::uint64_t id = 0;
    hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
    const void* thread = nullptr; ///< ThreadState of the thread that began it
    const Stream* origin = nullptr;
    std::vector<std::weak_ptr<Stream>> streams; ///< origin and those that joined
    bool invalidated = false, ended = false;
};

/// Adds the operation as a node where the stream captures. False where it does not; throws Failure where the
/// rules of capture forbid the operation.
bool capture(const StreamPtr& stream, Operation& operation, Wait wait);

/// For calls that capture forbids (allocation, module load, synchronisation), by the thread's capture mode.
/// Throws Failure{hipErrorStreamCaptureUnsupported} and invalidates the captures concerned.
void forbid_in_capture();

bool capturing(const StreamPtr& stream);

/// A stream that captures is destroyed: its capture is invalid.
void abandon_capture(const StreamPtr& stream);

} // namespace zyfa::sim::hip
