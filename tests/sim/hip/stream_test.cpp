// SPDX-License-Identifier: Apache-2.0
// Order of streams, events and their simulated time.
#include "tests/sim/hip/fixture.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "sim/hip/zyfa_sim.h"

using namespace zyfa::sim::hip::test;

namespace {

struct StreamOwner {
    explicit StreamOwner(unsigned flags = hipStreamDefault) {
        HIP_CHECK(hipStreamCreateWithFlags(&stream, flags));
    }
    ~StreamOwner() { (void)hipStreamDestroy(stream); }
    operator hipStream_t() const { return stream; }
    hipStream_t stream = nullptr;
};

struct EventOwner {
    explicit EventOwner(unsigned flags = hipEventDefault) {
        HIP_CHECK(hipEventCreateWithFlags(&event, flags));
    }
    ~EventOwner() { (void)hipEventDestroy(event); }
    operator hipEvent_t() const { return event; }
    hipEvent_t event = nullptr;
};

/// Holds a stream until let go: a value in pinned memory that the stream waits for.
struct Gate {
    Gate() {
        HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), 64, 0));
        *flag = 0;
    }
    ~Gate() { (void)hipHostFree(flag); }
    void hold(hipStream_t stream) {
        HIP_CHECK(hipStreamWaitValue32(stream, flag, 1, hipStreamWaitValueGte, ~0u));
    }
    void open() { std::atomic_ref(*flag).store(1); }
    unsigned* flag = nullptr;
};

void sleep_a_little() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

} // namespace

TEST_CASE("a stream runs behind the host and in order") {
    StreamOwner stream;
    Gate gate;
    Buffer<int> buffer(4);
    gate.hold(stream);
    HIP_CHECK(hipMemsetD32Async(buffer.data, 1, 4, stream));
    HIP_CHECK(hipMemsetD32Async(buffer.data + 1, 2, 3, stream));
    HIP_CHECK(hipMemsetD32Async(buffer.data + 2, 3, 2, stream));
    EventOwner event;
    HIP_CHECK(hipEventRecord(event, stream));
    CHECK_EQ(hipStreamQuery(stream), hipErrorNotReady);
    CHECK_EQ(hipEventQuery(event), hipErrorNotReady);
    CHECK_EQ(hipGetLastError(), hipSuccess); // "not ready" is no error
    float ms = 0;
    CHECK_EQ(hipEventElapsedTime(&ms, event, event), hipErrorNotReady);
    gate.open();
    HIP_CHECK(hipStreamSynchronize(stream));
    CHECK_EQ(hipStreamQuery(stream), hipSuccess);
    CHECK_EQ(hipEventQuery(event), hipSuccess);
    CHECK(buffer.read() == std::vector<int>{1, 2, 3, 3});
}

TEST_CASE("streams are independent until an event joins them") {
    StreamOwner first(hipStreamNonBlocking), second(hipStreamNonBlocking);
    Gate gate;
    Buffer<int> buffer(1);
    HIP_CHECK(hipMemset(buffer.data, 0, 4));
    EventOwner event;
    gate.hold(first);
    HIP_CHECK(hipMemsetD32Async(buffer.data, 1, 1, first));
    HIP_CHECK(hipEventRecord(event, first));
    HIP_CHECK(hipStreamSynchronize(second)); // not held up by the first
    HIP_CHECK(hipStreamWaitEvent(second, event, 0));
    HIP_CHECK(hipMemsetD32Async(buffer.data, 2, 1, second));
    sleep_a_little();
    CHECK_EQ(hipStreamQuery(second), hipErrorNotReady);
    gate.open();
    HIP_CHECK(hipStreamSynchronize(second));
    CHECK_EQ(buffer.read()[0], 2);
}

TEST_CASE("the legacy stream waits for blocking streams and they for it; non-blocking ones stand apart") {
    StreamOwner blocking, free(hipStreamNonBlocking);
    Gate gate;
    Buffer<int> buffer(1), other(1);
    gate.hold(blocking);
    HIP_CHECK(hipMemsetD32Async(buffer.data, 1, 1, blocking));
    HIP_CHECK(hipMemsetD32Async(buffer.data, 2, 1, nullptr));  // after the blocking stream
    HIP_CHECK(hipMemsetD32Async(buffer.data, 3, 1, blocking)); // after the legacy stream
    HIP_CHECK(hipMemsetD32Async(other.data, 4, 1, free));
    HIP_CHECK(hipStreamSynchronize(free));
    sleep_a_little();
    CHECK_EQ(hipStreamQuery(nullptr), hipErrorNotReady);
    gate.open();
    HIP_CHECK(hipStreamSynchronize(blocking));
    CHECK_EQ(buffer.read()[0], 3);
    CHECK_EQ(other.read()[0], 4);
}

