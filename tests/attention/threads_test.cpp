// SPDX-License-Identifier: Apache-2.0
// Several threads and one context.
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/attention/rig.hpp"

using namespace zyfa;
using namespace zyfa::test;

TEST_CASE("threads that make the first call of a shape together assemble it once") {
    Context context(simulator(Mode::off));
    const Problem problem = bf16(1, 2, 1, 130, 130);
    constexpr int count = 4;
    std::vector<std::unique_ptr<Tensors>> tensors;
    for (int i = 0; i < count; ++i)
        tensors.push_back(std::make_unique<Tensors>(context, problem));
    std::atomic<int> ready{0}, failed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            ++ready;
            while (ready < count)
                std::this_thread::yield();
            try {
                for (int call = 0; call < 3; ++call)
                    context.attention(tensors[static_cast<std::size_t>(i)]->args());
            } catch (const Error&) {
                ++failed;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(failed == 0);
    for (const auto& each : tensors) {
        const std::string fault = each->check(40);
        CHECK_MESSAGE(fault.empty(), fault);
    }
    CHECK(context.counters().assembled == 1);
}

TEST_CASE("threads with different shapes get their own") {
    Context context(simulator(Mode::off));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            for (int call = 0; call < 4; ++call) {
                const std::int64_t length = 20 + 30 * i + 7 * call;
                Tensors tensors(context, bf16(1, 2, 1, length, length, i == 1 ? Mask::none : Mask::causal));
                context.attention(tensors.args());
                wrong += !tensors.check(20).empty();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(context.counters().assembled == 2); // causal and not
}
