// SPDX-License-Identifier: Apache-2.0
// Stream capture, its rules, and graphs.
#include "tests/sim/hip/fixture.hpp"

#include <atomic>
#include <thread>

using namespace zyfa::sim::hip::test;

namespace {

struct Streams {
    Streams() {
        HIP_CHECK(hipStreamCreate(&first));
        HIP_CHECK(hipStreamCreate(&second));
        HIP_CHECK(hipEventCreate(&fork));
        HIP_CHECK(hipEventCreate(&join));
    }
    ~Streams() {
        (void)hipStreamDestroy(first);
        (void)hipStreamDestroy(second);
        (void)hipEventDestroy(fork);
        (void)hipEventDestroy(join);
    }
    hipStream_t first = nullptr, second = nullptr;
    hipEvent_t fork = nullptr, join = nullptr;
};

std::size_t node_count(hipGraph_t graph) {
    std::size_t count = 0;
    HIP_CHECK(hipGraphGetNodes(graph, nullptr, &count));
    return count;
}

hipStreamCaptureStatus status_of(hipStream_t stream) {
    hipStreamCaptureStatus status{};
    HIP_CHECK(hipStreamIsCapturing(stream, &status));
    return status;
}

/// Ends a capture that must have become invalid.
void end_invalid(hipStream_t stream) {
    CHECK_EQ(status_of(stream), hipStreamCaptureStatusInvalidated);
    hipGraph_t graph = nullptr;
    HIP_EXPECT(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    CHECK_EQ(graph, nullptr);
    CHECK_EQ(status_of(stream), hipStreamCaptureStatusNone);
}

void launch_and_wait(hipGraph_t graph, hipStream_t stream) {
    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipGraphLaunch(exec, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    HIP_CHECK(hipGraphExecDestroy(exec));
}

} // namespace

TEST_CASE("what a capturing stream is asked to do runs when the graph is launched, each time") {
    Streams s;
    Kernels kernels;
    Buffer<float> in(ramp(128)), out(128);
    HIP_CHECK(hipMemset(out.data, 0, 512));
    CHECK_EQ(status_of(s.first), hipStreamCaptureStatusNone);
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal));
    CHECK_EQ(status_of(s.first), hipStreamCaptureStatusActive);
    HIP_CHECK(kernels.scale(in.data, out.data, 128, 2.0f, s.first));
    HIP_CHECK(kernels.scale(out.data, out.data, 128, 5.0f, s.first));
    HIP_CHECK(hipMemsetD32Async(out.data + 127, 0, 1, s.first));
    hipGraph_t graph = nullptr;
    HIP_CHECK(hipStreamEndCapture(s.first, &graph));
    CHECK_EQ(status_of(s.first), hipStreamCaptureStatusNone);
    CHECK_EQ(node_count(graph), 3);
    CHECK_EQ(out.read()[1], 0.0f); // nothing has run

    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipGraphDestroy(graph)); // the executable graph is a copy
    for (float scale = 1.0f; scale < 4.0f; scale += 1.0f) {
        std::vector<float> values = ramp(128);
        for (float& value : values)
            value *= scale;
        in.write(values);
        HIP_CHECK(hipGraphLaunch(exec, s.second));
        HIP_CHECK(hipStreamSynchronize(s.second));
        CHECK_EQ(out.read()[1], scale * 15.0f);
        CHECK_EQ(out.read()[127], 0.0f);
    }
    HIP_CHECK(hipGraphExecDestroy(exec));
}

