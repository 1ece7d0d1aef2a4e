// SPDX-License-Identifier: Apache-2.0
// A process from its start to its first launch: cold (everything is assembled) and warm (the binary comes
// from the cache), on a HIP library whose launches do nothing and on the simulator. Wall clock of the parent,
// from spawn to exit; the stages are the child's own.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/support.hpp"

namespace {

using namespace zyfa;

/// One run; false if the process failed. `stages` gets its line of JSON.
bool run(const std::string& environment, std::string& stages) {
    const std::string command = "env AMD_COMGR_CACHE=0 " + environment + " " ZYFA_FIRST_LAUNCH;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return false;
    }
    std::array<char, 512> line{};
    stages.clear();
    while (std::fgets(line.data(), static_cast<int>(line.size()), pipe) != nullptr) {
        stages += line.data();
    }
    return pclose(pipe) == 0;
}

double field(const std::string& json, const std::string& name) {
    const std::size_t at = json.find("\"" + name + "\": ");
    return at == std::string::npos ? 0 : std::strtod(json.c_str() + at + name.size() + 4, nullptr);
}

void first_launch(benchmark::State& state, const std::string& device, bool warm) {
    const bench::TemporaryFolder folder;
    const std::string environment =
        device + " ZYFA_CACHE_DIR=" + folder.path() + (warm ? " ZYFA_MODE=replay" : " ZYFA_MODE=off");
    std::string stages;
    if (!run(environment, stages)) { // also fills the cache
        state.SkipWithError("the process failed");
        return;
    }
    constexpr std::array names{"device", "prepare", "instantiate", "assemble", "load", "launch", "assembled"};
    std::array<double, names.size()> sums{};
    for (auto _ : state) {
        if (!run(environment, stages)) {
            state.SkipWithError("the process failed");
            return;
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            sums[i] += field(stages, names[i]);
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool count = std::string(names[i]) == "assembled";
        state.counters[count ? names[i] : std::string(names[i]) + "_ms"] =
            benchmark::Counter(sums[i], benchmark::Counter::kAvgIterations);
    }
}

const std::string fake = "ZYFA_DEVICE=0 ZYFA_HIP_LIBRARY=" ZYFA_FAKE_HIP;
const std::string sim = "ZYFA_DEVICE=sim";

void cold_fake(benchmark::State& state) {
    first_launch(state, fake, false);
}
void warm_fake(benchmark::State& state) {
    first_launch(state, fake, true);
}
void cold_sim(benchmark::State& state) {
    first_launch(state, sim, false);
}
void warm_sim(benchmark::State& state) {
    first_launch(state, sim, true);
}
BENCHMARK(cold_fake)->Name("process/cold_launches_do_nothing")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(warm_fake)->Name("process/warm_launches_do_nothing")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(cold_sim)->Name("process/cold_simulator")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(warm_sim)->Name("process/warm_simulator")->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
