// SPDX-License-Identifier: Apache-2.0
// One wave, a few instructions: registers in, registers out.
#pragma once

#include "tests/sim/engine_fixture.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <functional>

namespace zyfa::sim::test {

using Register = std::array<std::uint32_t, 64>;

/// The same value in every lane, or one that depends on it.
inline Register all(std::uint32_t value) {
    Register r;
    r.fill(value);
    return r;
}
inline Register by_lane(const std::function<std::uint32_t(unsigned)>& f) {
    Register r;
    for (unsigned lane = 0; lane < 64; ++lane)
        r[lane] = f(lane);
    return r;
}
inline std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// Runs `body` with inputs in v1, v2, ... (v0: the lane) and returns `outputs` registers from v32 on.
/// s[4:5] and s[6:7] hold the addresses of inputs and outputs, v63 the lane times 4; the rest is free.
inline std::vector<Register> run_lanes(const std::string& body, const std::vector<Register>& inputs,
                                       unsigned outputs = 1, KernelShape shape = {}) {
    const auto number = [](std::size_t n) { return std::to_string(n); };
    std::string source =
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v63, 2, v0\ns_waitcnt lgkmcnt(0)\n";
    for (std::size_t n = 0; n < inputs.size(); ++n)
        source += "global_load_dword v" + number(n + 1) + ", v63, s[4:5] offset:" + number(n * 256) + "\n";
    source += "s_waitcnt vmcnt(0)\n" + body + "\n";
    for (std::size_t n = 0; n < outputs; ++n)
        source += "global_store_dword v63, v" + number(n + 32) + ", s[6:7] offset:" + number(n * 256) + "\n";
    Machine machine;
    machine.load(source, shape);
    auto* in = machine.buffer<std::uint32_t>(64 * std::max<std::size_t>(1, inputs.size()));
    auto* out = machine.buffer<std::uint32_t>(64 * std::max(1u, outputs));
    for (std::size_t n = 0; n < inputs.size(); ++n)
        std::copy(inputs[n].begin(), inputs[n].end(), in + n * 64);
    const LaunchResult result = machine.run({1, 1, 1}, {64, 1, 1}, in, out);
    REQUIRE_MESSAGE(!result.fault, text(result));
    std::vector<Register> registers(outputs);
    for (std::size_t n = 0; n < outputs; ++n)
        std::copy_n(out + n * 64, 64, registers[n].begin());
    return registers;
}

} // namespace zyfa::sim::test
