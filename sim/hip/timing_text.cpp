// SPDX-License-Identifier: Apache-2.0
#include "sim/hip/timing_text.hpp"

#include "sim/code_object.hpp"
#include "sim/disassembler.hpp"
#include "sim/timing/json.hpp"

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

std::string perfetto_trace(const LastLaunch& launch) {
    return timing::to_perfetto(*launch.timing.front(), disassembly_of(launch));
}

} // namespace zyfa::sim::hip