TEST_CASE("a second stream joins by an event, and has to come back") {
    Streams s;
    Buffer<int> buffer(3);
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal));
    HIP_CHECK(hipMemsetD32Async(buffer.data, 1, 3, s.first));
    HIP_CHECK(hipEventRecord(s.fork, s.first));
    HIP_CHECK(hipStreamWaitEvent(s.second, s.fork, 0));
    CHECK_EQ(status_of(s.second), hipStreamCaptureStatusActive);
    HIP_CHECK(hipMemsetD32Async(buffer.data + 1, 2, 1, s.second));
    HIP_CHECK(hipMemsetD32Async(buffer.data + 2, 3, 1, s.first));
    HIP_CHECK(hipEventRecord(s.join, s.second));
    hipGraph_t graph = nullptr;

    SUBCASE("joined") {
        HIP_CHECK(hipStreamWaitEvent(s.first, s.join, 0));
        HIP_CHECK(hipStreamEndCapture(s.first, &graph));
        CHECK_EQ(status_of(s.second), hipStreamCaptureStatusNone);
        std::size_t edges = 0;
        HIP_CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
        CHECK_EQ(edges, 2); // the two branches come after the first node
        std::size_t roots = 0;
        HIP_CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
        CHECK_EQ(roots, 1);
        launch_and_wait(graph, s.first);
        CHECK(buffer.read() == std::vector<int>{1, 2, 3});
        HIP_CHECK(hipGraphDestroy(graph));
    }
    SUBCASE("not joined") {
        HIP_EXPECT(hipStreamEndCapture(s.first, &graph), hipErrorStreamCaptureUnjoined);
        CHECK_EQ(graph, nullptr);
    }
    SUBCASE("ended in the wrong stream") {
        HIP_EXPECT(hipStreamEndCapture(s.second, &graph), hipErrorStreamCaptureUnmatched);
        HIP_CHECK(hipStreamWaitEvent(s.first, s.join, 0));
        HIP_CHECK(hipStreamEndCapture(s.first, &graph));
        HIP_CHECK(hipGraphDestroy(graph));
    }
    SUBCASE("the event cannot be waited for by the host") {
        HIP_EXPECT(hipEventSynchronize(s.join), hipErrorCapturedEvent);
        HIP_EXPECT(hipEventQuery(s.join), hipErrorCapturedEvent);
        HIP_CHECK(hipStreamWaitEvent(s.first, s.join, 0));
        HIP_CHECK(hipStreamEndCapture(s.first, &graph));
        HIP_CHECK(hipGraphDestroy(graph));
    }
}

TEST_CASE("what capture forbids makes it invalid") {
    Streams s;
    Buffer<int> buffer(1);
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal));
    void* pointer = nullptr;
    hipModule_t module = nullptr;
    int host = 0;

    SUBCASE("allocation") {
        HIP_EXPECT(hipMalloc(&pointer, 16), hipErrorStreamCaptureUnsupported);
    }
    SUBCASE("loading a module") {
        HIP_EXPECT(hipModuleLoadData(&module, code_object().data()), hipErrorStreamCaptureUnsupported);
    }
    SUBCASE("synchronising the stream") {
        HIP_EXPECT(hipStreamSynchronize(s.first), hipErrorStreamCaptureUnsupported);
    }
    SUBCASE("asking the stream") {
        HIP_EXPECT(hipStreamQuery(s.first), hipErrorStreamCaptureUnsupported);
    }
    SUBCASE("synchronising the device") {
        HIP_EXPECT(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported);
    }
    SUBCASE("the legacy stream") {
        HIP_EXPECT(hipMemcpy(&host, buffer.data, 4, hipMemcpyDeviceToHost), hipErrorStreamCaptureImplicit);
    }
    SUBCASE("waiting for an event from outside") {
        hipStream_t other = nullptr;
        HIP_CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
        HIP_CHECK(hipEventRecord(s.join, other));
        HIP_EXPECT(hipStreamWaitEvent(s.first, s.join, 0), hipErrorStreamCaptureIsolation);
        HIP_CHECK(hipStreamDestroy(other));
    }
    SUBCASE("allocation by another thread, in global mode") {
        std::thread thread([&] { HIP_EXPECT(hipMalloc(&pointer, 16), hipErrorStreamCaptureUnsupported); });
        thread.join();
    }
    // Everything after is refused.
    HIP_EXPECT(hipMemsetD32Async(buffer.data, 0, 1, s.first), hipErrorStreamCaptureInvalidated);
    end_invalid(s.first);
    HIP_CHECK(hipMemsetD32Async(buffer.data, 5, 1, s.first));
    HIP_CHECK(hipStreamSynchronize(s.first));
    CHECK_EQ(buffer.read()[0], 5);
}

