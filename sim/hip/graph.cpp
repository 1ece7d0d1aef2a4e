// SPDX-License-Identifier: Apache-2.0
// Graphs as data: nodes, copies, order.
#include "sim/hip/graph.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <unordered_set>

#include "sim/hip/process.hpp"

namespace zyfa::sim::hip {
namespace {

/// Handles of nodes that exist. Its own mutex: graphs are let go without graph_mutex, as the destructors of
/// user objects may call HIP.
class LiveNodes {
  public:
    void insert(const GraphNode* node) {
        std::lock_guard lock(mutex_);
        nodes_.insert(node);
    }
    void erase(const GraphNode* node) {
        std::lock_guard lock(mutex_);
        nodes_.erase(node);
    }
    bool contains(const void* handle) {
        std::lock_guard lock(mutex_);
        return nodes_.contains(handle);
    }

  private:
    std::mutex mutex_;
    std::unordered_set<const void*> nodes_;
};

LiveNodes& live_nodes() {
    static auto* nodes = new LiveNodes;
    return *nodes;
}

std::uint64_t new_node_id() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
}

} // namespace

Graph::~Graph() {
    for (const auto& node : nodes)
        live_nodes().erase(node.get());
}

GraphNode& Graph::add(hipGraphNodeType type, Operation operation, std::vector<GraphNode*> after) {
    auto node = std::make_unique<GraphNode>();
    node->graph = this;
    node->id = new_node_id();
    node->type = type;
    node->operation = std::move(operation);
    node->after = std::move(after);
    live_nodes().insert(node.get());
    nodes.push_back(std::move(node));
    return *nodes.back();
}

void Graph::remove(GraphNode& node) {
    for (auto& other : nodes)
        std::erase(other->after, &node);
    live_nodes().erase(&node);
    std::erase_if(nodes, [&](const auto& owned) { return owned.get() == &node; });
}

GraphNode* Graph::find(std::uint64_t id) const {
    for (const auto& node : nodes)
        if (node->id == id)
            return node.get();
    return nullptr;
}

GraphPtr Graph::clone() const {
    auto copy = std::make_shared<Graph>();
    copy->user_objects = user_objects;
    std::map<const GraphNode*, GraphNode*> twin;
    for (const auto& node : nodes) {
        GraphNode& made = copy->add(node->type, node->operation, {});
        made.id = node->id;
        made.enabled = node->enabled;
        made.kernel_handle = node->kernel_handle;
        made.copy_kind = node->copy_kind;
        made.child = node->child ? node->child->clone() : nullptr;
        twin[node.get()] = &made;
    }
    for (const auto& node : nodes)
        for (const GraphNode* before : node->after)
            twin[node.get()]->after.push_back(twin[before]);
    return copy;
}

std::vector<GraphNode*> Graph::ordered() const {
    std::vector<GraphNode*> order;
    std::unordered_set<const GraphNode*> placed;
    while (order.size() < nodes.size()) {
        const std::size_t before = order.size();
        for (const auto& node : nodes)
            if (!placed.contains(node.get()) && std::all_of(node->after.begin(), node->after.end(),
                                                            [&](auto* n) { return placed.contains(n); })) {
                order.push_back(node.get());
                placed.insert(node.get());
            }
        require(order.size() > before, hipErrorInvalidValue, "the graph has a cycle");
    }
    return order;
}

GraphNode& resolve_node(hipGraphNode_t handle) {
    require(handle && live_nodes().contains(handle), hipErrorInvalidValue, "no such graph node");
    return *reinterpret_cast<GraphNode*>(handle);
}

hipGraphNodeType node_type(const Operation& operation) {
    struct Visitor {
        hipGraphNodeType operator()(const EmptyOperation&) { return hipGraphNodeTypeEmpty; }
        hipGraphNodeType operator()(const KernelOperation&) { return hipGraphNodeTypeKernel; }
        hipGraphNodeType operator()(const CopyOperation&) { return hipGraphNodeTypeMemcpy; }
        hipGraphNodeType operator()(const FillOperation&) { return hipGraphNodeTypeMemset; }
        hipGraphNodeType operator()(const HostOperation&) { return hipGraphNodeTypeHost; }
        hipGraphNodeType operator()(const RecordOperation&) { return hipGraphNodeTypeEventRecord; }
        hipGraphNodeType operator()(const WaitOperation&) { return hipGraphNodeTypeWaitEvent; }
        hipGraphNodeType operator()(const WriteValueOperation&) { return hipGraphNodeTypeBatchMemOp; }
        hipGraphNodeType operator()(const WaitValueOperation&) { return hipGraphNodeTypeBatchMemOp; }
        hipGraphNodeType operator()(const AllocateOperation&) { return hipGraphNodeTypeMemAlloc; }
        hipGraphNodeType operator()(const FreeOperation&) { return hipGraphNodeTypeMemFree; }
    };
    return std::visit(Visitor{}, operation);
}

} // namespace zyfa::sim::hip
