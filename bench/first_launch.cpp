// SPDX-License-Identifier: Apache-2.0
// A process that makes one attention call as soon as it can and ends: what a server's first request waits
// for. The environment says on which device and with which cache. Prints the stages in milliseconds, as JSON,
// on stdout.
#include <chrono>
#include <cstdio>
#include <exception>
#include <vector>

#include "attention/context_impl.hpp"
#include "bench/support.hpp"
#include "runtime/runtime.hpp"

int main() {
    using Clock = std::chrono::steady_clock;
    auto ms = [last = Clock::now()]() mutable {
        const Clock::time_point now = Clock::now();
        const double elapsed = std::chrono::duration<double, std::milli>(now - last).count();
        last = now;
        return elapsed;
    };
    try {
        const zyfa::Problem problem =
            zyfa::Problem::contiguous(zyfa::DType::bf16, 1, 4, 1, 256, 256, 128, 128, zyfa::Mask::causal);
        zyfa::Context context;
        const auto runtime = context.impl().services().runtime();
        std::vector<zyfa::runtime::DeviceBuffer> buffers;
        const zyfa::AttentionArgs args = zyfa::bench::arguments(
            problem, [&](std::size_t bytes) { return buffers.emplace_back(runtime, 0, bytes).data(); });
        const double device = ms();
        const zyfa::Explanation explanation = context.prepare(problem);
        const double prepare = ms();
        context.attention(args);
        const double launch = ms();
        const zyfa::StageTimes& stages = explanation.stages;
        std::printf("{\"device\": %.3f, \"prepare\": %.3f, \"instantiate\": %.3f, \"assemble\": %.3f, "
                    "\"load\": %.3f, "
                    "\"launch\": %.3f, \"assembled\": %llu}\n",
                    device, prepare, stages.instantiate, stages.assemble, stages.load, launch,
                    static_cast<unsigned long long>(context.counters().assembled));
        std::fflush(stdout);
        zyfa::runtime::synchronize(*runtime, 0);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