TEST_CASE("relaxed capture, and a thread that relaxed itself, may allocate") {
    Streams s;
    void* pointer = nullptr;
    hipGraph_t graph = nullptr;
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeRelaxed));
    HIP_CHECK(hipMalloc(&pointer, 16));
    HIP_CHECK(hipStreamEndCapture(s.first, &graph));
    HIP_CHECK(hipGraphDestroy(graph));
    HIP_CHECK(hipFree(pointer));

    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeThreadLocal));
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    HIP_CHECK(hipThreadExchangeStreamCaptureMode(&mode));
    CHECK_EQ(mode, hipStreamCaptureModeGlobal);
    HIP_CHECK(hipMalloc(&pointer, 16));
    HIP_CHECK(hipThreadExchangeStreamCaptureMode(&mode));
    CHECK_EQ(mode, hipStreamCaptureModeRelaxed);
    std::thread thread([&] {
        void* other = nullptr; // a thread-local capture is no concern of other threads
        HIP_CHECK(hipMalloc(&other, 16));
        HIP_CHECK(hipFree(other));
    });
    thread.join();
    HIP_CHECK(hipStreamEndCapture(s.first, &graph));
    HIP_CHECK(hipGraphDestroy(graph));
    HIP_CHECK(hipFree(pointer));
}

TEST_CASE("begin and end of capture are checked") {
    Streams s;
    hipGraph_t graph = nullptr;
    HIP_EXPECT(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);
    HIP_EXPECT(hipStreamEndCapture(s.first, &graph), hipErrorIllegalState);
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeThreadLocal));
    HIP_EXPECT(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal), hipErrorIllegalState);
    std::thread thread(
        [&] { HIP_EXPECT(hipStreamEndCapture(s.first, &graph), hipErrorStreamCaptureWrongThread); });
    thread.join();
    hipStreamCaptureStatus status{};
    CHECK_EQ(hipStreamIsCapturing(nullptr, &status), hipErrorStreamCaptureImplicit);
    (void)hipGetLastError();
    HIP_CHECK(hipStreamEndCapture(s.first, &graph));
    CHECK_EQ(node_count(graph), 0);
    HIP_CHECK(hipGraphDestroy(graph));
}

