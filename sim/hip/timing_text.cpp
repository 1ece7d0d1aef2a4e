// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/timing_text.hpp"

#include <cstdio>

#include "sim/code_object.hpp"
#include "sim/disassembler.hpp"
#include "sim/timing/grid_run.hpp"
#include "sim/timing/json.hpp"
#include "sim/timing/svg.hpp"

namespace zyfa::sim::hip {
namespace {

/// Text of the instruction at a PC. The code object stays loaded as long as the launch is held.
timing::Disassembly disassembly_of(const LastLaunch& launch) {
    return [code = launch.code](std::uint32_t pc) -> std::string {
        const auto& object = static_cast<const CodeObjectImpl&>(*code);
        const Instruction* instruction = object.at(object.base() + pc);
        return instruction ? object.disassemble(*instruction) : "";
    };
}

} // namespace

std::string timing_json(const LastLaunch& launch, bool instructions) {
    std::string text = "[";
    for (const auto& report : launch.timing) {
        if (text.size() > 1)
            text += ",\n";
        text += timing::to_json(*report, instructions ? disassembly_of(launch) : timing::Disassembly{});
    }
    return text + "]";
}

std::string grid_json(const LastLaunch& launch) {
    const timing::GridReport& grid = *launch.grid;
    char text[512];
    std::snprintf(text, sizeof text,
                  "{\"cycles\": %.0f, \"compute_cycles\": %.0f, \"workgroups\": %llu, \"lines\": %llu, "
                  "\"l2_hit_share\": %.6f, \"infinity_cache_hits\": %llu, \"hbm_bytes\": %.0f, "
                  "\"memory_wait_cycles\": %.0f, \"executed_whole\": \"%s\"}",
                  grid.cycles, grid.compute_cycles, static_cast<unsigned long long>(grid.workgroups),
                  static_cast<unsigned long long>(grid.lines), grid.l2_hit_share(),
                  static_cast<unsigned long long>(grid.infinity_cache_hits), grid.hbm_bytes,
                  grid.memory_wait_cycles, grid.executed_whole.c_str());
    return text;
}

std::string perfetto_trace(const LastLaunch& launch) {
    return timing::to_perfetto(*launch.timing.front(), disassembly_of(launch));
}

std::string picture(const LastLaunch& launch, long long begin, unsigned long long cycles) {
    const timing::TimingReport& report = *launch.timing.front();
    const timing::Cycle from = begin < 0 ? timing::middle(report) : static_cast<timing::Cycle>(begin);
    return timing::to_svg(report, from, cycles);
}

std::string listing(const LastLaunch& launch) {
    return timing::to_listing(*launch.timing.front(), disassembly_of(launch));
}

} // namespace zyfa::sim::hip
