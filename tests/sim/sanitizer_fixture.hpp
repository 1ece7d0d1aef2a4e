// SPDX-License-Identifier: Apache-2.0
// Runs a kernel under the sanitizer: its findings, and the data that it left.
#pragma once

#include "sim/sanitizer/report.hpp"
#include "tests/sim/engine_fixture.hpp"

#include <doctest/doctest.h>

namespace zyfa::sim::test {

using sanitizer::Finding;
using sanitizer::Severity;

/// Arguments to s[4:5] and s[6:7], this work-item's byte offset of a dword to v1.
inline const std::string start =
    "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v1\n"
    "s_waitcnt lgkmcnt(0)\n";
inline const std::string finish = "\nglobal_store_dword v1, v2, s[6:7]\n";

struct Outcome {
    LaunchResult result;
    std::vector<std::uint32_t> out;

    const sanitizer::Report& report() const { return *result.sanitizer; }
    const Finding* find(const std::string& rule) const {
        for (const Finding& f : report().findings)
            if (f.rule == rule)
                return &f;
        return nullptr;
    }
    std::string text() const { return sanitizer::to_text({&report(), 1}, false); }
};

inline Outcome run_sanitized(const std::string& body, KernelShape shape = {}, unsigned block = 64,
                             unsigned groups = 1, DeviceConfig config = {}) {
    Machine machine(config);
    machine.sanitize();
    machine.load(body, shape);
    auto* const in = machine.buffer<std::uint32_t>(1024);
    auto* const out = machine.buffer<std::uint32_t>(1024);
    for (unsigned n = 0; n < 1024; ++n)
        in[n] = n + 1;
    Outcome outcome;
    outcome.result = machine.run({groups, 1, 1}, {block, 1, 1}, in, out);
    outcome.out.assign(out, out + 1024);
    return outcome;
}

inline void check_clean(const Outcome& outcome) {
    CHECK_MESSAGE(outcome.report().findings.empty(), outcome.text());
}
inline const Finding& check_finds(const Outcome& outcome, const std::string& rule,
                                  Severity severity = Severity::error) {
    static const Finding none;
    const Finding* const found = outcome.find(rule);
    CHECK_MESSAGE(found != nullptr, outcome.text());
    if (found == nullptr)
        return none;
    CHECK(found->severity == severity);
    return *found;
}

} // namespace zyfa::sim::test
