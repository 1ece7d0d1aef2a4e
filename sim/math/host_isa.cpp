// SPDX-License-Identifier: Apache-2.0
// Which instruction set the arithmetic runs on.
#include <atomic>

#include "sim/math/mfma.hpp"

namespace zyfa::sim {
namespace {

HostIsa detect() {
#if ZYFA_SIM_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? HostIsa::avx512 : avx2 ? HostIsa::avx2 : HostIsa::scalar;
#else
    return HostIsa::scalar;
#endif
}

std::atomic<HostIsa>& current() {
    static std::atomic<HostIsa> isa{detect()};
    return isa;
}

} // namespace

HostIsa host_isa() {
    return current().load(std::memory_order_relaxed);
}

void set_host_isa(HostIsa isa) {
    current().store(isa <= detect() ? isa : detect(), std::memory_order_relaxed);
}

} // namespace zyfa::sim