TEST_CASE("synchronising the legacy stream waits for blocking streams") {
    StreamOwner blocking;
    Gate gate;
    std::atomic<bool> done{false};
    gate.hold(blocking);
    HIP_CHECK(hipLaunchHostFunc(
        blocking, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &done));
    std::thread opener([&] {
        sleep_a_little();
        gate.open();
    });
    HIP_CHECK(hipStreamSynchronize(nullptr));
    CHECK(done.load());
    opener.join();
}

TEST_CASE("a per-thread stream belongs to its thread") {
    Gate gate;
    gate.hold(hipStreamPerThread);
    hipError_t other = hipErrorUnknown;
    std::thread thread([&] { other = hipStreamQuery(hipStreamPerThread); });
    thread.join();
    CHECK_EQ(other, hipSuccess);
    CHECK_EQ(hipStreamQuery(hipStreamPerThread), hipErrorNotReady);
    gate.open();
    HIP_CHECK(hipStreamSynchronize(hipStreamPerThread));
}

TEST_CASE("any allowed order gives the same result, whatever the seed") {
    for (const char* seed : {"1", "2", "3", "4", "5", "0"}) {
        REQUIRE_EQ(zyfaSimSetDevice(0, "seed", seed), nullptr);
        StreamOwner streams[4];
        Buffer<int> buffer(4 * 16);
        for (int step = 0; step < 16; ++step)
            for (int s = 0; s < 4; ++s)
                HIP_CHECK(hipMemsetD32Async(buffer.data + 16 * s + step, 100 * s + step,
                                            static_cast<std::size_t>(16 - step), streams[s]));
        HIP_CHECK(hipDeviceSynchronize());
        const auto values = buffer.read();
        for (int i = 0; i < 64; ++i)
            CHECK_EQ(values[static_cast<std::size_t>(i)], i / 16 * 100 + i % 16);
    }
}

TEST_CASE("a destroyed stream's work is still done") {
    Buffer<int> buffer(1);
    Gate gate;
    hipStream_t stream = nullptr;
    HIP_CHECK(hipStreamCreate(&stream));
    gate.hold(stream);
    HIP_CHECK(hipMemsetD32Async(buffer.data, 8, 1, stream));
    HIP_CHECK(hipStreamDestroy(stream));
    HIP_EXPECT(hipStreamQuery(stream), hipErrorContextIsDestroyed);
    gate.open();
    HIP_CHECK(hipDeviceSynchronize());
    CHECK_EQ(buffer.read()[0], 8);
}

TEST_CASE("events measure simulated time") {
    Kernels kernels;
    const auto values = ramp(4096);
    Buffer<float> in(values), out(4096);
    StreamOwner stream;
    EventOwner start, middle, stop;
    HIP_CHECK(hipEventRecord(start, stream));
    HIP_CHECK(kernels.scale(in.data, out.data, 4096, 2.0f, stream));
    HIP_CHECK(hipEventRecord(middle, stream));
    sleep_a_little(); // the host's time does not count
    HIP_CHECK(hipEventRecord(stop, stream));
    HIP_CHECK(hipEventSynchronize(stop));
    zyfaSimLaunch launch{};
    REQUIRE_EQ(zyfaSimLastLaunch(0, &launch), 0);
    CHECK_GT(launch.instructions, 0);
    CHECK_GT(launch.cycles, 0);
    float first = 0, second = 0;
    HIP_CHECK(hipEventElapsedTime(&first, start, middle));
    HIP_CHECK(hipEventElapsedTime(&second, middle, stop));
    CHECK_EQ(first, doctest::Approx((launch.seconds + 5e-6) * 1e3)); // and the launch's overhead
    CHECK_EQ(second, 0.0f);

    // Twice the work takes twice as long, launch after launch.
    HIP_CHECK(hipEventRecord(start, stream));
    for (int i = 0; i < 2; ++i)
        HIP_CHECK(kernels.scale(in.data, out.data, 4096, 2.0f, stream));
    HIP_CHECK(hipEventRecord(stop, stream));
    HIP_CHECK(hipEventSynchronize(stop));
    float both = 0;
    HIP_CHECK(hipEventElapsedTime(&both, start, stop));
    CHECK_EQ(both, doctest::Approx(2 * first));
}