TEST_CASE("graphs by hand: kernel, copy, fill, host, child") {
    Streams s;
    Kernels kernels;
    Buffer<float> in(64), out(64);
    const std::vector<float> source = ramp(64);
    std::vector<float> result(64);
    hipGraph_t graph = nullptr, child = nullptr;
    HIP_CHECK(hipGraphCreate(&graph, 0));
    HIP_CHECK(hipGraphCreate(&child, 0));

    hipGraphNode_t upload = nullptr, kernel = nullptr, fill = nullptr, nested = nullptr, download = nullptr,
                   host = nullptr;
    HIP_CHECK(hipGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, in.data, source.data(), 256,
                                      hipMemcpyHostToDevice));
    const float* from = in.data;
    float* to = out.data;
    unsigned n = 64;
    float factor = 2.0f;
    void* parameters[] = {&from, &to, &n, &factor};
    hipKernelNodeParams launch{};
    launch.func = kernels.get("scale");
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(64);
    launch.kernelParams = parameters;
    HIP_CHECK(hipGraphAddKernelNode(&kernel, graph, &upload, 1, &launch));
    hipMemsetParams zero{};
    zero.dst = out.data;
    zero.elementSize = 4;
    zero.width = 1;
    zero.height = 1;
    HIP_CHECK(hipGraphAddMemsetNode(&fill, child, nullptr, 0, &zero));
    HIP_CHECK(hipGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
    HIP_CHECK(hipGraphAddMemcpyNode1D(&download, graph, &nested, 1, result.data(), out.data, 256,
                                      hipMemcpyDeviceToHost));
    std::atomic<int> calls{0};
    hipHostNodeParams call{[](void* counter) { ++*static_cast<std::atomic<int>*>(counter); }, &calls};
    HIP_CHECK(hipGraphAddHostNode(&host, graph, &download, 1, &call));

    launch_and_wait(graph, s.first);
    CHECK_EQ(result[0], 0.0f);
    CHECK_EQ(result[5], 11.0f);
    CHECK_EQ(calls.load(), 1);

    // Parameters can be read back and changed, in the graph and in an executable copy.
    hipKernelNodeParams read{};
    HIP_CHECK(hipGraphKernelNodeGetParams(kernel, &read));
    CHECK_EQ(read.func, launch.func);
    CHECK_EQ(*static_cast<float*>(read.kernelParams[3]), 2.0f);
    hipMemsetParams filled{};
    HIP_CHECK(hipGraphMemsetNodeGetParams(fill, &filled));
    CHECK_EQ(filled.dst, out.data);
    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    factor = 10.0f;
    HIP_CHECK(hipGraphExecKernelNodeSetParams(exec, kernel, &launch));
    HIP_CHECK(hipGraphLaunch(exec, s.first));
    HIP_CHECK(hipStreamSynchronize(s.first));
    CHECK_EQ(result[5], 55.0f);
    HIP_CHECK(hipGraphKernelNodeGetParams(kernel, &read));
    CHECK_EQ(*static_cast<float*>(read.kernelParams[3]), 2.0f); // the graph itself is as it was
    HIP_CHECK(hipGraphNodeSetEnabled(exec, kernel, 0));
    HIP_CHECK(hipMemset(out.data, 0, 256));
    HIP_CHECK(hipGraphLaunch(exec, s.first));
    HIP_CHECK(hipStreamSynchronize(s.first));
    CHECK_EQ(result[5], 0.0f);

    // A whole graph as update: the same shape is taken, another is refused.
    HIP_CHECK(hipGraphKernelNodeSetParams(kernel, &launch));
    hipGraphNode_t culprit = nullptr;
    hipGraphExecUpdateResult update{};
    HIP_CHECK(hipGraphExecUpdate(exec, graph, &culprit, &update));
    HIP_CHECK(hipGraphLaunch(exec, s.first));
    HIP_CHECK(hipStreamSynchronize(s.first));
    CHECK_EQ(result[5], 55.0f);
    HIP_EXPECT(hipGraphExecUpdate(exec, child, &culprit, &update), hipErrorGraphExecUpdateFailure);
    CHECK_EQ(update, hipGraphExecUpdateErrorTopologyChanged);

    HIP_CHECK(hipGraphExecDestroy(exec));
    HIP_CHECK(hipGraphDestroy(child));
    HIP_CHECK(hipGraphDestroy(graph));
    HIP_EXPECT(hipGraphDestroy(graph), hipErrorInvalidValue);
    HIP_EXPECT(hipGraphNodeGetType(kernel, nullptr), hipErrorInvalidValue);
    hipGraphNodeType type{};
    HIP_EXPECT(hipGraphNodeGetType(kernel, &type), hipErrorInvalidValue); // its graph is gone
}

