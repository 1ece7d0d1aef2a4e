// SPDX-License-Identifier: Apache-2.0
// zyfa_bench: prints, asserts nothing. Host times are measured on the machine it runs on; device times of the
// simulator are not printed here.
#include <cstdlib>

#include <benchmark/benchmark.h>

int main(int argc, char** argv) {
    setenv("AMD_COMGR_CACHE", "0", 0); // comgr's own cache would hide what assembling costs
    benchmark::AddCustomContext("times", "host times, measured on this machine");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