TEST_CASE("events: what cannot be measured is refused") {
    EventOwner untimed(hipEventDisableTiming), recorded, never;
    HIP_CHECK(hipEventRecord(recorded, nullptr));
    HIP_CHECK(hipEventRecord(untimed, nullptr));
    HIP_CHECK(hipDeviceSynchronize());
    float ms = 0;
    HIP_EXPECT(hipEventElapsedTime(&ms, untimed, recorded), hipErrorInvalidHandle);
    HIP_EXPECT(hipEventElapsedTime(&ms, never, recorded), hipErrorInvalidHandle);
    HIP_EXPECT(hipEventElapsedTime(nullptr, recorded, recorded), hipErrorInvalidValue);
    HIP_CHECK(hipEventSynchronize(never)); // nothing recorded is nothing to wait for
    HIP_EXPECT(hipEventSynchronize(nullptr), hipErrorInvalidHandle);
    hipEvent_t shared = nullptr;
    HIP_EXPECT(hipEventCreateWithFlags(&shared, hipEventInterprocess | hipEventDisableTiming),
               hipErrorNotSupported);
}

TEST_CASE("an event orders streams of two devices") {
    StreamOwner first;
    Gate gate;
    Buffer<int> source(1);
    EventOwner event;
    gate.hold(first);
    HIP_CHECK(hipMemsetD32Async(source.data, 77, 1, first));
    HIP_CHECK(hipEventRecord(event, first));
    HIP_CHECK(hipSetDevice(1));
    {
        StreamOwner second;
        Buffer<int> target(1);
        HIP_CHECK(hipStreamWaitEvent(second, event, 0));
        HIP_CHECK(hipMemcpyAsync(target.data, source.data, 4, hipMemcpyDeviceToDevice, second));
        HIP_EXPECT(hipEventRecord(event, second), hipErrorInvalidHandle); // an event of the other device
        sleep_a_little();
        CHECK_EQ(hipStreamQuery(second), hipErrorNotReady);
        gate.open();
        HIP_CHECK(hipStreamSynchronize(second));
        CHECK_EQ(target.read()[0], 77);
        int device = -1;
        HIP_CHECK(hipStreamGetDevice(second, &device));
        CHECK_EQ(device, 1);
    }
    HIP_CHECK(hipSetDevice(0));
}

TEST_CASE("values in memory order streams") {
    StreamOwner waiter(hipStreamNonBlocking), writer(hipStreamNonBlocking);
    Buffer<std::uint64_t> signal(1);
    Buffer<int> buffer(1);
    HIP_CHECK(hipMemset(signal.data, 0, 8));
    HIP_CHECK(hipStreamWaitValue64(waiter, signal.data, 5, hipStreamWaitValueEq, ~0ull));
    HIP_CHECK(hipMemsetD32Async(buffer.data, 3, 1, waiter));
    sleep_a_little();
    CHECK_EQ(hipStreamQuery(waiter), hipErrorNotReady);
    HIP_CHECK(hipStreamWriteValue64(writer, signal.data, 5, 0));
    HIP_CHECK(hipStreamSynchronize(waiter));
    CHECK_EQ(buffer.read()[0], 3);
}

TEST_CASE("callbacks run in their place") {
    StreamOwner stream;
    std::vector<int> order;
    struct Entry {
        std::vector<int>* order;
        int value;
    } first{&order, 1}, second{&order, 2};
    const auto add = [](void* entry) {
        static_cast<Entry*>(entry)->order->push_back(static_cast<Entry*>(entry)->value);
    };
    HIP_CHECK(hipLaunchHostFunc(stream, add, &first));
    HIP_CHECK(hipStreamAddCallback(
        stream,
        [](hipStream_t, hipError_t status, void* entry) {
            static_cast<Entry*>(entry)->order->push_back(static_cast<Entry*>(entry)->value +
                                                         static_cast<int>(status));
        },
        &second, 0));
    HIP_CHECK(hipStreamSynchronize(stream));
    CHECK(order == std::vector<int>{1, 2});
}