TEST_CASE("edges: added, removed, found in a clone; a cycle does not instantiate") {
    hipGraph_t graph = nullptr, clone = nullptr;
    HIP_CHECK(hipGraphCreate(&graph, 0));
    hipGraphNode_t nodes[3] = {};
    for (auto& node : nodes)
        HIP_CHECK(hipGraphAddEmptyNode(&node, graph, nullptr, 0));
    HIP_CHECK(hipGraphAddDependencies(graph, nodes, nodes + 1, 2)); // 0 -> 1 -> 2
    HIP_EXPECT(hipGraphAddDependencies(graph, nodes, nodes + 1, 1), hipErrorInvalidValue);
    std::size_t count = 0;
    HIP_CHECK(hipGraphNodeGetDependentNodes(nodes[0], nullptr, &count));
    CHECK_EQ(count, 1);
    HIP_CHECK(hipGraphNodeGetDependencies(nodes[2], nullptr, &count));
    CHECK_EQ(count, 1);

    HIP_CHECK(hipGraphClone(&clone, graph));
    hipGraphNode_t twin = nullptr;
    HIP_CHECK(hipGraphNodeFindInClone(&twin, nodes[1], clone));
    CHECK_NE(twin, nodes[1]);
    HIP_CHECK(hipGraphDestroyNode(twin));
    CHECK_EQ(node_count(clone), 2);
    CHECK_EQ(node_count(graph), 3);

    HIP_CHECK(hipGraphAddDependencies(graph, nodes + 2, nodes, 1));
    hipGraphExec_t exec = nullptr;
    HIP_EXPECT(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipErrorInvalidValue);
    HIP_CHECK(hipGraphRemoveDependencies(graph, nodes + 2, nodes, 1));
    HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipGraphExecDestroy(exec));
    HIP_CHECK(hipGraphDestroy(graph));
    HIP_CHECK(hipGraphDestroy(clone));
}

TEST_CASE("a graph launched into a capturing stream becomes a child") {
    Streams s;
    Buffer<int> buffer(1);
    hipGraph_t inner = nullptr, outer = nullptr;
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal));
    HIP_CHECK(hipMemsetD32Async(buffer.data, 6, 1, s.first));
    HIP_CHECK(hipStreamEndCapture(s.first, &inner));
    hipGraphExec_t exec = nullptr;
    HIP_CHECK(hipGraphInstantiate(&exec, inner, nullptr, nullptr, 0));
    HIP_CHECK(hipStreamBeginCapture(s.second, hipStreamCaptureModeGlobal));
    HIP_CHECK(hipGraphLaunch(exec, s.second));
    HIP_CHECK(hipStreamEndCapture(s.second, &outer));
    HIP_CHECK(hipGraphExecDestroy(exec));
    hipGraphNode_t node = nullptr;
    std::size_t one = 1;
    HIP_CHECK(hipGraphGetNodes(outer, &node, &one));
    hipGraphNodeType type{};
    HIP_CHECK(hipGraphNodeGetType(node, &type));
    CHECK_EQ(type, hipGraphNodeTypeGraph);
    launch_and_wait(outer, s.first);
    CHECK_EQ(buffer.read()[0], 6);
    HIP_CHECK(hipGraphDestroy(inner));
    HIP_CHECK(hipGraphDestroy(outer));
}

TEST_CASE("events recorded as nodes of a graph measure its kernels") {
    Streams s;
    Kernels kernels;
    Buffer<float> in(ramp(64)), out(64);
    HIP_CHECK(hipStreamBeginCapture(s.first, hipStreamCaptureModeGlobal));
    HIP_CHECK(hipEventRecordWithFlags(s.fork, s.first, hipEventRecordExternal));
    HIP_CHECK(kernels.scale(in.data, out.data, 64, 2.0f, s.first));
    HIP_CHECK(hipEventRecordWithFlags(s.join, s.first, hipEventRecordExternal));
    hipGraph_t graph = nullptr;
    HIP_CHECK(hipStreamEndCapture(s.first, &graph));
    launch_and_wait(graph, s.first);
    float ms = 0;
    HIP_CHECK(hipEventElapsedTime(&ms, s.fork, s.join));
    CHECK_GT(ms, 0.005f);
    HIP_CHECK(hipGraphDestroy(graph));
}
